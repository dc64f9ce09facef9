#include "kernels/nvml/nvml_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

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

}  // namespace orrery::kernels
