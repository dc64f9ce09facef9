#include "calibrate/sweep/device_readings.hpp"

#include "calibrate/samples/summary.hpp"

namespace orrery::calibrate {

namespace {

void keep(const std::optional<double>& value, std::vector<double>& values) {
  if (value) {
    values.push_back(*value);
  }
}

std::optional<double> median(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(summarise(values).median);
}

}  // namespace

void DeviceReadings::take(const kernels::GpuReading& reading) {
  keep(reading.sm_clock, clocks_);
  keep(reading.memory_clock, memory_clocks_);
  keep(reading.power, powers_);
  keep(reading.temperature, temperatures_);
  if (reading.reasons && kernels::is_throttled(*reading.reasons)) {
    for (const std::string& name : kernels::reason_names(*reading.reasons)) {
      throttled_.insert(name);
    }
  }
}

DeviceState DeviceReadings::state() const {
  return {.sm_clock = median(clocks_),
          .memory_clock = median(memory_clocks_),
          .power = median(powers_),
          .temperature = median(temperatures_),
          .throttled = {throttled_.begin(), throttled_.end()}};
}

}  // namespace orrery::calibrate
