#include "kernels/own/own_case.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/device/status.hpp"
#include "sim/base/check.hpp"

namespace orrery::kernels {

namespace {

constexpr int kOperands = 16;  // of one set, at most

std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

void Comparison::add(std::string_view what,
                     std::int64_t row,
                     std::int64_t column,
                     double found,
                     double expected,
                     const reference::Tolerance& tolerance) {
  add_error(what, row, column, found, expected, reference::error_of(found, expected, tolerance));
}

void Comparison::add_error(std::string_view what,
                           std::int64_t row,
                           std::int64_t column,
                           double found,
                           double expected,
                           double error) {
  ++compared_;
  squares_ += expected * expected;
  if (compared_ == 1 || error > worst_) {
    worst_ = error;
    where_ = fmt::format("{}[{}, {}] = {}, {} expected", what, row, column, found, expected);
  }
}

void Comparison::add_row(std::string_view what,
                         std::int64_t row,
                         std::span<const double> found,
                         std::span<const double> expected,
                         const reference::Tolerance& tolerance) {
  ORRERY_CHECK(found.size() == expected.size(), "rows of {} have one length", what);
  for (std::size_t i = 0; i < found.size(); ++i) {
    add(what, row, static_cast<std::int64_t>(i), found[i], expected[i], tolerance);
  }
}

void Comparison::fail(std::string sentence) {
  if (failure_.empty()) {
    failure_ = std::move(sentence);
  }
}

Verification Comparison::result() const {
  const double count = static_cast<double>(std::max<std::int64_t>(compared_, 1));
  return {.passed = failure_.empty() && compared_ > 0 && worst_ <= 1.0,
          .worst_error = worst_,
          .scale = std::sqrt(squares_ / count),
          .compared = compared_,
          .where = failure_.empty() ? where_ : failure_};
}

std::int64_t matrix_bytes(Element element, std::int64_t rows, std::int64_t columns) {
  return aligned(bytes_of(element, rows * columns));
}

DeviceMatrix make_matrix(Element element, std::int64_t rows, std::int64_t columns) {
  return {.buffer = DeviceBuffer(matrix_bytes(element, rows, columns)),
          .element = element,
          .rows = rows,
          .columns = columns};
}

DeviceMatrix random_matrix(Element element,
                           std::int64_t rows,
                           std::int64_t columns,
                           std::uint64_t seed,
                           int operand,
                           Stream stream,
                           float deviation) {
  ORRERY_CHECK(operand < kOperands, "a set has at most {} operands", kOperands);
  DeviceMatrix matrix = make_matrix(element, rows, columns);
  const std::uint64_t own = seed * kOperands + static_cast<std::uint64_t>(operand);
  // The padding too: a kernel may read it.
  const std::int64_t bits = matrix.buffer.bytes() * 8;
  fill_normal(matrix.buffer.data(),
              element,
              bits / bits_of(element),
              {.seed = own, .deviation = deviation},
              stream);
  return matrix;
}

DeviceMatrix uploaded(std::span<const float> values,
                      std::int64_t rows,
                      std::int64_t columns,
                      Stream stream) {
  DeviceMatrix matrix = make_matrix(Element::fp32, rows, columns);
  copy_to_device(
      matrix.buffer.data(), values.data(), static_cast<std::int64_t>(values.size_bytes()), stream);
  return matrix;
}

void mark_unwritten(const DeviceMatrix& matrix, Stream stream) {
  fill_unwritten(matrix.buffer.data(), bytes_of(matrix.element, matrix.count()), stream);
}

void check_written(const DeviceMatrix& matrix,
                   std::string_view what,
                   Stream stream,
                   Comparison& comparison) {
  const int bytes = static_cast<int>(bytes_of(matrix.element, 1));
  const std::int64_t left = count_unwritten(matrix.buffer.data(), bytes, matrix.count(), stream);
  if (left > 0) {
    comparison.fail(
        fmt::format("{} of {} elements of {} were not written", left, matrix.count(), what));
  }
}

std::vector<double> read_row(const DeviceMatrix& matrix, std::int64_t row, Stream stream) {
  return widened(read_elements(
      matrix.buffer.data(), matrix.element, row * matrix.columns, matrix.columns, stream));
}

std::vector<double> read_columns(const DeviceMatrix& matrix,
                                 std::int64_t first,
                                 std::int64_t count,
                                 Stream stream) {
  const auto width = static_cast<std::size_t>(bytes_of(matrix.element, count));
  const auto pitch = static_cast<std::size_t>(bytes_of(matrix.element, matrix.columns));
  const auto rows = static_cast<std::size_t>(matrix.rows);
  const DeviceBuffer packed(static_cast<std::int64_t>(width * rows));
  check(cudaMemcpy2DAsync(packed.data(),
                          width,
                          matrix.as<unsigned char>() + bytes_of(matrix.element, first),
                          pitch,
                          width,
                          rows,
                          cudaMemcpyDeviceToDevice,
                          stream),
        "gather columns");
  return widened(read_elements(packed.data(), matrix.element, 0, matrix.rows * count, stream));
}

std::vector<std::int64_t> sampled(std::int64_t count, std::int64_t most) {
  std::vector<std::int64_t> places;
  const std::int64_t taken = std::min(count, most);
  for (std::int64_t i = 0; i < taken; ++i) {
    places.push_back(taken == 1 ? 0 : i * (count - 1) / (taken - 1));
  }
  return places;
}

void throw_shape(const KernelCase& kernel, std::string_view wanted) {
  throw Unsupported(fmt::format("the own kernel of {} wants {}: {}",
                                to_string(kernel.operation),
                                wanted,
                                to_text(kernel)),
                    "shape");
}

}  // namespace orrery::kernels
