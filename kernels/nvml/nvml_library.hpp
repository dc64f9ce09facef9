#pragma once

// Loads, initialises and queries NVML, the driver's library; one instance serves all callers. It is
// loaded at run time, because the toolkit has neither its header nor a library to link.
//
// absence | why there is no answer; empty when there is one

#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>

#include "kernels/nvml/shared_library.hpp"

namespace orrery::kernels {

class NvmlLibrary {
 public:
  // `needed`: the function without which there is nothing to ask.
  NvmlLibrary(const char* name, const char* needed);
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary();

  [[nodiscard]] bool installed() const {
    return library_.found();
  }

  [[nodiscard]] const std::string& absence() const {
    return absence_;
  }

  // Sets `function` to the first of these names that the library has, else to null.
  template <typename Function>
  void load(Function& function, std::initializer_list<const char*> names) const {
    function = nullptr;
    for (const char* const name : names) {
      function = library_.find<std::remove_pointer_t<Function>>(name);
      if (function != nullptr) {
        return;
      }
    }
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

}  // namespace orrery::kernels
