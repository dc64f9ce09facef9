#pragma once

// How is the driver's library NVML opened, started and asked? Once, for all who ask it: it is
// loaded at run time, because the toolkit has neither its header nor a library to link.
//
// absence | why there is no answer; empty when there is one

#include <dlfcn.h>

#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>

namespace orrery::kernels {

class NvmlLibrary {
 public:
  // `needed`: the function without which there is nothing to ask.
  NvmlLibrary(const char* name, const char* needed);
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary();

  [[nodiscard]] bool installed() const {
    return library_ != nullptr;
  }

  [[nodiscard]] const std::string& absence() const {
    return absence_;
  }

  // Sets `function` to the first of these names that the library has, else to null. Its address is
  // copied: ISO C++ has no conversion from an object pointer to a function pointer.
  template <typename Function>
  void load(Function& function, std::initializer_list<const char*> names) const {
    function = nullptr;
    for (const char* const name : names) {
      void* address = library_ == nullptr ? nullptr : dlsym(library_, name);
      static_assert(sizeof(function) == sizeof(address));
      std::memcpy(&function, &address, sizeof(function));
      if (function != nullptr) {
        return;
      }
    }
  }

 private:
  void* library_ = nullptr;
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

}  // namespace orrery::kernels
