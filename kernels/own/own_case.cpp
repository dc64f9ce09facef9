#include "kernels/own/own_case.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/device/fill.hpp"
#include "kernels/device/runtime.hpp"
#include "sim/base/check.hpp"

namespace orrery::kernels {

namespace {

constexpr int kOperands = 16;  // of one set, at most

std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

std::int64_t matrix_bytes(Element element, std::int64_t rows, std::int64_t columns) {
  return aligned(bytes_of(element, rows * columns));
}

}  // namespace

DeviceMatrix::DeviceMatrix(Element of, std::int64_t height, std::int64_t width)
    : buffer(matrix_bytes(of, height, width)), element(of), rows(height), columns(width) {}

std::vector<double> OwnCase::Check::row(Operand operand, std::int64_t index) const {
  return run(operand, index * set[operand].columns, set[operand].columns);
}

std::vector<double> OwnCase::Check::columns(Operand operand, std::int64_t first,
                                            std::int64_t count) const {
  const DeviceMatrix& matrix = set[operand];
  return widened(read_rows(matrix.buffer.data(), matrix.element, first, matrix.columns, count,
                           matrix.rows, stream));
}

std::vector<double> OwnCase::Check::run(Operand operand, std::int64_t first,
                                        std::int64_t count) const {
  const DeviceMatrix& matrix = set[operand];
  return widened(read_elements(matrix.buffer.data(), matrix.element, first, count, stream));
}

void OwnCase::Check::mark(Operand operand) const {
  const DeviceMatrix& matrix = set[operand];
  fill_unwritten(matrix.buffer.data(), bytes_of(matrix.element, matrix.count()), stream);
}

void OwnCase::Check::call() {
  std::vector<Operand> outputs;
  for (std::size_t i = 0; i < owner_.described_.size(); ++i) {
    if (!owner_.described_[i].name.empty()) {
      outputs.push_back(static_cast<Operand>(i));
      mark(outputs.back());
    }
  }
  owner_.enqueue(set, stream);
  for (const Operand operand : outputs) {
    written(operand, owner_.described_[static_cast<std::size_t>(operand)].name);
  }
}

void OwnCase::Check::written(Operand operand, std::string_view name) {
  const DeviceMatrix& matrix = set[operand];
  comparison.check_written(matrix.buffer.data(), matrix.element, matrix.count(), name, stream);
}

void OwnCase::Check::expect(Operand operand, std::int64_t row, std::int64_t column, double found,
                            double expected, const reference::Tolerance& tolerance) {
  comparison.add(owner_.described_[static_cast<std::size_t>(operand)].name, row, column, found,
                 expected, tolerance);
}

void OwnCase::Check::expect_row(Operand operand, std::int64_t index,
                                std::span<const double> expected,
                                const reference::Tolerance& tolerance) {
  const std::vector<double> found = row(operand, index);
  ORRERY_CHECK(found.size() == expected.size(), "rows have one length");
  for (std::size_t i = 0; i < found.size(); ++i) {
    expect(operand, index, static_cast<std::int64_t>(i), found[i], expected[i], tolerance);
  }
}

OwnCase::Operand OwnCase::describe(const Description& description) {
  described_.push_back(description);
  return static_cast<Operand>(described_.size()) - 1;
}

OwnCase::Operand OwnCase::random(Element element, std::int64_t rows, std::int64_t columns,
                                 float deviation) {
  return describe({.element = element, .rows = rows, .columns = columns, .deviation = deviation});
}

OwnCase::Operand OwnCase::room(Element element, std::int64_t rows, std::int64_t columns) {
  return describe({.element = element, .rows = rows, .columns = columns});
}

OwnCase::Operand OwnCase::output(std::string_view name, Element element, std::int64_t rows,
                                 std::int64_t columns) {
  return describe({.element = element, .rows = rows, .columns = columns, .name = name});
}

void OwnCase::make_output(std::string_view name, Operand operand) {
  described_[static_cast<std::size_t>(operand)].name = name;
}

void OwnCase::allocate(const PrepareOptions& options) {
  constexpr std::uint64_t kStride = 0x9E3779B97F4A7C15U;
  std::int64_t bytes = 0;
  for (const Description& operand : described_) {
    bytes += matrix_bytes(operand.element, operand.rows, operand.columns);
  }
  const OwnedStream stream;
  const int count = operand_sets(bytes, options.rotated, memory_budget(options));
  for (int i = 0; i < count; ++i) {
    Set set;
    set.seed = options.seed * kStride + static_cast<std::uint64_t>(i);
    std::uint64_t normal = set.seed * kOperands;
    for (const Description& operand : described_) {
      const DeviceMatrix& matrix =
          set.operands.emplace_back(operand.element, operand.rows, operand.columns);
      if (operand.deviation) {
        // The padding too: a kernel may read it.
        fill_normal(matrix.buffer.data(), operand.element,
                    matrix.buffer.bytes() * 8 / bits_of(operand.element),
                    {.seed = normal++, .deviation = *operand.deviation}, stream.get());
      }
    }
    fill(set, stream.get());
    sets_.push_back(std::move(set));
  }
  enqueue(sets_.front(), stream.get());
  stream.synchronize();
}

Verification OwnCase::verify(Stream stream) {
  Check check(*this, sets_.front(), stream);
  compare(check);
  return check.comparison.result();
}

std::vector<std::int64_t> random_indices(std::int64_t count, std::int64_t bound,
                                         std::uint64_t seed) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto limit = static_cast<std::uint32_t>(std::min(bound, kMost));
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) {
    indices.push_back(integer_at(seed, static_cast<std::uint64_t>(i), limit));
  }
  return indices;
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
  throw Unsupported(fmt::format("the own kernel of {} wants {}: {}", to_string(kernel.operation),
                                wanted, to_text(kernel)),
                    "shape");
}

}  // namespace orrery::kernels
