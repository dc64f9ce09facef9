#pragma once

// Fingerprint of a measured machine: everything that may change a rate, from GPU to libraries.
//
// What varies from run to run (clocks under load, date) is not part of it. What is not known is
// absent, never 0. The board itself is part of it: two of one type differ by several per cent.
//
// symbol    | meaning                                                            | unit | origin
// ----------|--------------------------------------------------------------------|------|-------
// gpu_uuid  | of the board that is measured: "GPU-8f1c..."                        | -    | NVML
// links     | NVLinks of that board that are up                                   | 1    | NVML
// version   | of NVLink: "4.0"                                                    | -    | NVML
// switched  | whether they lead to NVSwitches, not to other boards                | -    | NVML
// peers     | links that lead straight to each visible GPU, by its index; its     | 1    | NVML
//           | own is 0; empty where they are switched                             |      |
//
// Its id is that of the profile (calibrate/profile/machine_fields.hpp). A profile whose
// GPU has another name than the scenario's is foreign.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::calibrate {

struct LibraryVersions {
  std::optional<std::int64_t> header;   // absent: not compiled in
  std::optional<std::int64_t> runtime;  // absent: not installed
};

struct NvlinkTopology {
  std::int64_t links = 0;
  std::optional<std::string> version = {};
  bool switched = false;
  std::vector<std::int64_t> peers = {};

  friend bool operator==(const NvlinkTopology& a, const NvlinkTopology& b) = default;
};

struct Fingerprint {
  std::string gpu;  // as the driver names it
  std::optional<std::string> gpu_uuid;
  std::int64_t gpus = 0;
  std::string compute_capability;  // "9.0"
  std::int64_t multiprocessors = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::optional<std::int64_t> pcie_generation;
  std::optional<std::int64_t> pcie_width;
  std::optional<bool> mig;
  std::optional<bool> ecc;
  std::optional<std::string> driver;  // "580.95.05"
  std::string cuda_compiled;          // "13.0"
  std::string cuda_runtime;
  std::string cuda_driver;  // newest that the driver runs
  LibraryVersions cublaslt;
  LibraryVersions cudnn;
  LibraryVersions nccl;
  std::optional<NvlinkTopology> nvlink;  // absent: NVML does not say
  std::optional<double> power_limit;     // W
  std::optional<double> most_sm_clock;   // MHz
  std::string cpu;
  std::int64_t cores = 0;
  std::string tool;  // version of orrery
};

// One object of JSON, and back: nothing when a field is missing or of another type.
[[nodiscard]] nlohmann::ordered_json json_of(const Fingerprint& fingerprint);
[[nodiscard]] std::string to_json(const Fingerprint& fingerprint);
[[nodiscard]] std::optional<Fingerprint> read_fingerprint(std::string_view json);

// Names of the fields in which two differ, for people: "driver, cublaslt".
[[nodiscard]] std::string differences(const Fingerprint& a, const Fingerprint& b);

}  // namespace orrery::calibrate
