#include "sim/answer/trace/trace_event.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace orrery::trace {

namespace {

constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;
constexpr std::int64_t kLongest = std::int64_t{1} << 61U;

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "12.34e5" and the like: rounded once.
std::optional<std::int64_t> by_floating_point(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  value *= static_cast<double>(kNanosecondsPerMicrosecond);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(std::abs(value) < static_cast<double>(kLongest))) {
    return std::nullopt;
  }
  return std::llround(value);
}

}  // namespace

std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds) {
  const bool negative = microseconds.starts_with('-');
  const std::string_view digits = microseconds.substr(negative ? 1 : 0);
  const std::size_t point = digits.find('.');
  const std::string_view whole = digits.substr(0, point);
  const std::string_view rest = point == std::string_view::npos ? "" : digits.substr(point + 1);
  constexpr std::size_t kDecimals = 3;
  if (!is_digits(whole) || (!rest.empty() && !is_digits(rest)) || rest.size() > kDecimals) {
    return by_floating_point(microseconds);
  }
  std::int64_t us = 0;
  const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), us);
  if (parsed.ec != std::errc() || us > kLongest / kNanosecondsPerMicrosecond) {
    return std::nullopt;
  }
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < kDecimals; ++i) {
    constexpr std::int64_t kTen = 10;
    ns = kTen * ns + (i < rest.size() ? rest[i] - '0' : 0);
  }
  const std::int64_t sum = us * kNanosecondsPerMicrosecond + ns;
  return negative ? -sum : sum;
}

void TraceEvent::clear() {
  phase = 0;
  for (std::string* text : {&name, &category, &process, &thread, &id, &argument_name, &collective,
                            &group, &group_description, &group_ranks}) {
    text->clear();
  }
  for (std::optional<std::int64_t>* number : {&time, &duration, &argument_order, &correlation,
                                              &device, &stream, &group_size, &external_id}) {
    number->reset();
  }
  numbers.clear();
  operands = {};
}

}  // namespace orrery::trace
