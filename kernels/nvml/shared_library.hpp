#pragma once

// How does a function of a library that is loaded at run time get its type? By copying its address:
// ISO C++ has no conversion from an object pointer to a function pointer.

#include <dlfcn.h>

#include <cstring>

namespace orrery::kernels {

// Null when the library does not have it.
template <typename Function>
void load_function(void* library, Function& function, const char* name) {
  void* address = dlsym(library, name);
  static_assert(sizeof(function) == sizeof(address));
  std::memcpy(&function, &address, sizeof(function));
}

}  // namespace orrery::kernels
