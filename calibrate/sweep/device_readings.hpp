#pragma once

// State of the GPU while work runs on it: NVML readings, summarised by their medians.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "kernels/nvml/nvml.hpp"

namespace orrery::calibrate {

class DeviceReadings {
 public:
  void take(const kernels::GpuReading& reading);

  // What NVML never answered is absent; reasons are those seen in any reading. Energy and what was
  // discarded are not known here.
  [[nodiscard]] DeviceState state() const;

 private:
  std::vector<double> clocks_;
  std::vector<double> memory_clocks_;
  std::vector<double> powers_;
  std::vector<double> temperatures_;
  std::set<std::string> throttled_;
};

}  // namespace orrery::calibrate
