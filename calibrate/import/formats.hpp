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
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::calibration_import {

// Cleans a line of a program's log: strips colours, launchers' prefixes and carriage returns, and
// keeps the precision that a number was printed with.
//
//   a number printed as 12.34 lies in 12.34 -+ half_step, half_step = 0.5 x 10^-2
//
// Prefixes seen: `0: ` (srun -l), `[1,0]<stdout>:` (mpirun --tag-output), `[0] `, and words in
// front of a row (timestamps, pods), which the reader of rows steps over.

struct LogFile {
  std::string name;  // as given by the user
  std::string text;
};

struct PrintedNumber {
  double value = 0.0;
  double half_step = 0.0;
};

// The line without ANSI escapes, control characters and a launcher's prefix; tabs become spaces.
[[nodiscard]] std::string clean_line(std::string_view line);

// All lines, cleaned; line i + 1 of the file is at i.
[[nodiscard]] std::vector<std::string> clean_lines(std::string_view text);

// Split at blanks. The views live as long as `line`.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

// The whole word is a decimal integer, or nothing.
[[nodiscard]] std::optional<std::int64_t> whole_integer(std::string_view word);

// The whole word is a finite decimal number, or nothing.
[[nodiscard]] std::optional<PrintedNumber> printed_number(std::string_view word);

// The text after `marker`, blanks trimmed, or nothing when the line lacks it.
[[nodiscard]] std::optional<std::string_view> text_after(std::string_view line,
                                                         std::string_view marker);

[[nodiscard]] std::string_view trimmed(std::string_view text);

// The part of a path behind the last slash.
[[nodiscard]] std::string_view base_name(std::string_view path);

// 8GiB, 64MiB, 1000B: exact, as profiles write sizes.
[[nodiscard]] std::string exact_size(std::int64_t bytes);

// Lenient reading of third-party JSON: a value of the expected type, or none.
//
// Programs write numbers as strings ("55.6"), booleans as "true", not-a-number as "nan"; a missing
// key and a value of another type are the same here: nothing.

using ParsedJson = nlohmann::json;

// The whole file, or nothing after a diagnostic with the line at which it stops being JSON.
[[nodiscard]] std::optional<ParsedJson> parse_json(const LogFile& file, Diagnostics& diagnostics);

// True when the text begins like an object or list and holds `"key"`.
[[nodiscard]] bool looks_like_json_with(const LogFile& file, std::string_view key);

// nullptr when the value is no object or has no such key.
[[nodiscard]] const ParsedJson* member(const ParsedJson& value, std::string_view key);

// Empty when it is no list.
[[nodiscard]] const ParsedJson& list_member(const ParsedJson& value, std::string_view key);

[[nodiscard]] std::string text_member(const ParsedJson& value, std::string_view key);
[[nodiscard]] std::optional<double> number_of(const ParsedJson& value);
[[nodiscard]] std::optional<double> number_member(const ParsedJson& value, std::string_view key);
[[nodiscard]] std::optional<std::int64_t> integer_member(const ParsedJson& value,
                                                         std::string_view key);

// Contents of an nccl-tests log: one record per test, whatever the format it came in.
//
//   algbw = size / time,  busbw = algbw x factor
//   factor: 2 (n-1)/n all-reduce; (n-1)/n all-gather, reduce-scatter and all-to-all; 1 broadcast
//   and send/receive (PERFORMANCE.md of nccl-tests)
//
// What a log does not state stays empty: import_report.hpp asks the user for it.

struct LogTiming {
  PrintedNumber time;   // us, mean of one operation
  PrintedNumber algbw;  // GB/s, as printed: two decimals or fewer
  PrintedNumber busbw;
  std::optional<double> wrong;  // elements that failed the check; absent: it did not run
};

struct LogRow {
  SourceLocation where;
  std::string place;      // inside a JSON file, as results[3]; else empty
  std::int64_t size = 0;  // bytes of the larger buffer of a rank, of a gather the total over ranks
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

// Identifies the columns of a table of results, from its heading or from a row itself.
//
//   size count type redop root | time algbw busbw #wrong | time algbw busbw #wrong
//                                out of place               in place
//
// Releases differ: no root before 2.12, a float `error` in place of #wrong, no redop for an
// all-to-all, i_min i_max i_p99 i_cv% behind each place, a timestamp at the end, `cputime`. Where
// the heading was cut off, the number of words decides.

enum class Column {
  size,
  count,
  type,
  redop,
  root,
  time,
  algbw,
  busbw,
  wrong,
  operation,  // from here on in CSV files only
  ranks,
  nodes,
  other
};

struct Columns {
  std::vector<Column> kinds;
  bool cpu_time = false;
};

// Nothing when the names are not those of results: size, count, type, time, algbw and busbw.
[[nodiscard]] std::optional<Columns> columns_of(const std::vector<std::string_view>& names);

// By the number of words of a row; nothing when it fits no release.
[[nodiscard]] std::optional<Columns> columns_by_count(const std::vector<std::string_view>& cells);

// The row, or nothing when the cells do not fit the columns. The in-place half may be missing.
[[nodiscard]] std::optional<LogRow> row_of(const Columns& columns,
                                           const std::vector<std::string_view>& cells);

// Whether the words from `at` on begin like a row: two whole numbers and the name of a type.
[[nodiscard]] bool begins_row(const std::vector<std::string_view>& words, std::size_t at);

}  // namespace orrery::calibration_import
