#include "kernels/nvml/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "kernels/nvml/shared_library.hpp"
#include "sim/base/units.hpp"

namespace orrery::kernels {

namespace {

constexpr int kSuccess = 0;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;

struct Reason {
  std::uint64_t bit;
  std::string_view name;
  bool throttles;
};

constexpr std::array<Reason, 9> kReasons = {{{0x1, "gpu_idle", false},
                                             {0x2, "application_clocks", false},
                                             {0x4, "sw_power_cap", true},
                                             {0x8, "hw_slowdown", true},
                                             {0x10, "sync_boost", false},
                                             {0x20, "sw_thermal_slowdown", true},
                                             {0x40, "hw_thermal_slowdown", true},
                                             {0x80, "hw_power_brake", true},
                                             {0x100, "display_clocks", false}}};

}  // namespace

std::vector<std::string> reason_names(std::uint64_t reasons) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < 64U; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((reasons & bit) != 0) {
      names.push_back(i < kReasons.size() ? std::string(kReasons[i].name)
                                          : fmt::format("bit_{}", i));
    }
  }
  return names;
}

bool is_throttled(std::uint64_t reasons) {
  std::uint64_t throttling = 0;
  for (const Reason& reason : kReasons) {
    throttling |= reason.throttles ? reason.bit : 0;
  }
  return (reasons & throttling) != 0;
}

// Prototypes as NVIDIA documents them (NVML API reference); an int for every enumeration.
struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_pci)(const char*, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*max_clock)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*energy)(void*, unsigned long long*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;
  int (*power_limit)(void*, unsigned*) = nullptr;
  int (*pcie_generation)(void*, unsigned*) = nullptr;
  int (*pcie_width)(void*, unsigned*) = nullptr;
  int (*mig)(void*, unsigned*, unsigned*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;

  explicit Functions(void* library) {
    load_function(library, init, "nvmlInit_v2");
    load_function(library, shutdown, "nvmlShutdown");
    load_function(library, device_by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
    load_function(library, clock, "nvmlDeviceGetClockInfo");
    load_function(library, max_clock, "nvmlDeviceGetMaxClockInfo");
    load_function(library, power, "nvmlDeviceGetPowerUsage");
    load_function(library, energy, "nvmlDeviceGetTotalEnergyConsumption");
    load_function(library, temperature, "nvmlDeviceGetTemperature");
    load_function(library, reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    if (reasons == nullptr) {  // its name before driver 535
      load_function(library, reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    }
    load_function(library, power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    load_function(library, pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
    load_function(library, pcie_width, "nvmlDeviceGetMaxPcieLinkWidth");
    load_function(library, mig, "nvmlDeviceGetMigMode");
    load_function(library, driver, "nvmlSystemGetDriverVersion");
  }
};

namespace {

// The answer of a question that NVML may not know or not support.
template <typename Value = unsigned, typename Function, typename... Arguments>
std::optional<Value> ask(Function function, Arguments... arguments) {
  Value value = {};
  if (function == nullptr || function(arguments..., &value) != kSuccess) {
    return std::nullopt;
  }
  return value;
}

template <typename Value>
std::optional<double> scaled(std::optional<Value> value, double factor) {
  if (!value) {
    return std::nullopt;
  }
  return static_cast<double>(*value) * factor;
}

std::optional<int> as_int(std::optional<unsigned> value) {
  if (!value) {
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

}  // namespace

Nvml::Nvml(const std::string& pci, const char* library) {
  library_ = dlopen(library, RTLD_LAZY);
  if (library_ == nullptr) {
    absence_ = fmt::format("{} is not on this machine", library);
    return;
  }
  auto functions = std::make_unique<Functions>(library_);
  if (functions->init == nullptr || functions->device_by_pci == nullptr) {
    absence_ = fmt::format("{} lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2", library);
    return;
  }
  if (const int status = functions->init(); status != kSuccess) {
    absence_ = fmt::format("nvmlInit_v2 returned {}", status);
    return;
  }
  functions_ = std::move(functions);
  if (const int status = functions_->device_by_pci(pci.c_str(), &device_); status != kSuccess) {
    absence_ = fmt::format("NVML does not know the GPU {} (status {})", pci, status);
    device_ = nullptr;
  }
}

Nvml::~Nvml() {
  if (functions_ && functions_->shutdown != nullptr) {
    functions_->shutdown();
  }
  if (library_ != nullptr) {
    dlclose(library_);
  }
}

GpuReading Nvml::read() const {
  GpuReading reading;
  if (!absence_.empty()) {
    return reading;
  }
  const Functions& f = *functions_;
  reading.sm_clock = scaled(ask(f.clock, device_, kClockSm), 1.0);
  reading.memory_clock = scaled(ask(f.clock, device_, kClockMemory), 1.0);
  reading.power = scaled(ask(f.power, device_), kMilli);
  reading.energy = scaled(ask<unsigned long long>(f.energy, device_), kMilli);
  reading.temperature = scaled(ask(f.temperature, device_, kTemperatureGpu), 1.0);
  reading.reasons = ask<unsigned long long>(f.reasons, device_);
  return reading;
}

GpuLimits Nvml::limits() const {
  GpuLimits limits;
  if (!absence_.empty()) {
    return limits;
  }
  const Functions& f = *functions_;
  limits.sm_clock = scaled(ask(f.max_clock, device_, kClockSm), 1.0);
  limits.memory_clock = scaled(ask(f.max_clock, device_, kClockMemory), 1.0);
  limits.power_limit = scaled(ask(f.power_limit, device_), kMilli);
  limits.pcie_generation = as_int(ask(f.pcie_generation, device_));
  limits.pcie_width = as_int(ask(f.pcie_width, device_));
  unsigned current = 0;
  unsigned pending = 0;
  if (f.mig != nullptr && f.mig(device_, &current, &pending) == kSuccess) {
    limits.mig = current != 0;
  }
  std::array<char, 96> driver = {};
  if (f.driver != nullptr &&
      f.driver(driver.data(), static_cast<unsigned>(driver.size() - 1)) == kSuccess) {
    limits.driver = driver.data();
  }
  return limits;
}

}  // namespace orrery::kernels
