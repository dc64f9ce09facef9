#include "kernels/device/device_info.hpp"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "kernels/device/status.hpp"
#include "sim/base/error.hpp"

#if __has_include(<cudnn_version.h>)
#include <cudnn_version.h>
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace orrery::kernels {

namespace {

constexpr int kOldestMajor = 8;  // the oldest architecture in ORRERY_CUDA_ARCHITECTURES

template <typename Signature>
Signature* symbol_of(void* library, const char* name) {
  void* address = library == nullptr ? nullptr : dlsym(library, name);
  Signature* function = nullptr;
  static_assert(sizeof(function) == sizeof(address));
  std::memcpy(&function, &address, sizeof(function));
  return function;
}

LibraryVersion cudnn_version() {
  LibraryVersion version;
#ifdef CUDNN_VERSION
  version.header = CUDNN_VERSION;
#endif
  // Left open: cuDNN does not survive being unloaded while others use it.
  void* library = dlopen("libcudnn.so.9", RTLD_LAZY);
  if (auto* get = symbol_of<std::size_t()>(library, "cudnnGetVersion")) {
    version.runtime = static_cast<int>(get());
  }
  return version;
}

LibraryVersion nccl_version() {
  LibraryVersion version;
#ifdef NCCL_VERSION_CODE
  version.header = NCCL_VERSION_CODE;
#endif
  void* library = dlopen("libnccl.so.2", RTLD_LAZY);
  int runtime = 0;
  if (auto* get = symbol_of<int(int*)>(library, "ncclGetVersion");
      get != nullptr && get(&runtime) == 0) {
    version.runtime = runtime;
  }
  return version;
}

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, index), "read an attribute of the GPU");
  return value;
}

std::string pci_of(int index) {
  std::array<char, 32> text = {};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index),
        "read the PCI address of the GPU");
  return text.data();
}

DeviceInfo describe(int index, int visible) {
  cudaDeviceProp properties = {};
  check(cudaGetDeviceProperties(&properties, index), "read the properties of the GPU");
  DeviceInfo info;
  info.index = index;
  info.visible_gpus = visible;
  info.name = properties.name;
  info.major = properties.major;
  info.minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  info.l2 = properties.l2CacheSize;
  info.memory = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.shared_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index);
  info.shared_per_multiprocessor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, index);
  info.pci = pci_of(index);
  info.ecc = properties.ECCEnabled != 0;
  info.mig = std::strstr(properties.name, " MIG ") != nullptr;
  check(cudaDriverGetVersion(&info.driver), "read the version of the driver");
  check(cudaRuntimeGetVersion(&info.runtime), "read the version of the CUDA run time");
  info.header = CUDART_VERSION;
  info.cublaslt = {CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH,
                   static_cast<int>(cublasLtGetVersion())};
  info.cudnn = cudnn_version();
  info.nccl = nccl_version();
  return info;
}

}  // namespace

std::string cuda_version_text(int version) {
  constexpr int kMajor = 1000;
  constexpr int kMinor = 10;
  return fmt::format("{}.{}", version / kMajor, version % kMajor / kMinor);
}

std::string no_device_sentence(int cuda_status) {
  const auto status = static_cast<cudaError_t>(cuda_status);
  const std::string text = status_text(Library::cuda, cuda_status, cudaGetErrorName(status));
  switch (status) {
    case cudaErrorInsufficientDriver:
      return fmt::format(
          "no usable NVIDIA GPU: the driver is missing or older than CUDA {} needs; {}",
          cuda_version_text(CUDART_VERSION),
          text);
    case cudaErrorNoDevice:
      return fmt::format("no NVIDIA GPU is visible on this machine; {}", text);
    default:
      return fmt::format("no usable NVIDIA GPU: {}; {}", cudaGetErrorString(status), text);
  }
}

bool device_answers() {
  static_cast<void>(cudaGetLastError());  // of a launch that was refused: that is over
  return cudaDeviceSynchronize() == cudaSuccess;
}

DeviceInfo find_device(int index) {
  int visible = 0;
  const cudaError_t status = cudaGetDeviceCount(&visible);
  if (status != cudaSuccess) {
    throw Error(ErrorKind::device, no_device_sentence(status));
  }
  if (visible == 0) {
    throw Error(ErrorKind::device, no_device_sentence(cudaErrorNoDevice));
  }
  if (index < 0 || index >= visible) {
    throw Error(ErrorKind::device,
                fmt::format("there is no GPU {}: {} visible, counted from 0", index, visible));
  }
  check(cudaSetDevice(index), "select the GPU");
  const DeviceInfo info = describe(index, visible);
  if (info.major < kOldestMajor) {
    throw Error(ErrorKind::device,
                fmt::format("{} has compute capability {}.{}: the kernels need 8.0 or later",
                            info.name,
                            info.major,
                            info.minor));
  }
  return info;
}

}  // namespace orrery::kernels
