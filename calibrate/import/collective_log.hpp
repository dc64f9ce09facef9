#pragma once

// Contents of an nccl-tests log: one record per test, whatever the format it came in.
//
//   algbw = size / time,  busbw = algbw x factor
//
// symbol | meaning                                                      | unit  | origin
// -------|--------------------------------------------------------------|-------|-------
// size   | nccl-tests' size column: the larger buffer of a rank; for    | byte  | log
//        | all-gather and the like the total over ranks                 |       |
// time   | mean of one operation                                        | us    | log
// algbw  | as printed, two decimals or fewer                            | GB/s  | log
// busbw  | as printed                                                   | GB/s  | log
// factor | 2 (n-1)/n all-reduce; (n-1)/n all-gather, reduce-scatter and | 1     | nccl-tests
//        | all-to-all; 1 broadcast and send/receive                     |       | PERFORMANCE.md
// wrong  | elements that failed the check; none where it did not run    | -     | log
//
// What a log does not state stays empty: rig_facts.hpp asks the user for it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/log_text.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/hardware/cluster_spec.hpp"
#include "sim/model/op.hpp"

namespace orrery::calibration_import {

struct LogTiming {
  PrintedNumber time;  // us
  PrintedNumber algbw;
  PrintedNumber busbw;
  std::optional<double> wrong;
};

struct LogRow {
  SourceLocation where;
  std::string place;  // inside a JSON file, as results[3]; else empty
  std::int64_t size = 0;
  std::int64_t count = 0;
  std::string type;
  std::string redop;  // "none" where the operation does not add
  std::optional<LogTiming> out_of_place;
  std::optional<LogTiming> in_place;
};

// One line of the list of devices.
struct LogRank {
  std::int64_t rank = 0;
  std::int64_t group = 0;
  std::string host;
  std::string device;  // PCI address, or the index where the log has none
  std::string gpu;     // as the driver calls it
};

struct CollectiveLog {
  SourceLocation where;        // where the test begins
  std::string operation_name;  // as written: all_reduce_perf; empty when the log does not say
  std::vector<LogRank> ranks;
  std::vector<LogRow> rows;
  std::optional<std::int64_t> stated_ranks;  // from columns of a CSV
  std::optional<std::int64_t> stated_nodes;
  std::optional<std::int64_t> out_of_bounds;
  std::optional<std::int64_t> aggregated;
  std::optional<char> average;  // of -a: 0 rank 0, 2 fastest, 3 slowest rank
  bool cpu_time = false;
  bool concluded = false;  // the lines below the table are there
  std::string tool_version;
  std::string nccl_version;
  std::string date;  // ISO, when the log has one
  std::optional<hardware::FabricKind> fabric;
  std::optional<std::int64_t> nics;
  std::optional<hardware::CollectiveAlgorithm> algorithm;  // NCCL_ALGO
  bool nvls_off = false;
  bool sharp = false;
};

// The operation of a program's name, or nothing for those that tables do not hold (reduce_perf).
[[nodiscard]] std::optional<model::CollectiveKind> operation_of(std::string_view program);

// As tables name it: all_reduce.
[[nodiscard]] std::string_view operation_name(model::CollectiveKind kind);

// A word such as /opt/nccl-tests/build/all_reduce_perf_mpi: the program's name, else "".
[[nodiscard]] std::string_view program_in(std::string_view word);

// Bytes of an element, or nothing for a name that nccl-tests does not print.
[[nodiscard]] std::optional<std::int64_t> type_size(std::string_view type);

// 22809 -> 2.28.9; before 2.9 with one digit less.
[[nodiscard]] std::string nccl_version_text(std::int64_t code);

// What a setting of the environment says (NCCL_ALGO, NCCL_NVLS_ENABLE, NCCL_COLLNET_ENABLE).
void apply_setting(std::string_view name, std::string_view value, CollectiveLog& log);

}  // namespace orrery::calibration_import
