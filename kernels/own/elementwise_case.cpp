#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/device/fill.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/own/own_case.hpp"
#include "kernels/own/own_kernels.hpp"
#include "kernels/own/vector.hpp"
#include "kernels/reference/operations.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kSampledRows = 32;
constexpr std::int64_t kMostPositions = 8192;  // tokens beyond begin a new sequence
constexpr double kAngleBase = 10000.0;

reference::Tolerance tolerance_for(Element element) {
  constexpr double kTerms = 2.0;
  constexpr double kMagnitude = 8.0;
  return reference::tolerance_of(element, {.terms = kTerms, .magnitude = kMagnitude});
}

std::int64_t columns_of(const KernelCase& kernel) {
  const std::int64_t columns = extent(kernel, "columns");
  if (columns % kLanes != 0) {
    throw_shape(kernel, "columns in multiples of 8");
  }
  return columns;
}

template <typename T>
class ResidualCase final : public OwnCase {
 public:
  explicit ResidualCase(const KernelCase& kernel)
      : rows_(extent(kernel, "rows")), columns_(columns_of(kernel)) {
    a_ = random(kElementOf<T>, rows_, columns_);
    b_ = random(kElementOf<T>, rows_, columns_);
    y_ = output("y", kElementOf<T>, rows_, columns_);
  }

 private:
  void enqueue(const Set& set, Stream stream) const override {
    launch_residual_add(ResidualAdd<T>{.a = set.as<T>(a_),
                                       .b = set.as<T>(b_),
                                       .y = set.as<T>(y_),
                                       .elements = rows_ * columns_},
                        stream);
  }

  void compare(Check& check) const override {
    check.call();
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
      auto expected = check.row(a_, row);
      const auto b = check.row(b_, row);
      for (std::size_t i = 0; i < b.size(); ++i) {
        expected[i] += b[i];
      }
      check.expect_row(y_, row, expected, tolerance_for(kElementOf<T>));
    }
  }

  std::int64_t rows_, columns_;
  Operand a_, b_, y_;
};

template <typename T>
class RotaryCase final : public OwnCase {
 public:
  explicit RotaryCase(const KernelCase& kernel)
      : tokens_(extent(kernel, "tokens")),
        heads_(extent(kernel, "heads")),
        dim_(extent(kernel, "dim")),
        positions_(std::min(tokens_, kMostPositions)),
        back_(kernel.role == Role::backward) {
    if (dim_ % (2 * kLanes) != 0) {
      throw_shape(kernel, "dim in multiples of 16");
    }
    for (std::int64_t p = 0; p < positions_; ++p) {
      for (const bool sine : {false, true}) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(dim_ / 2); ++i) {
          const double angle = reference::rotary_angle(static_cast<double>(p), i,
                                                       static_cast<std::size_t>(dim_), kAngleBase);
          table_.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
        }
      }
    }
    x_ = random(kElementOf<T>, tokens_ * heads_, dim_);
    angles_ = room(Element::fp32, positions_, dim_);
    y_ = output("y", kElementOf<T>, tokens_ * heads_, dim_);
  }

 private:
  void fill(Set& set, Stream stream) const override { upload<float>(set, angles_, table_, stream); }

  void enqueue(const Set& set, Stream stream) const override {
    launch_rotary(Rotary<T>{.x = set.as<T>(x_),
                            .angles = set.as<float>(angles_),
                            .y = set.as<T>(y_),
                            .tokens = tokens_,
                            .heads = heads_,
                            .dim = dim_,
                            .positions = positions_,
                            .back = back_},
                  stream);
  }

  void compare(Check& check) const override {
    check.call();
    const auto half = static_cast<std::size_t>(dim_ / 2);
    for (const std::int64_t row : sampled(tokens_ * heads_, kSampledRows)) {
      const std::vector<double> angles = check.row(angles_, row / heads_ % positions_);
      const std::span<const double> own(angles);
      check.expect_row(y_, row,
                       reference::rotary(check.row(x_, row), own.first(half), own.last(half),
                                         back_ ? reference::Turn::back : reference::Turn::forward),
                       tolerance_for(kElementOf<T>));
    }
  }

  std::int64_t tokens_, heads_, dim_, positions_;
  bool back_;
  std::vector<float> table_;
  Operand x_, angles_, y_;
};

template <typename T>
class SwigluCase final : public OwnCase {
 public:
  explicit SwigluCase(const KernelCase& kernel)
      : rows_(extent(kernel, "rows")),
        columns_(columns_of(kernel)),
        backward_(kernel.role == Role::backward) {
    gate_up_ = random(kElementOf<T>, rows_, 2 * columns_);
    gradient_ = backward_ ? random(kElementOf<T>, rows_, columns_) : kNone;
    result_ = output(backward_ ? "dgate and dup" : "y", kElementOf<T>, rows_,
                     backward_ ? 2 * columns_ : columns_);
  }

 private:
  void enqueue(const Set& set, Stream stream) const override {
    if (backward_) {
      launch_swiglu_backward(SwigluBackward<T>{.gate_up = set.as<T>(gate_up_),
                                               .gradient = set.as<T>(gradient_),
                                               .gate_up_gradient = set.as<T>(result_),
                                               .rows = rows_,
                                               .columns = columns_},
                             stream);
    } else {
      launch_swiglu_forward(SwigluForward<T>{.gate_up = set.as<T>(gate_up_),
                                             .y = set.as<T>(result_),
                                             .rows = rows_,
                                             .columns = columns_},
                            stream);
    }
  }

  void compare(Check& check) const override {
    check.call();
    const auto width = static_cast<std::size_t>(columns_);
    for (const std::int64_t row : sampled(rows_, kSampledRows)) {
      const auto x = check.row(gate_up_, row);
      const auto dy = backward_ ? check.row(gradient_, row) : std::vector<double>();
      std::vector<double> expected(backward_ ? 2 * width : width);
      for (std::size_t j = 0; j < width; ++j) {
        if (backward_) {
          const auto pair = reference::swiglu_gradient(x[j], x[j + width], dy[j]);
          expected[j] = pair.gate;
          expected[j + width] = pair.up;
        } else {
          expected[j] = reference::swiglu(x[j], x[j + width]);
        }
      }
      check.expect_row(result_, row, expected, tolerance_for(kElementOf<T>));
    }
  }

  std::int64_t rows_, columns_;
  bool backward_;
  Operand gate_up_, gradient_, result_;
};

}  // namespace

std::unique_ptr<Runnable> make_residual_add(const KernelCase& kernel,
                                            const PrepareOptions& options) {
  return make_own_16<ResidualCase>(kernel, options);
}

std::unique_ptr<Runnable> make_rotary(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own_16<RotaryCase>(kernel, options);
}

std::unique_ptr<Runnable> make_swiglu(const KernelCase& kernel, const PrepareOptions& options) {
  return make_own_16<SwigluCase>(kernel, options);
}

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
