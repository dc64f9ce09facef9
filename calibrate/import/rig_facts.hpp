#pragma once

// Facts about the machines of a log: what the log says, else what the user says, else an error that
// names the option.
//
// fact          | from the log                             | option            | else
// --------------|------------------------------------------|-------------------|----------------
// operation     | heading, command line, name of the file  | --operation       | error
// GPU           | list of devices                          | --gpu             | error
// ranks         | list of devices, factor busbw / algbw,   | --ranks           | error
//               | size / (count x type)                    |                   |
// nodes         | hosts in the list of devices             | --nodes           | error
// NVLink domain | -                                        | --nvlink-domain   | the ranks of a
//               |                                          |                   | host (assumed);
//               |                                          |                   | racks: error
// fabric, NICs  | NCCL_DEBUG=INFO                          | --fabric, --nics, | error where a
//               |                                          | --network         | network is used
// NIC rate      | -                                        | --nic-rate,       | the same
//               |                                          | --network         |
// algorithm     | NCCL_ALGO                                | --algorithm       | automatic
//
// An option that contradicts the log is an error, but for --gpu: names are what it is for.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/formats.hpp"
#include "sim/step/hardware/collective_tables.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::calibration_import {

struct RigOptions {
  std::string rig;  // a name for the machines; never empty
  std::optional<std::string> gpu;
  std::optional<model::CollectiveKind> operation;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> nvlink_domain;
  std::optional<hardware::FabricKind> fabric;
  std::optional<BytesPerSecond> nic_rate;
  std::optional<std::int64_t> nics;
  std::optional<hardware::NetworkSpec> network;
  std::optional<hardware::CollectiveAlgorithm> algorithm;
  bool sharp = false;
  bool in_place = false;
};

enum class FactOrigin { log, option, assumed };

[[nodiscard]] std::string_view to_string(FactOrigin origin);

struct Fact {
  std::string name;
  std::string value;
  FactOrigin origin = FactOrigin::log;
  std::string why;  // where in the log, which option, or the reason of an assumption
};

struct ResolvedLog {
  const CollectiveLog* log = nullptr;
  std::optional<hardware::GpuProfile> gpu;  // set once resolved
  hardware::CollectiveTable table;          // all but its points
  std::vector<Fact> facts;
};

// Nothing after an error, or after a warning that tables do not hold the operation.
[[nodiscard]] std::optional<ResolvedLog> resolve_log(const CollectiveLog& log,
                                                     const RigOptions& options,
                                                     const hardware::ProfileSearch& search,
                                                     Diagnostics& diagnostics);

// Whether each process ran for itself, in a group of one.
// Whether busbw / algbw can be that of so many ranks: a list of devices may be cut off.
[[nodiscard]] bool figures_allow(const CollectiveLog& log, model::CollectiveKind operation,
                                 std::int64_t ranks);

[[nodiscard]] bool ran_alone(const CollectiveLog& log);

// The only number of ranks that all printed figures allow, or nothing.
[[nodiscard]] std::optional<std::int64_t> ranks_by_figures(const CollectiveLog& log,
                                                           model::CollectiveKind operation);

template <typename E, std::size_t N>
[[nodiscard]] std::string_view name_of(const std::array<hardware::NamedValue<E>, N>& names,
                                       E value) {
  const auto* found = std::find_if(names.begin(), names.end(),
                                   [value](const auto& named) { return named.value == value; });
  return found == names.end() ? std::string_view() : found->name;
}

}  // namespace orrery::calibration_import
