#pragma once

// Reads clock, power and temperature of a GPU from NVML,
// read-only. NVML is loaded at run time: the toolkit has neither
// its header nor a library to link, and a machine may lack it.
//
// symbol          | meaning                                         | unit  | origin
// ----------------|-------------------------------------------------|-------|--------------------
// sm_clock        | current clock of the multiprocessors            | MHz   | NVML
// memory_clock    | current clock of the memory                     | MHz   | NVML
// power           | drawn by the board now; where NVML does not say | W     | NVML
//                 | that, the mean over the last second             |       |
// energy          | drawn since the driver was loaded               | J     | NVML
// temperature     | of the GPU                                      | deg C | NVML
// reasons         | why the clock is below its maximum, a bit set   | -     | NVML
// power_limit     | enforced limit of the board                     | W     | NVML
//
// Whatever NVML does not answer is absent, never 0. Clocks and limits are never set.

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::kernels {

// Loads, initialises and queries NVML, the driver's library; one instance serves all callers. It is
// loaded at run time, because the toolkit has neither its header nor a library to link.
//
// absence | why there is no answer; empty when there is one

// A shared library that is opened when it is first needed, so that a program starts without it, and
// the lookup of its functions.
//
// absence | why it cannot be used; empty when it can

class SharedLibrary {
 public:
  enum class At { end_of_scope, end_of_process };  // cuDNN and NCCL do not survive being unloaded

  explicit SharedLibrary(const char* name, At unloaded = At::end_of_scope);
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;
  ~SharedLibrary();

  [[nodiscard]] bool found() const { return library_ != nullptr; }

  [[nodiscard]] const std::string& absence() const { return absence_; }

  // Null where the library or the function is missing. The address is copied: ISO C++ has no
  // conversion from an object pointer to a function pointer.
  template <typename Signature>
  [[nodiscard]] Signature* find(const char* name) const {
    void* const address = address_of(name);
    Signature* function = nullptr;
    static_assert(sizeof(function) == sizeof(address));
    std::memcpy(&function, &address, sizeof(function));
    return function;
  }

 private:
  [[nodiscard]] void* address_of(const char* name) const;

  void* library_ = nullptr;
  At unloaded_;
  std::string absence_;
};

class NvmlLibrary {
 public:
  // `needed`: the function without which there is nothing to ask.
  NvmlLibrary(const char* name, const char* needed);
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary();

  [[nodiscard]] bool installed() const { return library_.found(); }

  [[nodiscard]] const std::string& absence() const { return absence_; }

  // The first of these functions that the library has, else null, for a pointer of any prototype.
  struct Named {
    const SharedLibrary& library;
    std::array<const char*, 2> names;

    template <typename Signature>
    operator Signature*() const {  // NOLINT(google-explicit-constructor): initialises members
      Signature* const found = library.find<Signature>(names[0]);
      return found != nullptr || names[1] == nullptr ? found : library.find<Signature>(names[1]);
    }
  };

  [[nodiscard]] Named function(const char* name, const char* older = nullptr) const {
    return {library_, {name, older}};
  }

 private:
  SharedLibrary library_;
  std::string absence_;
};

inline constexpr int kNvmlSuccess = 0;

// The answer of a question that NVML may not know or not support. Prototypes are as NVIDIA
// documents them (NVML API reference), with an int for every enumeration.
template <typename Value = unsigned, typename Function, typename... Arguments>
std::optional<Value> ask_nvml(Function function, Arguments... arguments) {
  Value value = {};
  if (function == nullptr || function(arguments..., &value) != kNvmlSuccess) {
    return std::nullopt;
  }
  return value;
}

// "580.95.05"; nothing when the library does not say.
[[nodiscard]] std::optional<std::string> nvml_driver(const NvmlLibrary& library);

class NvmlLibrary;

struct GpuReading {
  std::optional<double> sm_clock;      // MHz
  std::optional<double> memory_clock;  // MHz
  std::optional<double> power;         // W
  std::optional<double> temperature;   // deg C
  std::optional<std::uint64_t> reasons;
};

// Where a link of the board leads.
struct PciAddress {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;

  friend bool operator==(const PciAddress& a, const PciAddress& b) = default;
};

// Of "00000000:1b:00.0"; nothing where it is no address.
[[nodiscard]] std::optional<PciAddress> parse_pci(const std::string& text);

// The NVLinks of a board that are up.
struct NvLinks {
  int links = 0;
  std::string version;            // "4.0" of the first; empty where NVML does not say
  int switched = 0;               // links that lead to an NVSwitch
  std::vector<PciAddress> peers;  // of the links that lead to another GPU
};

struct GpuLimits {
  std::optional<double> sm_clock;      // MHz, largest
  std::optional<double> memory_clock;  // MHz, largest
  std::optional<double> power_limit;   // W
  std::optional<int> pcie_generation;
  std::optional<int> pcie_width;  // lanes
  std::optional<bool> mig;
  std::optional<std::string> driver;  // "580.95.05"
};

// Names of the bits of GpuReading::reasons: "sw_power_cap", "hw_thermal_slowdown". Bits without a
// name read "bit_12".
[[nodiscard]] std::vector<std::string> reason_names(std::uint64_t reasons);

// Reasons that mean a clock below what the same GPU reaches when cool and unlimited; idle and
// settings of the user do not count.
[[nodiscard]] bool is_throttled(std::uint64_t reasons);

// Reasons by which the board protects itself: heat, its own hardware, a power brake from outside.
// The limit of its power is none of them.
[[nodiscard]] bool is_braked(std::uint64_t reasons);

class Nvml {
 public:
  // `pci`: the GPU as CUDA names it. `library`: another file name in tests.
  explicit Nvml(const std::string& pci, const char* library = "libnvidia-ml.so.1");
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  // Empty when NVML answers; else why it does not, for the profile's warnings.
  [[nodiscard]] const std::string& absence() const { return absence_; }

  [[nodiscard]] GpuReading read() const;

  // J. Apart from read(): this answer takes milliseconds, 3 by the median and 15 at worst on an
  // H100 with driver 580, and a GPU rests while its host waits.
  [[nodiscard]] std::optional<double> energy() const;

  [[nodiscard]] GpuLimits limits() const;

  // Nothing where NVML does not say; a board without NVLink has 0 of them.
  [[nodiscard]] std::optional<NvLinks> links() const;

 private:
  struct Functions;

  std::unique_ptr<NvmlLibrary> library_;
  std::unique_ptr<Functions> functions_;
  void* device_ = nullptr;
  std::string absence_;
};

// Lists the GPUs of this machine through NVML, the driver's library, loaded at run time.
//
// symbol  | meaning                                          | unit | origin
// --------|--------------------------------------------------|------|-------
// memory  | of the GPU, as the driver counts it              | B    | NVML
// driver  | version of the driver: "580.95.05"               | -    | NVML
// cuda    | newest CUDA that the driver runs: "13.0"         | -    | NVML
// absence | why there is no answer; empty when there is one  | -    | NVML
//
// A machine without a driver is not an error: `installed` is false. A driver that does not answer
// is one for whoever wants its GPUs: `installed` with an absence.

struct ListedGpu {
  std::string name;
  std::optional<Bytes> memory;
};

struct GpuList {
  bool installed = false;
  std::string absence;
  std::string driver;
  std::string cuda;
  std::vector<ListedGpu> gpus;
};

// `library`: another file name in tests.
[[nodiscard]] GpuList list_gpus(const char* library = "libnvidia-ml.so.1");

}  // namespace orrery::kernels
