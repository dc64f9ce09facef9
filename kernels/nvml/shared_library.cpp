#include "kernels/nvml/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

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

}  // namespace orrery::kernels
