#include "kernels/nvml/nvml_library.hpp"

#include <fmt/format.h>

#include <array>

namespace orrery::kernels {

NvmlLibrary::NvmlLibrary(const char* name, const char* needed)
    : library_(name), absence_(library_.absence()) {
  if (!library_.found()) {
    return;
  }
  int (*init)() = nullptr;
  load(init, {"nvmlInit_v2"});
  if (init == nullptr || library_.find<int()>(needed) == nullptr) {
    absence_ = fmt::format("{} lacks nvmlInit_v2 or {}", name, needed);
  } else if (const int status = init(); status != kNvmlSuccess) {
    absence_ = fmt::format("nvmlInit_v2 returned {}", status);
  }
}

NvmlLibrary::~NvmlLibrary() {
  int (*shutdown)() = nullptr;
  load(shutdown, {"nvmlShutdown"});
  if (absence_.empty() && shutdown != nullptr) {
    shutdown();
  }
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
