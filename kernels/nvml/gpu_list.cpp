#include "kernels/nvml/gpu_list.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "kernels/nvml/shared_library.hpp"

namespace orrery::kernels {

namespace {

constexpr int kSuccess = 0;

// As NVIDIA documents nvmlMemory_t (NVML API reference).
struct Memory {
  unsigned long long total = 0;  // B
  unsigned long long free = 0;
  unsigned long long used = 0;
};

struct Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, void**) = nullptr;
  int (*name)(void*, char*, unsigned) = nullptr;
  int (*memory)(void*, Memory*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*cuda)(int*) = nullptr;

  explicit Functions(void* library) {
    load_function(library, init, "nvmlInit_v2");
    load_function(library, shutdown, "nvmlShutdown");
    load_function(library, count, "nvmlDeviceGetCount_v2");
    load_function(library, device, "nvmlDeviceGetHandleByIndex_v2");
    load_function(library, name, "nvmlDeviceGetName");
    load_function(library, memory, "nvmlDeviceGetMemoryInfo");
    load_function(library, driver, "nvmlSystemGetDriverVersion");
    load_function(library, cuda, "nvmlSystemGetCudaDriverVersion_v2");
  }
};

constexpr std::size_t kMostLetters = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE

ListedGpu ask_gpu(const Functions& f, unsigned index) {
  ListedGpu gpu{.name = "a GPU that does not answer", .memory = std::nullopt};
  void* device = nullptr;
  if (f.device == nullptr || f.device(index, &device) != kSuccess) {
    return gpu;
  }
  std::array<char, kMostLetters> name = {};
  if (f.name != nullptr && f.name(device, name.data(), kMostLetters - 1) == kSuccess) {
    gpu.name = name.data();
  }
  Memory memory;
  if (f.memory != nullptr && f.memory(device, &memory) == kSuccess) {
    gpu.memory = bytes(static_cast<double>(memory.total));
  }
  return gpu;
}

void ask_driver(const Functions& f, GpuList& list) {
  std::array<char, kMostLetters> driver = {};
  if (f.driver != nullptr && f.driver(driver.data(), kMostLetters - 1) == kSuccess) {
    list.driver = driver.data();
  }
  int cuda = 0;  // 13000 for 13.0, 12090 for 12.9
  if (f.cuda != nullptr && f.cuda(&cuda) == kSuccess) {
    constexpr int kMajor = 1000;
    constexpr int kMinor = 10;
    list.cuda = fmt::format("{}.{}", cuda / kMajor, cuda % kMajor / kMinor);
  }
}

}  // namespace

GpuList list_gpus(const char* library_name) {
  GpuList list;
  void* library = dlopen(library_name, RTLD_LAZY);
  if (library == nullptr) {
    list.absence = fmt::format("{} is not on this machine", library_name);
    return list;
  }
  list.installed = true;
  const Functions f(library);
  unsigned count = 0;
  if (f.init == nullptr || f.count == nullptr) {
    list.absence = fmt::format("{} lacks nvmlInit_v2 or nvmlDeviceGetCount_v2", library_name);
  } else if (const int status = f.init(); status != kSuccess) {
    list.absence = fmt::format("nvmlInit_v2 returned {}", status);
  } else {
    ask_driver(f, list);
    if (const int counted = f.count(&count); counted != kSuccess) {
      list.absence = fmt::format("nvmlDeviceGetCount_v2 returned {}", counted);
    }
    for (unsigned i = 0; i < count && list.absence.empty(); ++i) {
      list.gpus.push_back(ask_gpu(f, i));
    }
    if (f.shutdown != nullptr) {
      f.shutdown();
    }
  }
  dlclose(library);
  return list;
}

}  // namespace orrery::kernels
