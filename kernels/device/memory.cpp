#include "kernels/device/memory.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "kernels/device/status.hpp"
#include "sim/base/check.hpp"

namespace orrery::kernels {

namespace {

[[noreturn]] void throw_out_of_memory(std::int64_t wanted, std::int64_t available) {
  throw Unsupported(
      fmt::format("needs {} bytes of device memory, {} are free", wanted, available),
      status_text(
          Library::cuda, cudaErrorMemoryAllocation, cudaGetErrorName(cudaErrorMemoryAllocation)));
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::int64_t bytes) : bytes_(bytes) {
  ORRERY_CHECK(bytes >= 0, "a buffer has no negative size");
  if (bytes == 0) {
    return;
  }
  const cudaError_t status = cudaMalloc(&data_, static_cast<std::size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // not sticky: the next launch must not see it
    throw_out_of_memory(bytes, free_device_memory());
  }
  check(status, "allocate device memory");
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  static_cast<void>(cudaFree(data_));  // a destructor cannot report; the next call will
}

PinnedBuffer::PinnedBuffer(std::int64_t bytes) : bytes_(bytes) {
  ORRERY_CHECK(bytes >= 0, "a buffer has no negative size");
  if (bytes == 0) {
    return;
  }
  const cudaError_t status = cudaMallocHost(&data_, static_cast<std::size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    throw Unsupported(fmt::format("cannot pin {} bytes of host memory", bytes),
                      status_text(Library::cuda, status, cudaGetErrorName(status)));
  }
  check(status, "pin host memory");
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedBuffer::~PinnedBuffer() {
  static_cast<void>(cudaFreeHost(data_));
}

std::int64_t free_device_memory() {
  std::size_t available = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&available, &total), "ask for the free device memory");
  return static_cast<std::int64_t>(available);
}

std::int64_t memory_budget(const PrepareOptions& options) {
  constexpr std::int64_t kShare = 80;
  constexpr std::int64_t kPercent = 100;
  return options.most_bytes > 0 ? options.most_bytes : free_device_memory() / kPercent * kShare;
}

int operand_sets(std::int64_t set_bytes, std::int64_t rotated, std::int64_t most) {
  ORRERY_CHECK(set_bytes > 0 && rotated >= 0, "an operand set has a size");
  const std::int64_t fit = most / set_bytes;
  if (fit < 1) {
    throw_out_of_memory(set_bytes, most);
  }
  const std::int64_t wanted = rotated / set_bytes + 1;  // = ceil((rotated + 1) / set_bytes)
  return static_cast<int>(std::min({wanted, fit, std::int64_t{kMostSets}}));
}

void copy_to_host(void* host, const void* device, std::int64_t bytes, Stream stream) {
  check(cudaMemcpyAsync(
            host, device, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream),
        "copy to the host");
  check(cudaStreamSynchronize(stream), "copy to the host");
}

void copy_to_device(void* device, const void* host, std::int64_t bytes, Stream stream) {
  check(cudaMemcpyAsync(
            device, host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream),
        "copy to the device");
  check(cudaStreamSynchronize(stream), "copy to the device");
}

}  // namespace orrery::kernels
