#pragma once

// Logs of nccl-tests with made-up figures, in the layout of its releases.

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/import/formats.hpp"
#include "calibrate/import/import_report.hpp"

namespace orrery::calibration_import::testing {

struct SampleRow {
  std::int64_t size = 0;
  double time = 0.0;  // us
};

struct SampleLog {
  std::string program = "all_reduce_perf";
  std::string gpu = "NVIDIA H100 80GB HBM3";
  std::string type = "float";
  std::string redop = "sum";
  std::int64_t ranks = 8;
  std::int64_t hosts = 1;
  std::int64_t element = 4;
  double factor = 1.75;  // busbw / algbw
  std::vector<SampleRow> rows = {{1048576, 40.5}, {268435456, 1139.2}, {1073741824, 4038.8}};
};

// 12.34, 123.4 or 1234, as nccl-tests fits numbers into a column.
[[nodiscard]] std::string fitted(double value, int width);

// `algbw busbw #wrong` and the time before them.
[[nodiscard]] std::string place_text(const SampleLog& log, const SampleRow& row);

// Parts of a log: `# nThread` up to the last rank; heading and rows; the lines below.
[[nodiscard]] std::string head_text(const SampleLog& log);
[[nodiscard]] std::string table_text(const SampleLog& log);
[[nodiscard]] std::string tail_text();
[[nodiscard]] std::string log_text(const SampleLog& log);

// Each line with something in front.
[[nodiscard]] std::string prefixed(const std::string& text, const std::string& prefix);

// What the reader makes of a text; problems go to `diagnostics`.
std::vector<CollectiveLog> read_text(const std::string& text, Diagnostics& diagnostics,
                                     const std::string& name = "sample.log");

// The shipped profiles.
[[nodiscard]] hardware::ProfileSearch shipped_search();

}  // namespace orrery::calibration_import::testing
