#include <fmt/format.h>

#include <array>

#include "kernels/nvml/nvml.hpp"
#include "kernels/nvml/nvml_library.hpp"

namespace orrery::kernels {

namespace {

constexpr const char* kCount = "nvmlDeviceGetCount_v2";

// As NVIDIA documents nvmlMemory_t (NVML API reference).
struct Memory {
  unsigned long long total = 0;  // B
  unsigned long long free = 0;
  unsigned long long used = 0;
};

struct Functions {
  const NvmlLibrary& library;
  int (*count)(unsigned*) = library.function(kCount);
  int (*device)(unsigned, void**) = library.function("nvmlDeviceGetHandleByIndex_v2");
  int (*name)(void*, char*, unsigned) = library.function("nvmlDeviceGetName");
  int (*memory)(void*, Memory*) = library.function("nvmlDeviceGetMemoryInfo");
  int (*cuda)(int*) = library.function("nvmlSystemGetCudaDriverVersion_v2");

  explicit Functions(const NvmlLibrary& loaded) : library(loaded) {}
};

constexpr std::size_t kMostLetters = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE

ListedGpu ask_gpu(const Functions& f, unsigned index) {
  ListedGpu gpu{.name = "a GPU that does not answer", .memory = std::nullopt};
  const auto device = ask_nvml<void*>(f.device, index);
  if (!device) {
    return gpu;
  }
  std::array<char, kMostLetters> name = {};
  if (f.name != nullptr && f.name(*device, name.data(), kMostLetters - 1) == kNvmlSuccess) {
    gpu.name = name.data();
  }
  if (const auto memory = ask_nvml<Memory>(f.memory, *device)) {
    gpu.memory = bytes(static_cast<double>(memory->total));
  }
  return gpu;
}

// "13.0" of 13000; empty when the driver does not say.
std::string cuda_of(const Functions& f) {
  constexpr int kMajor = 1000;
  constexpr int kMinor = 10;
  const auto cuda = ask_nvml<int>(f.cuda);
  return cuda ? fmt::format("{}.{}", *cuda / kMajor, *cuda % kMajor / kMinor) : std::string();
}

}  // namespace

GpuList list_gpus(const char* library_name) {
  const NvmlLibrary library(library_name, kCount);
  GpuList list;
  list.installed = library.installed();
  list.absence = library.absence();
  if (!list.absence.empty()) {
    return list;
  }
  const Functions f(library);
  list.driver = nvml_driver(library).value_or("");
  list.cuda = cuda_of(f);
  unsigned count = 0;
  if (const int status = f.count(&count); status != kNvmlSuccess) {
    list.absence = fmt::format("{} returned {}", kCount, status);
    return list;
  }
  for (unsigned i = 0; i < count; ++i) {
    list.gpus.push_back(ask_gpu(f, i));
  }
  return list;
}

}  // namespace orrery::kernels
