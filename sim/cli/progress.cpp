#include "sim/cli/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sim/base/format.hpp"
#include "sim/cli/output.hpp"

namespace orrery::cli {

namespace {

constexpr std::chrono::milliseconds kPatience{500};
constexpr std::chrono::milliseconds kRefresh{100};
constexpr std::string_view kEraseLine = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine(std::string label, bool enabled)
    : label_(std::move(label)),
      enabled_(enabled && is_terminal(STDERR_FILENO)),
      next_(Clock::now() + kPatience) {}

ProgressLine::~ProgressLine() {
  if (shown_) {
    message_block(kEraseLine);
  }
}

void ProgressLine::update(std::int64_t done, std::int64_t all) {
  if (!enabled_ || Clock::now() < next_) {
    return;
  }
  next_ = Clock::now() + kRefresh;
  shown_ = true;
  message_block(std::string(kEraseLine) + progress_text(label_, done, all));
}

std::string progress_text(const std::string& label, std::int64_t done, std::int64_t all) {
  constexpr std::size_t kWidth = 30;
  const double share =
      all > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(all), 0.0, 1.0) : 0.0;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kWidth));
  constexpr double kPercent = 100.0;
  return fmt::format("{} [{}{}] {:3.0f}%  {} / {} trials",
                     label,
                     std::string(filled, '='),
                     std::string(kWidth - filled, ' '),
                     share * kPercent,
                     format_integer(done),
                     format_integer(all));
}

}  // namespace orrery::cli
