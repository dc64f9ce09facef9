#include "kernels/device/device_info.hpp"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/device/runtime.hpp"
#include "kernels/nvml/nvml.hpp"
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

LibraryVersion cudnn_version() {
  LibraryVersion version;
#ifdef CUDNN_VERSION
  version.header = CUDNN_VERSION;
#endif
  if (auto* get = late_library(LateLibrary::cudnn).find<std::size_t()>("cudnnGetVersion")) {
    version.runtime = static_cast<int>(get());
  }
  return version;
}

LibraryVersion nccl_version() {
  LibraryVersion version;
#ifdef NCCL_VERSION_CODE
  version.header = NCCL_VERSION_CODE;
#endif
  int runtime = 0;
  if (auto* get = late_library(LateLibrary::nccl).find<int(int*)>("ncclGetVersion");
      get != nullptr && get(&runtime) == 0) {
    version.runtime = runtime;
  }
  return version;
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
  info.pci = pci_of(index);
  info.ecc = properties.ECCEnabled != 0;
  info.uuid = uuid_text(std::as_bytes(std::span(properties.uuid.bytes)));
  info.mig = std::strstr(properties.name, " MIG ") != nullptr ||
             Nvml(info.pci).limits().mig.value_or(false);
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

std::string uuid_text(std::span<const std::byte> bytes) {
  constexpr std::array<std::size_t, 4> kDashAt = {4, 6, 8, 10};
  std::string text = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool dash = std::ranges::find(kDashAt, i) != kDashAt.end();
    text += fmt::format("{}{:02x}", dash ? "-" : "", std::to_integer<unsigned>(bytes[i]));
  }
  return text;
}

void use_device(int index) { check(cudaSetDevice(index), "select the GPU"); }

std::vector<std::string> visible_addresses() {
  int visible = 0;
  check(cudaGetDeviceCount(&visible), "count the GPUs");
  std::vector<std::string> addresses;
  for (int index = 0; index < visible; ++index) {
    addresses.push_back(pci_of(index));
  }
  return addresses;
}

std::string refusal_of(const DeviceInfo& info) {
  if (info.major < kOldestMajor) {
    return fmt::format("{} has compute capability {}.{}: the kernels need 8.0 or later", info.name,
                       info.major, info.minor);
  }
  if (info.mig) {
    return fmt::format(
        "{} is cut into slices (MIG): the rates of a slice are not those of the GPU, and a "
        "training run has whole ones; measure on a GPU with MIG off",
        info.name);
  }
  return {};
}

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
          cuda_version_text(CUDART_VERSION), text);
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
  use_device(index);
  const DeviceInfo info = describe(index, visible);
  if (const std::string refusal = refusal_of(info); !refusal.empty()) {
    throw Error(ErrorKind::device, refusal);
  }
  return info;
}

}  // namespace orrery::kernels
