#pragma once

// Loads, initialises and queries NVML, the driver's library; one instance serves all callers. It is
// loaded at run time, because the toolkit has neither its header nor a library to link.
//
// absence | why there is no answer; empty when there is one

#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace orrery::kernels {

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

}  // namespace orrery::kernels
