#pragma once

// Turns an own kernel into a case that can be measured and checked. A Family knows the shape of a
// case, the buffers of one operand set, how to launch on it and how to check the result; the rest
// is shared.
//
//   Family(kernel)               throws Unsupported for shapes that its kernel does not take
//   std::int64_t set_bytes()     of one operand set
//   Set make_set(seed, stream)   allocated and filled; enqueues only
//   void launch(set, stream)     enqueues one call
//   void check(set, stream, c)   runs the case once and compares
//
// symbol      | meaning                                                       | unit | origin
// ------------|---------------------------------------------------------------|------|---------
// worst_error | of all compared elements, in tolerances (reference/tolerance) | 1    | computed
// scale       | root mean square of what was compared with                    | -    | computed
//
// Outputs are filled with a pattern that no kernel writes before a checked call.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/device/fill.hpp"
#include "kernels/device/memory.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/device/stream.hpp"
#include "kernels/element_formats.hpp"
#include "kernels/reference/tolerance.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::kernels {

class Comparison {
 public:
  // One element; `what` and the place are named when it is the worst.
  void add(std::string_view what,
           std::int64_t row,
           std::int64_t column,
           double found,
           double expected,
           const reference::Tolerance& tolerance);

  // A row at once.
  void add_row(std::string_view what,
               std::int64_t row,
               std::span<const double> found,
               std::span<const double> expected,
               const reference::Tolerance& tolerance);

  // An element whose error is counted otherwise: up to 1 passes.
  void add_error(std::string_view what,
                 std::int64_t row,
                 std::int64_t column,
                 double found,
                 double expected,
                 double error);

  // A failure that no element shows.
  void fail(std::string sentence);

  [[nodiscard]] Verification result() const;

 private:
  double worst_ = 0.0;
  double squares_ = 0.0;
  std::int64_t compared_ = 0;
  std::string where_;
  std::string failure_;
};

// A matrix in device memory.
struct DeviceMatrix {
  DeviceBuffer buffer;
  Element element = Element::bf16;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  [[nodiscard]] std::int64_t count() const {
    return rows * columns;
  }

  template <typename T>
  [[nodiscard]] T* as() const {
    return buffer.as<T>();
  }
};

// Bytes that such a matrix takes: padded, so that the last pack is whole.
[[nodiscard]] std::int64_t matrix_bytes(Element element, std::int64_t rows, std::int64_t columns);

[[nodiscard]] DeviceMatrix make_matrix(Element element, std::int64_t rows, std::int64_t columns);

// Filled with normal numbers; `operand` tells the operands of a set apart.
[[nodiscard]] DeviceMatrix random_matrix(Element element,
                                         std::int64_t rows,
                                         std::int64_t columns,
                                         std::uint64_t seed,
                                         int operand,
                                         Stream stream,
                                         float deviation = 1.0F);

// Host numbers brought to the device. Waits for the stream.
[[nodiscard]] DeviceMatrix uploaded(std::span<const float> values,
                                    std::int64_t rows,
                                    std::int64_t columns,
                                    Stream stream);

void mark_unwritten(const DeviceMatrix& matrix, Stream stream);
void check_written(const DeviceMatrix& matrix,
                   std::string_view what,
                   Stream stream,
                   Comparison& comparison);

[[nodiscard]] std::vector<double> read_row(const DeviceMatrix& matrix,
                                           std::int64_t row,
                                           Stream stream);

// Columns first .. first + count of every row, [rows, count]; 16 bytes of each row are moved for
// eight 16-bit numbers, so that large matrices are checked by columns too.
[[nodiscard]] std::vector<double> read_columns(const DeviceMatrix& matrix,
                                               std::int64_t first,
                                               std::int64_t count,
                                               Stream stream);

// Up to `most` of 0 .. count - 1: the first, the last, and some between.
[[nodiscard]] std::vector<std::int64_t> sampled(std::int64_t count, std::int64_t most);

[[noreturn]] void throw_shape(const KernelCase& kernel, std::string_view wanted);

template <typename Family>
class OwnCase final : public Runnable {
 public:
  OwnCase(const KernelCase& kernel, const PrepareOptions& options) : family_(kernel) {
    const OwnedStream stream;
    const int count = operand_sets(family_.set_bytes(), options.rotated, memory_budget(options));
    for (int i = 0; i < count; ++i) {
      constexpr std::uint64_t kStride = 0x9E3779B97F4A7C15U;
      const std::uint64_t set = options.seed * kStride + static_cast<std::uint64_t>(i);
      sets_.push_back(family_.make_set(set, stream.get()));
    }
    // Kernels are loaded by their first launch, which must not happen while a graph is captured.
    family_.launch(sets_.front(), stream.get());
    stream.synchronize();
  }

  void launch(Stream stream, int copy) override {
    family_.launch(sets_[static_cast<std::size_t>(copy)], stream);
  }

  [[nodiscard]] int copies() const override {
    return static_cast<int>(sets_.size());
  }

  [[nodiscard]] Verification verify(Stream stream) override {
    Comparison comparison;
    family_.check(sets_.front(), stream, comparison);
    return comparison.result();
  }

  [[nodiscard]] std::string_view implementation() const override {
    return Family::kImplementation;
  }

 private:
  Family family_;
  std::vector<typename Family::Set> sets_;
};

template <typename Family>
[[nodiscard]] std::unique_ptr<Runnable> make_own(const KernelCase& kernel,
                                                 const PrepareOptions& options) {
  return std::make_unique<OwnCase<Family>>(kernel, options);
}

// Family<__nv_bfloat16> or Family<__half>.
template <template <typename> class Family>
[[nodiscard]] std::unique_ptr<Runnable> make_own_16(const KernelCase& kernel,
                                                    const PrepareOptions& options) {
  return kernel.precision == Precision::fp16 ? make_own<Family<__half>>(kernel, options)
                                             : make_own<Family<__nv_bfloat16>>(kernel, options);
}

// Storage format of T.
template <typename T>
inline constexpr Element kElementOf = Element::fp32;
template <>
inline constexpr Element kElementOf<__nv_bfloat16> = Element::bf16;
template <>
inline constexpr Element kElementOf<__half> = Element::fp16;

}  // namespace orrery::kernels
