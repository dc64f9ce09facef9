#pragma once

// Contents of an nvbandwidth log: rates of copies between the host and GPUs, and between GPUs.
//
//   rates[row][column] in GB/s (1e9); a missing pair (N/A, and 0.00 on old diagonals) is empty
//
// Tests used: host_to_device_memcpy_ce, device_to_host_memcpy_ce (one pair at a time, one row of
// GPUs), device_to_device_memcpy_read_ce, ..._write_ce (rows and columns are GPUs). The others are
// kept for the summary.

#include <optional>
#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"

namespace orrery::calibration_import {

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

}  // namespace orrery::calibration_import
