#include "kernels/nvml/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace orrery::kernels {

SharedLibrary::SharedLibrary(const char* name, At unloaded)
    : library_(dlopen(name, RTLD_LAZY)), unloaded_(unloaded) {
  if (library_ == nullptr) {
    absence_ = fmt::format("{} is not on this machine", name);
  }
}

SharedLibrary::~SharedLibrary() {
  if (library_ != nullptr && unloaded_ == At::end_of_scope) {
    dlclose(library_);
  }
}

void* SharedLibrary::address_of(const char* name) const {
  return library_ == nullptr ? nullptr : dlsym(library_, name);
}

NvmlLibrary::NvmlLibrary(const char* name, const char* needed)
    : library_(name), absence_(library_.absence()) {
  if (!library_.found()) {
    return;
  }
  int (*init)() = function("nvmlInit_v2");
  if (init == nullptr || library_.find<int()>(needed) == nullptr) {
    absence_ = fmt::format("{} lacks nvmlInit_v2 or {}", name, needed);
  } else if (const int status = init(); status != kNvmlSuccess) {
    absence_ = fmt::format("nvmlInit_v2 returned {}", status);
  }
}

NvmlLibrary::~NvmlLibrary() {
  int (*shutdown)() = function("nvmlShutdown");
  if (absence_.empty() && shutdown != nullptr) {
    shutdown();
  }
}

std::optional<std::string> nvml_driver(const NvmlLibrary& library) {
  constexpr std::size_t kMostLetters = 96;
  int (*ask)(char*, unsigned) = library.function("nvmlSystemGetDriverVersion");
  std::array<char, kMostLetters> driver = {};
  if (ask == nullptr || ask(driver.data(), kMostLetters - 1) != kNvmlSuccess) {
    return std::nullopt;
  }
  return driver.data();
}

namespace {

constexpr const char* kDeviceByPci = "nvmlDeviceGetHandleByPciBusId_v2";
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
constexpr int kRemoteGpu = 0;  // nvmlIntNvLinkDeviceType_t
constexpr int kRemoteSwitch = 2;
constexpr unsigned kMostLinks = 18;  // NVML_NVLINK_MAX_LINKS

constexpr unsigned kPowerInstant = 186;  // NVML_FI_DEV_POWER_INSTANT, mW
constexpr int kUnsignedInt = 1;          // NVML_VALUE_TYPE_UNSIGNED_INT

// nvmlNvlinkVersion_t, from 1.
constexpr std::array<std::string_view, 8> kLinkVersions = {"1.0", "2.0", "2.2", "3.0",
                                                           "3.1", "4.0", "5.0", "6.0"};

enum class Effect { none, limits, brakes };

struct Reason {
  std::uint64_t bit;
  std::string_view name;
  Effect effect;
};

constexpr std::array<Reason, 9> kReasons = {{{0x1, "gpu_idle", Effect::none},
                                             {0x2, "application_clocks", Effect::none},
                                             {0x4, "sw_power_cap", Effect::limits},
                                             {0x8, "hw_slowdown", Effect::brakes},
                                             {0x10, "sync_boost", Effect::none},
                                             {0x20, "sw_thermal_slowdown", Effect::brakes},
                                             {0x40, "hw_thermal_slowdown", Effect::brakes},
                                             {0x80, "hw_power_brake", Effect::brakes},
                                             {0x100, "display_clocks", Effect::none}}};

// Whether any of these has at least this effect.
bool any_with(std::uint64_t reasons, Effect effect) {
  return std::ranges::any_of(kReasons, [&](const Reason& reason) {
    return (reasons & reason.bit) != 0 && reason.effect >= effect;
  });
}

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

bool is_throttled(std::uint64_t reasons) { return any_with(reasons, Effect::limits); }

bool is_braked(std::uint64_t reasons) { return any_with(reasons, Effect::brakes); }

std::optional<PciAddress> parse_pci(const std::string& text) {
  PciAddress address;
  const int read =
      std::sscanf(text.c_str(), "%x:%x:%x", &address.domain, &address.bus, &address.device);
  return read == 3 ? std::optional(address) : std::nullopt;
}

struct Nvml::Functions {
  // As NVIDIA documents nvmlPciInfo_t.
  struct PciInfo {
    std::array<char, 16> legacy;
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned id;
    unsigned subsystem;
    std::array<char, 32> text;
  };

  // As NVIDIA documents nvmlFieldValue_t. Its value is a union of eight bytes.
  struct FieldValue {
    unsigned field;
    unsigned scope;
    long long timestamp;
    long long latency;
    int type;
    int status;

    union {
      unsigned as_unsigned;
      unsigned long long widest;
    } value;
  };

  const NvmlLibrary& library;
  int (*device_by_pci)(const char*, void**) = library.function(kDeviceByPci);
  int (*clock)(void*, int, unsigned*) = library.function("nvmlDeviceGetClockInfo");
  int (*max_clock)(void*, int, unsigned*) = library.function("nvmlDeviceGetMaxClockInfo");
  int (*power)(void*, unsigned*) = library.function("nvmlDeviceGetPowerUsage");
  int (*fields)(void*, int, FieldValue*) = library.function("nvmlDeviceGetFieldValues");
  int (*energy)(void*,
                unsigned long long*) = library.function("nvmlDeviceGetTotalEnergyConsumption");
  int (*temperature)(void*, int, unsigned*) = library.function("nvmlDeviceGetTemperature");
  // The second is its name before driver 535.
  int (*reasons)(void*, unsigned long long*) = library.function(
      "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
  int (*power_limit)(void*, unsigned*) = library.function("nvmlDeviceGetEnforcedPowerLimit");
  int (*pcie_generation)(void*, unsigned*) = library.function("nvmlDeviceGetMaxPcieLinkGeneration");
  int (*pcie_width)(void*, unsigned*) = library.function("nvmlDeviceGetMaxPcieLinkWidth");
  int (*mig)(void*, unsigned*, unsigned*) = library.function("nvmlDeviceGetMigMode");
  int (*link_state)(void*, unsigned, int*) = library.function("nvmlDeviceGetNvLinkState");
  int (*link_version)(void*, unsigned, unsigned*) = library.function("nvmlDeviceGetNvLinkVersion");
  int (*link_remote)(void*, unsigned,
                     int*) = library.function("nvmlDeviceGetNvLinkRemoteDeviceType");
  int (*link_pci)(void*, unsigned,
                  PciInfo*) = library.function("nvmlDeviceGetNvLinkRemotePciInfo_v2");

  explicit Functions(const NvmlLibrary& loaded) : library(loaded) {}

  // mW, now. Where a driver or a board does not say that: what nvmlDeviceGetPowerUsage says, which
  // from Ampere on (GA100 apart) is the mean over the last second, longer than a case.
  [[nodiscard]] std::optional<unsigned> power_now(void* device) const {
    FieldValue asked = {};
    asked.field = kPowerInstant;
    if (fields != nullptr && fields(device, 1, &asked) == kNvmlSuccess &&
        asked.status == kNvmlSuccess && asked.type == kUnsignedInt && asked.value.as_unsigned > 0) {
      return asked.value.as_unsigned;
    }
    return ask_nvml(power, device);
  }
};

namespace {

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

Nvml::Nvml(const std::string& pci, const char* library)
    : library_(std::make_unique<NvmlLibrary>(library, kDeviceByPci)),
      functions_(std::make_unique<Functions>(*library_)),
      absence_(library_->absence()) {
  if (!absence_.empty()) {
    return;
  }
  if (const int status = functions_->device_by_pci(pci.c_str(), &device_); status != kNvmlSuccess) {
    absence_ = fmt::format("NVML does not know the GPU {} (status {})", pci, status);
  }
}

Nvml::~Nvml() = default;

GpuReading Nvml::read() const {
  GpuReading reading;
  if (!absence_.empty()) {
    return reading;
  }
  const Functions& f = *functions_;
  reading.sm_clock = scaled(ask_nvml(f.clock, device_, kClockSm), 1.0);
  reading.memory_clock = scaled(ask_nvml(f.clock, device_, kClockMemory), 1.0);
  reading.power = scaled(f.power_now(device_), kMilli);
  reading.temperature = scaled(ask_nvml(f.temperature, device_, kTemperatureGpu), 1.0);
  reading.reasons = ask_nvml<unsigned long long>(f.reasons, device_);
  return reading;
}

std::optional<double> Nvml::energy() const {
  if (!absence_.empty()) {
    return std::nullopt;
  }
  return scaled(ask_nvml<unsigned long long>(functions_->energy, device_), kMilli);
}

std::optional<NvLinks> Nvml::links() const {
  const Functions& f = *functions_;
  if (!absence_.empty() || f.link_state == nullptr) {
    return std::nullopt;
  }
  NvLinks found;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    if (ask_nvml<int>(f.link_state, device_, link) != 1) {  // off, or the board has no such link
      continue;
    }
    ++found.links;
    const unsigned version = ask_nvml(f.link_version, device_, link).value_or(0);
    if (found.version.empty() && version >= 1 && version <= kLinkVersions.size()) {
      found.version = kLinkVersions[version - 1];
    }
    const std::optional<int> remote = ask_nvml<int>(f.link_remote, device_, link);
    found.switched += remote == kRemoteSwitch ? 1 : 0;
    if (const auto pci = ask_nvml<Functions::PciInfo>(f.link_pci, device_, link);
        pci && remote == kRemoteGpu) {
      found.peers.push_back({pci->domain, pci->bus, pci->device});
    }
  }
  return found;
}

GpuLimits Nvml::limits() const {
  GpuLimits limits;
  if (!absence_.empty()) {
    return limits;
  }
  const Functions& f = *functions_;
  limits.sm_clock = scaled(ask_nvml(f.max_clock, device_, kClockSm), 1.0);
  limits.memory_clock = scaled(ask_nvml(f.max_clock, device_, kClockMemory), 1.0);
  limits.power_limit = scaled(ask_nvml(f.power_limit, device_), kMilli);
  limits.pcie_generation = as_int(ask_nvml(f.pcie_generation, device_));
  limits.pcie_width = as_int(ask_nvml(f.pcie_width, device_));
  unsigned current = 0;
  unsigned pending = 0;
  if (f.mig != nullptr && f.mig(device_, &current, &pending) == kNvmlSuccess) {
    limits.mig = current != 0;
  }
  limits.driver = nvml_driver(*library_);
  return limits;
}

namespace {

constexpr const char* kCount = "nvmlDeviceGetCount_v2";

// As NVIDIA documents nvmlMemory_t (NVML API reference).
struct Memory {
  unsigned long long total = 0;  // B
  unsigned long long free = 0;
  unsigned long long used = 0;
};

struct Functions {
  const NvmlLibrary& library;
  int (*count)(unsigned*) = library.function(kCount);
  int (*device)(unsigned, void**) = library.function("nvmlDeviceGetHandleByIndex_v2");
  int (*name)(void*, char*, unsigned) = library.function("nvmlDeviceGetName");
  int (*memory)(void*, Memory*) = library.function("nvmlDeviceGetMemoryInfo");
  int (*cuda)(int*) = library.function("nvmlSystemGetCudaDriverVersion_v2");

  explicit Functions(const NvmlLibrary& loaded) : library(loaded) {}
};

constexpr std::size_t kMostLetters = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE

ListedGpu ask_gpu(const Functions& f, unsigned index) {
  ListedGpu gpu{.name = "a GPU that does not answer", .memory = std::nullopt};
  const auto device = ask_nvml<void*>(f.device, index);
  if (!device) {
    return gpu;
  }
  std::array<char, kMostLetters> name = {};
  if (f.name != nullptr && f.name(*device, name.data(), kMostLetters - 1) == kNvmlSuccess) {
    gpu.name = name.data();
  }
  if (const auto memory = ask_nvml<Memory>(f.memory, *device)) {
    gpu.memory = bytes(static_cast<double>(memory->total));
  }
  return gpu;
}

// "13.0" of 13000; empty when the driver does not say.
std::string cuda_of(const Functions& f) {
  constexpr int kMajor = 1000;
  constexpr int kMinor = 10;
  const auto cuda = ask_nvml<int>(f.cuda);
  return cuda ? fmt::format("{}.{}", *cuda / kMajor, *cuda % kMajor / kMinor) : std::string();
}

}  // namespace

GpuList list_gpus(const char* library_name) {
  const NvmlLibrary library(library_name, kCount);
  GpuList list;
  list.installed = library.installed();
  list.absence = library.absence();
  if (!list.absence.empty()) {
    return list;
  }
  const Functions f(library);
  list.driver = nvml_driver(library).value_or("");
  list.cuda = cuda_of(f);
  unsigned count = 0;
  if (const int status = f.count(&count); status != kNvmlSuccess) {
    list.absence = fmt::format("{} returned {}", kCount, status);
    return list;
  }
  for (unsigned i = 0; i < count; ++i) {
    list.gpus.push_back(ask_gpu(f, i));
  }
  return list;
}

}  // namespace orrery::kernels
