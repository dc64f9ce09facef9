#include "calibrate/samples/condition.hpp"

#include <fmt/core.h>

#include <charconv>

namespace orrery::calibrate {

namespace {

constexpr std::string_view kEnqueued = "enqueued";
constexpr std::string_view kGraph = "graph calls=";
constexpr std::string_view kFewer = "multiprocessors removed=";
constexpr std::string_view kStreaming = "multiprocessors streaming=";
constexpr std::string_view kConcurrent = "concurrent groups=";
constexpr std::string_view kBeside = "beside ";

std::optional<Condition> counted(Condition::Kind kind, std::string_view digits) {
  Condition condition{.kind = kind};
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, condition.count);
  return error == std::errc() && stop == end && condition.count > 0 ? std::optional(condition)
                                                                    : std::nullopt;
}

}  // namespace

std::string to_text(const Condition& condition) {
  switch (condition.kind) {
    case Condition::Kind::enqueued:
      return std::string(kEnqueued);
    case Condition::Kind::graph:
      return fmt::format("{}{}", kGraph, condition.count);
    case Condition::Kind::fewer_multiprocessors:
      return fmt::format("{}{}", kFewer, condition.count);
    case Condition::Kind::streaming:
      return fmt::format("{}{}", kStreaming, condition.count);
    case Condition::Kind::concurrent:
      return fmt::format("{}{}", kConcurrent, condition.count);
    case Condition::Kind::beside:
      return fmt::format("{}{}", kBeside, kernels::to_text(condition.other.value()));
    case Condition::Kind::alone:
      break;
  }
  return {};
}

std::optional<Condition> parse_condition(std::string_view text) {
  if (text.empty()) {
    return Condition{};
  }
  if (text == kEnqueued) {
    return Condition{.kind = Condition::Kind::enqueued};
  }
  if (text.starts_with(kGraph)) {
    return counted(Condition::Kind::graph, text.substr(kGraph.size()));
  }
  if (text.starts_with(kFewer)) {
    return counted(Condition::Kind::fewer_multiprocessors, text.substr(kFewer.size()));
  }
  if (text.starts_with(kStreaming)) {
    return counted(Condition::Kind::streaming, text.substr(kStreaming.size()));
  }
  if (text.starts_with(kConcurrent)) {
    return counted(Condition::Kind::concurrent, text.substr(kConcurrent.size()));
  }
  if (text.starts_with(kBeside)) {
    kernels::ParsedCase other = kernels::parse_case(text.substr(kBeside.size()));
    if (other.kernel) {
      return Condition{.kind = Condition::Kind::beside, .count = 0, .other = *other.kernel};
    }
  }
  return std::nullopt;
}

}  // namespace orrery::calibrate
