#pragma once

// Describes the GPU and the libraries that the program runs on: everything that may change a
// measured rate, for the fingerprint of a profile.
//
// symbol             | meaning                                          | unit  | origin
// -------------------|--------------------------------------------------|-------|-----------------
// compute_capability | major and minor                                  | -     | CUDA run time
// multiprocessors    | SMs                                              | 1     | CUDA run time
// l2, memory         | second-level cache, global memory                | byte  | CUDA run time
// header, runtime    | version compiled against, version loaded         | -     | header, library
//
// The run-time version of cuDNN and NCCL is absent where the library is not installed: nothing of
// it is loaded but its version function.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace orrery::kernels {

struct LibraryVersion {
  std::optional<int> header;   // absent: not compiled in
  std::optional<int> runtime;  // absent: not installed
};

struct DeviceInfo {
  int index = 0;
  int visible_gpus = 0;
  std::string name;
  int major = 0;  // compute capability
  int minor = 0;
  int multiprocessors = 0;
  std::int64_t l2 = 0;      // bytes
  std::int64_t memory = 0;  // bytes
  std::string pci;          // 00000000:1b:00.0
  std::string uuid;         // GPU-8f1c..., as the driver's tools print it
  bool ecc = false;
  bool mig = false;  // a slice of a GPU: its rates are not those of the whole
  int driver = 0;    // CUDA version that the driver offers: 13000
  int runtime = 0;   // of the CUDA run time linked
  int header = 0;    // CUDART_VERSION
  LibraryVersion cublaslt;
  LibraryVersion cudnn;
  LibraryVersion nccl;
};

// Makes GPU `index` current and describes it. Throws orrery::Error of kind device with one clear
// sentence where there is no driver, no GPU, no such index, or a GPU that refusal_of() refuses.
[[nodiscard]] DeviceInfo find_device(int index = 0);

// Makes it the current GPU of this thread: each thread of the host has its own.
void use_device(int index);

// PCI addresses of the visible GPUs, by index.
[[nodiscard]] std::vector<std::string> visible_addresses();

// Why nothing is measured on it: older than the kernels, or a slice of a GPU (MIG). Empty else.
[[nodiscard]] std::string refusal_of(const DeviceInfo& info);

// "GPU-8f1c2d3e-..." of the sixteen bytes that CUDA gives.
[[nodiscard]] std::string uuid_text(std::span<const std::byte> bytes);

// The sentence of that error, from the status of the first call.
[[nodiscard]] std::string no_device_sentence(int cuda_status);

// Whether the current GPU still runs what it is given. Some failures, such as an address that no
// kernel may touch, end the use of it for the rest of the process.
[[nodiscard]] bool device_answers();

// "13.0" of 13000.
[[nodiscard]] std::string cuda_version_text(int version);

}  // namespace orrery::kernels
