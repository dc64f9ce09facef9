#pragma once

// Output of an import: tables and fragments as YAML, the summary as text and as JSON
// (orrery-import/1).

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/formats.hpp"
#include "calibrate/samples/sample.hpp"
#include "sim/answer/trace/event_reader.hpp"
#include "sim/base/units.hpp"
#include "sim/step/hardware/collective_tables.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::calibration_import {

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

// Adds those that are not there yet.
void add_facts(const std::vector<Fact>& facts, std::vector<Fact>& all);

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
  const auto* found =
      std::ranges::find_if(names, [value](const auto& named) { return named.value == value; });
  return found == names.end() ? std::string_view() : found->name;
}

// Validates the figures of a log: what physics or the tool's own arithmetic rules out is refused.
//
// refused                                             | why
// ----------------------------------------------------|-----------------------------------------
// no rows                                             | the test died
// #wrong > 0, out of bounds values                    | the data did not arrive
// cputime                                             | time of the CPU, not of the collective
// time <= 0                                           | broken clock
// algbw not size / time, busbw not algbw x factor,    | not the operation or number of ranks that
// beyond the printed digits and 1 %                   | it says, or another unit
// largest size no slower than one 16 times smaller    | it did not move the bytes
//
// Warned of: points above the time of the next size (noise), times of the fastest or of one rank,
// several operations in one launch, several groups at once, rows without a size.

// The timing that tables take, or nullptr.
[[nodiscard]] const LogTiming* used_timing(const LogRow& row, bool in_place);

// False after an error.
[[nodiscard]] bool check_rows(const ResolvedLog& resolved, bool in_place, Diagnostics& diagnostics);

// Builds collective tables from logs: one per operation, group of ranks and wires, all of one rig.
//
//   time of a size = median over the rows of that size
//   plateau        = largest bus bandwidth among the sizes from 64 MiB on, else among all
//   degraded       = plateau < 0.6 x what is expected of a healthy fabric at that size
//
// symbol   | meaning                                                        | unit   | origin
// ---------|----------------------------------------------------------------|--------|---------
// expected | bus bandwidth that step/cost gives this group on these wires,      | byte/s | computed
//          | from NCCL's model and the shipped tables, without this log     |        |
// 0.6      | healthy logs of one kind of machine agree within 40 %; the     | 1      | published
//          | published misconfigured two-node H100 (155 of 444 GB/s,        |        |
//          | nccl-tests issue 290) is at 0.35 (docs/collectives.md)         |        |
//
// A degraded table keeps its mark and its figures: it is used for its own rig and no other. Element
// types: of one all-reduce, 8-bit types make a table of their own; of the others one type is
// taken, bfloat16 before half, float and the rest, as training sends them.

inline constexpr double kDegradedBelow = 0.6;

struct Plateau {
  Bytes size;
  BytesPerSecond measured;
  BytesPerSecond expected;
  bool judged = false;  // large enough to say anything about the fabric
  std::string against;  // the nearest table, "" for NCCL's model alone
};

struct ImportedTable {
  hardware::CollectiveTable table;
  std::vector<Fact> facts;
  std::vector<std::string> files;
  std::string type;
  std::string redop;
  Plateau plateau;
};

// `shipped` may hold no tables. Warns of degraded fabrics and of rates that no wire has; reports an
// error when the logs mix classes of GPUs, which one file cannot hold.
[[nodiscard]] std::vector<ImportedTable> build_tables(
    const std::vector<ResolvedLog>& logs, bool in_place,
    const hardware::SharedCollectiveTables& shipped, Diagnostics& diagnostics);

// Coefficients of a GPU profile from nvbandwidth: the rate to the host and, without NVLink, the
// rate between GPUs.
//
//   host_bandwidth = min(median host_to_device_memcpy_ce, median device_to_host_memcpy_ce)
//   pcie_bandwidth = median of device_to_device_memcpy_read_ce and ..._write_ce, no NVLink only
//
// One copy at a time, as nvbandwidth runs these tests; copies of all GPUs at once
// (all_to_host_memcpy_ce) are in the summary only. Over NVLink a peer copy reaches some 85 % of the
// link, whose rate stays that of the datasheet.

struct CopyResult {
  std::string test;
  std::string unit;
  double median = 0.0;
  double lowest = 0.0;
  double highest = 0.0;
  std::size_t values = 0;
};

struct CopyCoefficient {
  std::string key;  // of the GPU profile
  BytesPerSecond value;
  std::string citation;
};

struct CopyRates {
  std::string gpu;  // profile, "" when unknown
  std::vector<std::string> files;
  std::vector<CopyResult> results;
  std::vector<CopyCoefficient> coefficients;
};

// Nothing after an error. `logs` must not be empty.
[[nodiscard]] std::optional<CopyRates> copy_rates(const std::vector<CopyLog>& logs,
                                                  const RigOptions& options,
                                                  const hardware::ProfileSearch& search,
                                                  Diagnostics& diagnostics);

struct ReadFile {
  std::string name;
  std::string format;
};

struct ImportReport {
  std::vector<ReadFile> files;
  std::string rig;
  Fact as_of;  // date of the figures
  std::vector<ImportedTable> tables;
  std::optional<CopyRates> copies;
  std::string output;    // where the tables went, "" when nowhere
  std::string fragment;  // the same of the fragment
};

// A file of the format orrery-collectives/1; what was read, given and assumed in its comments.
[[nodiscard]] std::string tables_yaml(const ImportReport& report);

// Keys of a GPU profile, ready to replace those of a copy of it.
[[nodiscard]] std::string fragment_yaml(const ImportReport& report);

[[nodiscard]] std::string summary_text(const ImportReport& report);
[[nodiscard]] std::string summary_json(const ImportReport& report, const Diagnostics& diagnostics);

// Extracts kernel samples from a traced training step, as the journal of a calibration: for users
// who have a trace but no time on the machine (the method of vTrain: profile the operators of one
// step, simulate whole runs from them).
//
//   time of a call = sum of the kernels that it launched
//   sample         = all calls of one case, in the order of the trace
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|------------
// kernel | activity on a stream; communication and copies are left out    | us   | trace
// call   | the host operation (below) that was running when the | -    | cuda_runtime
//        | kernel was launched, on the same thread; else that of its      |      | correlation,
//        | External id                                                    |      | External id
//
// A traced kernel ran within a step: its caches are warm, its clock is that of the step and is not
// known. A kernel whose shape the trace lacks gives no sample; each reason is reported with the
// share of the kernel time that it costs.

// Maps a PyTorch call to a kernel case by the operands that the profiler recorded. Nothing is
// guessed: a call whose trace lacks what the case needs is refused, with the reason.
//
// call                                  | case                      | is taken from
// --------------------------------------|---------------------------|------------------------------
// aten::mm, aten::addmm                 | gemm in bf16, fp16        | sizes; the role from strides
// aten::_scaled_mm                      | gemm in fp8_tensor        | the same, of one scale each
// aten::_scaled_dot_product_flash_,     | attention forward and     | sizes of Q, K, V and the
// efficient_ and cudnn_attention        | backward                  | value of is_causal
//
//   role of a product A B, by which operand is transposed in memory (its first stride is 1)
//     y = x W^T: B    dx = dy W: none    dW = dy^T x: A
//
// Signatures: aten/src/ATen/native/native_functions.yaml of PyTorch.

struct TracedCall {
  std::optional<kernels::KernelCase> kernel;
  std::string refusal;  // where there is none
};

// A call whose kernels can become samples.
[[nodiscard]] bool is_known_call(std::string_view name);

[[nodiscard]] TracedCall call_of(std::string_view name, const trace::Operands& operands);

struct TraceSamples {
  calibrate::Fingerprint machine;
  std::vector<calibrate::Sample> samples;
  std::map<std::string, Seconds> left_out;  // time of kernels, by the reason
  Seconds taken;                            // time of kernels that are in samples
  std::int64_t calls = 0;
  std::string problem;  // empty: the trace was read
};

// `taken_at`: UTC, of all samples.
[[nodiscard]] TraceSamples read_trace_samples(const std::filesystem::path& path,
                                              const std::string& taken_at);

}  // namespace orrery::calibration_import
