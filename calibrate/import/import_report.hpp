#pragma once

// Output of an import: tables and fragments as YAML, the summary as text and as JSON
// (orrery-import/1).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/formats.hpp"
#include "calibrate/import/rig_facts.hpp"
#include "sim/step/hardware/collective_tables.hpp"

namespace orrery::calibration_import {

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
// symbol | meaning                                        | unit | origin
// -------|------------------------------------------------|------|-------
// median | over all GPUs, or pairs of GPUs, of all logs   | GB/s | log
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

}  // namespace orrery::calibration_import
