#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "kernels/device/status.hpp"
#include "kernels/families.hpp"
#include "kernels/own/own_case.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kChunk = std::int64_t{64} << 20;  // bytes compared at once

// Copies by the CUDA run time, as frameworks use them: inside device memory, or between it and
// pinned host memory.
class CopyFamily {
 public:
  static constexpr std::string_view kImplementation = "cudart";

  struct Set {
    DeviceBuffer source, target;  // one of them where the other end is the host
    PinnedBuffer host;
  };

  explicit CopyFamily(const KernelCase& kernel)
      : operation_(kernel.operation), bytes_(extent(kernel, "bytes")) {}

  [[nodiscard]] std::int64_t set_bytes() const {
    return (operation_ == Operation::copy ? 2 : 1) * aligned(bytes_);
  }

  [[nodiscard]] Set make_set(std::uint64_t seed, Stream stream) const {
    Set set;
    if (operation_ != Operation::host_to_device) {
      set.source = DeviceBuffer(aligned(bytes_));
      fill_normal(set.source.data(), Element::e4m3, bytes_, {.seed = seed}, stream);
    }
    if (operation_ != Operation::device_to_host) {
      set.target = DeviceBuffer(aligned(bytes_));
    }
    if (operation_ == Operation::host_to_device) {  // filled by way of the target
      set.host = PinnedBuffer(aligned(bytes_));
      fill_normal(set.target.data(), Element::e4m3, bytes_, {.seed = seed}, stream);
      copy_to_host(set.host.data(), set.target.data(), bytes_, stream);
    } else if (operation_ == Operation::device_to_host) {
      set.host = PinnedBuffer(aligned(bytes_));
    }
    return set;
  }

  void launch(const Set& set, Stream stream) const {
    const auto size = static_cast<std::size_t>(bytes_);
    switch (operation_) {
      case Operation::host_to_device:
        return ::orrery::kernels::check(
            cudaMemcpyAsync(
                set.target.data(), set.host.data(), size, cudaMemcpyHostToDevice, stream),
            "copy to the device");
      case Operation::device_to_host:
        return ::orrery::kernels::check(
            cudaMemcpyAsync(
                set.host.data(), set.source.data(), size, cudaMemcpyDeviceToHost, stream),
            "copy to the host");
      default:
        return ::orrery::kernels::check(
            cudaMemcpyAsync(
                set.target.data(), set.source.data(), size, cudaMemcpyDeviceToDevice, stream),
            "copy inside device memory");
    }
  }

  void check(const Set& set, Stream stream, Comparison& comparison) const {
    constexpr unsigned char kPattern = 0xFF;  // a NaN of e4m3: no random number
    if (operation_ == Operation::device_to_host) {
      std::fill_n(set.host.as<unsigned char>(), bytes_, kPattern);
    } else {
      fill_unwritten(set.target.data(), bytes_, stream);
    }
    launch(set, stream);
    ::orrery::kernels::check(cudaStreamSynchronize(stream), "wait for a copy");
    for (std::int64_t first = 0; first < bytes_; first += kChunk) {
      const std::int64_t count = std::min(kChunk, bytes_ - first);
      const auto from = operation_ == Operation::host_to_device
                            ? host_part(set.host, first, count)
                            : device_part(set.source, first, count, stream);
      const auto to = operation_ == Operation::device_to_host
                          ? host_part(set.host, first, count)
                          : device_part(set.target, first, count, stream);
      const auto differ = std::mismatch(from.begin(), from.end(), to.begin());
      if (differ.first != from.end()) {
        comparison.fail(fmt::format("byte {} differs", first + (differ.first - from.begin())));
      }
      comparison.add_error("bytes", 0, first, 1.0, 1.0, 0.0);
    }
  }

 private:
  static std::vector<unsigned char> host_part(const PinnedBuffer& host,
                                              std::int64_t first,
                                              std::int64_t count) {
    const auto* start = host.as<unsigned char>() + first;
    return {start, start + count};
  }

  static std::vector<unsigned char> device_part(const DeviceBuffer& device,
                                                std::int64_t first,
                                                std::int64_t count,
                                                Stream stream) {
    std::vector<unsigned char> part(static_cast<std::size_t>(count));
    copy_to_host(part.data(), device.as<unsigned char>() + first, count, stream);
    return part;
  }

  Operation operation_;
  std::int64_t bytes_;
};

}  // namespace

std::unique_ptr<Runnable> make_copy(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own<CopyFamily>(kernel, options);
}

}  // namespace orrery::kernels
