#include "kernels/nvml/nvml_library.hpp"

#include <fmt/format.h>

#include <array>

namespace orrery::kernels {

NvmlLibrary::NvmlLibrary(const char* name, const char* needed) : library_(dlopen(name, RTLD_LAZY)) {
  if (library_ == nullptr) {
    absence_ = fmt::format("{} is not on this machine", name);
    return;
  }
  int (*init)() = nullptr;
  load(init, {"nvmlInit_v2"});
  if (init == nullptr || dlsym(library_, needed) == nullptr) {
    absence_ = fmt::format("{} lacks nvmlInit_v2 or {}", name, needed);
  } else if (const int status = init(); status != kNvmlSuccess) {
    absence_ = fmt::format("nvmlInit_v2 returned {}", status);
  }
}

NvmlLibrary::~NvmlLibrary() {
  if (library_ == nullptr) {
    return;
  }
  int (*shutdown)() = nullptr;
  load(shutdown, {"nvmlShutdown"});
  if (absence_.empty() && shutdown != nullptr) {
    shutdown();
  }
  dlclose(library_);
}

std::optional<std::string> nvml_driver(const NvmlLibrary& library) {
  constexpr std::size_t kMostLetters = 96;
  int (*ask)(char*, unsigned) = nullptr;
  library.load(ask, {"nvmlSystemGetDriverVersion"});
  std::array<char, kMostLetters> driver = {};
  if (ask == nullptr || ask(driver.data(), kMostLetters - 1) != kNvmlSuccess) {
    return std::nullopt;
  }
  return driver.data();
}

}  // namespace orrery::kernels
