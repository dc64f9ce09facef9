#include "kernels/device/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/device/element.hpp"
#include "kernels/device/fill.hpp"

namespace orrery::kernels {

void Comparison::add(std::string_view what, std::int64_t row, std::int64_t column, double found,
                     double expected, const reference::Tolerance& tolerance) {
  add_error(what, row, column, found, expected, reference::error_of(found, expected, tolerance));
}

void Comparison::add_error(std::string_view what, std::int64_t row, std::int64_t column,
                           double found, double expected, double error) {
  ++compared_;
  squares_ += expected * expected;
  if (compared_ == 1 || error > worst_) {
    worst_ = error;
    where_ = fmt::format("{}[{}, {}] = {}, {} expected", what, row, column, found, expected);
  }
}

void Comparison::fail(std::string sentence) {
  if (failure_.empty()) {
    failure_ = std::move(sentence);
  }
}

void Comparison::check_written(const void* output, Element element, std::int64_t count,
                               std::string_view name, Stream stream) {
  const int bytes = static_cast<int>(bytes_of(element, 1));
  const std::int64_t left = count_unwritten(output, bytes, count, stream);
  if (left > 0) {
    fail(fmt::format("{} of {} elements of {} were not written", left, count, name));
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

}  // namespace orrery::kernels
