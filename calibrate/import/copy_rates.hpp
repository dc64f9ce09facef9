#pragma once

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

#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/copy_log.hpp"
#include "calibrate/import/rig_facts.hpp"

namespace orrery::calibration_import {

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

}  // namespace orrery::calibration_import
