#pragma once

// Owners of device and pinned host memory for operands, and how many operand sets fit:
//
//   operand_sets(set, rotated, most) = max(1, min(ceil((rotated + 1) / set), floor(most / set)))
//
// symbol  | meaning                                                  | unit | origin
// --------|----------------------------------------------------------|------|----------------
// set     | bytes of one operand set of a case                       | byte | the kernel
// rotated | bytes that the sets together exceed (4 x L2)             | byte | PrepareOptions
// most    | device memory that may be taken                          | byte | memory_budget
//
// A device that is out of memory is not a failure: this GPU does not offer the case. Unsupported
// with the status cudaErrorMemoryAllocation. Sets are capped at kMostSets: small operands would
// otherwise ask for thousands of them, and a call that small is not bound by memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "kernels/device/runnable.hpp"

namespace orrery::kernels {

inline constexpr int kMostSets = 256;
inline constexpr std::int64_t kMemoryAlignment = 256;  // bytes, of every buffer

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::int64_t bytes);  // uninitialised; 0 bytes: data() is null
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  [[nodiscard]] void* data() const {
    return data_;
  }

  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

  [[nodiscard]] std::int64_t bytes() const {
    return bytes_;
  }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// Page-locked host memory: the only kind that transfers reach full speed with.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::int64_t bytes);
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  ~PinnedBuffer();

  [[nodiscard]] void* data() const {
    return data_;
  }

  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

  [[nodiscard]] std::int64_t bytes() const {
    return bytes_;
  }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

[[nodiscard]] std::int64_t free_device_memory();

// options.most_bytes, or 80 % of what is free.
[[nodiscard]] std::int64_t memory_budget(const PrepareOptions& options);

// Operand sets to allocate; throws Unsupported when not even one fits.
[[nodiscard]] int operand_sets(std::int64_t set_bytes, std::int64_t rotated, std::int64_t most);

// Copies of sets, waited for. Sizes in bytes.
void copy_to_host(void* host, const void* device, std::int64_t bytes, Stream stream);
void copy_to_device(void* device, const void* host, std::int64_t bytes, Stream stream);

// The next multiple of kMemoryAlignment.
[[nodiscard]] constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

}  // namespace orrery::kernels
