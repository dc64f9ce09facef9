#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "kernels/device/status.hpp"
#include "kernels/own/own_case.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kChunk = std::int64_t{64} << 20;  // bytes compared at once

// Copies by the CUDA run time, as frameworks use them: inside device memory, or between it and
// pinned host memory.
class CopyCase final : public OwnCase {
 public:
  explicit CopyCase(const KernelCase& kernel)
      : bytes_(extent(kernel, "bytes")),
        from_host_(kernel.operation == Operation::host_to_device),
        to_host_(kernel.operation == Operation::device_to_host) {
    source_ = from_host_ ? kNone : random(Element::e4m3, 1, bytes_);
    target_ = to_host_ ? kNone : room(Element::e4m3, 1, bytes_);
  }

  [[nodiscard]] std::string_view implementation() const override { return "cudart"; }

 private:
  void fill(Set& set, Stream stream) const override {
    if (from_host_ || to_host_) {
      set.host = PinnedBuffer(aligned(bytes_));
    }
    if (from_host_) {  // filled by way of the target
      void* const target = set.as<void>(target_);
      fill_normal(target, Element::e4m3, bytes_, {.seed = set.seed}, stream);
      copy_to_host(set.host.data(), target, bytes_, stream);
    }
  }

  void enqueue(const Set& set, Stream stream) const override {
    const void* source = from_host_ ? set.host.data() : set.as<void>(source_);
    void* target = to_host_ ? set.host.data() : set.as<void>(target_);
    ::orrery::kernels::check(cudaMemcpyAsync(target, source, static_cast<std::size_t>(bytes_),
                                             from_host_ ? cudaMemcpyHostToDevice
                                             : to_host_ ? cudaMemcpyDeviceToHost
                                                        : cudaMemcpyDeviceToDevice,
                                             stream),
                             from_host_ ? "copy to the device"
                             : to_host_ ? "copy to the host"
                                        : "copy inside device memory");
  }

  void compare(Check& check) const override {
    constexpr unsigned char kPattern = 0xFF;  // a NaN of e4m3: no random number
    const auto* host = check.set.host.as<unsigned char>();
    if (to_host_) {
      std::fill_n(check.set.host.as<unsigned char>(), bytes_, kPattern);
    } else {
      check.mark(target_);
    }
    enqueue(check.set, check.stream);
    ::orrery::kernels::check(cudaStreamSynchronize(check.stream), "wait for a copy");
    for (std::int64_t first = 0; first < bytes_; first += kChunk) {
      const std::int64_t count = std::min(kChunk, bytes_ - first);
      const auto part = [&](Operand operand) {
        if (operand == kNone) {
          return std::vector<unsigned char>(host + first, host + first + count);
        }
        std::vector<unsigned char> read(static_cast<std::size_t>(count));
        copy_to_host(read.data(), check.set.as<unsigned char>(operand) + first, count,
                     check.stream);
        return read;
      };
      const auto from = part(source_);
      const auto to = part(target_);
      const auto differ = std::mismatch(from.begin(), from.end(), to.begin());
      if (differ.first != from.end()) {
        check.comparison.fail(
            fmt::format("byte {} differs", first + (differ.first - from.begin())));
      }
      check.comparison.add_error("bytes", 0, first, 1.0, 1.0, 0.0);
    }
  }

  std::int64_t bytes_;
  bool from_host_, to_host_;
  Operand source_, target_;
};

}  // namespace

std::unique_ptr<Runnable> make_copy(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own<CopyCase>(kernel, options);
}

}  // namespace orrery::kernels
