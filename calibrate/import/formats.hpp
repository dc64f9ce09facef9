#pragma once

// Table of log formats, which identifies a file by its content and never by its name.
//
// format            | recognised by                              | source file
// ------------------|--------------------------------------------|--------------------
// nccl-tests JSON   | an object with "results" and "nccl_version"| nccl_json.cpp
// nvbandwidth JSON  | an object with "nvbandwidth"               | nvbandwidth.cpp
// nvbandwidth text  | `Running ..._memcpy_ce.`                   | nvbandwidth.cpp
// nccl-tests CSV    | a heading with commas                      | nccl_csv.cpp
// nccl-tests text   | a heading or a row of results              | nccl_text.cpp
//
// One more format is one more row and one more file; it writes into Findings.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/log_text.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::calibration_import {

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

// Contents of an nvbandwidth log: rates of copies between the host and GPUs, and between GPUs.
//
//   rates[row][column] in GB/s (1e9); a missing pair (N/A, and 0.00 on old diagonals) is empty
//
// Tests used: host_to_device_memcpy_ce, device_to_host_memcpy_ce (one pair at a time, one row of
// GPUs), device_to_device_memcpy_read_ce, ..._write_ce (rows and columns are GPUs). The others are
// kept for the summary.

struct CopyTest {
  SourceLocation where;
  std::string name;
  std::string unit;  // as described: GB/s, us
  std::vector<std::vector<std::optional<double>>> rates;
};

struct CopyLog {
  SourceLocation where;
  std::string version;
  std::vector<std::string> gpus;  // names by index; JSON logs have none
  std::vector<CopyTest> tests;
};

// Records found in the imported files, of every kind that some format can hold.
//
// A new kind of import (descriptions of models, say) adds a member here and a row to the table of
// formats (formats.hpp).

struct Findings {
  std::vector<CollectiveLog> collectives;
  std::vector<CopyLog> copies;
};

struct LogFormat {
  std::string_view name;
  bool (*recognises)(const LogFile& file);
  void (*read)(const LogFile& file, Findings& findings, Diagnostics& diagnostics);
};

// Reads the file in its format, or reports that it has none; returns the format's name, "" then.
std::string_view read_log(const LogFile& file, Findings& findings, Diagnostics& diagnostics);

[[nodiscard]] bool is_nccl_json(const LogFile& file);
[[nodiscard]] bool is_nccl_csv(const LogFile& file);
[[nodiscard]] bool is_nccl_text(const LogFile& file);
[[nodiscard]] bool is_nvbandwidth_json(const LogFile& file);
[[nodiscard]] bool is_nvbandwidth_text(const LogFile& file);

void read_nccl_json(const LogFile& file, Findings& findings, Diagnostics& diagnostics);
void read_nccl_csv(const LogFile& file, Findings& findings, Diagnostics& diagnostics);
void read_nccl_text(const LogFile& file, Findings& findings, Diagnostics& diagnostics);
void read_nvbandwidth_json(const LogFile& file, Findings& findings, Diagnostics& diagnostics);
void read_nvbandwidth_text(const LogFile& file, Findings& findings, Diagnostics& diagnostics);

}  // namespace orrery::calibration_import
