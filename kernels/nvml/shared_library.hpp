#pragma once

// A shared library that is opened when it is first needed, so that a program starts without it, and
// the lookup of its functions.
//
// absence | why it cannot be used; empty when it can

#include <cstring>
#include <string>

namespace orrery::kernels {

class SharedLibrary {
 public:
  enum class At { end_of_scope, end_of_process };  // cuDNN and NCCL do not survive being unloaded

  explicit SharedLibrary(const char* name, At unloaded = At::end_of_scope);
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;
  ~SharedLibrary();

  [[nodiscard]] bool found() const {
    return library_ != nullptr;
  }

  [[nodiscard]] const std::string& absence() const {
    return absence_;
  }

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

}  // namespace orrery::kernels
