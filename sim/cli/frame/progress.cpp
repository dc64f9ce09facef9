#include "sim/cli/frame/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/cli/frame/output.hpp"

namespace orrery::cli {

namespace {

constexpr std::chrono::milliseconds kPatience{500};
constexpr std::chrono::milliseconds kRefresh{100};
constexpr std::string_view kEraseLine = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine(std::string label, bool enabled, std::string unit)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      enabled_(enabled && is_terminal(STDERR_FILENO)),
      begin_(Clock::now()),
      next_(begin_ + kPatience) {}

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
  std::optional<Seconds> left;
  if (done > first_) {
    const std::chrono::duration<double> past = Clock::now() - begin_;
    left = seconds(past.count() * static_cast<double>(all - done) /
                   static_cast<double>(done - first_));
  }
  message_block(std::string(kEraseLine) + progress_text(label_, done, all, unit_, left));
}

void ProgressLine::update(std::int64_t done, std::int64_t all, std::string unit) {
  unit_ = std::move(unit);
  update(done, all);
}

std::string progress_text(const std::string& label, std::int64_t done, std::int64_t all,
                          const std::string& unit, std::optional<Seconds> left) {
  constexpr std::size_t kWidth = 30;
  const double share =
      all > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(all), 0.0, 1.0) : 0.0;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kWidth));
  return fmt::format("{} [{}{}] {:3.0f}%  {} / {} {}{}", label, std::string(filled, '='),
                     std::string(kWidth - filled, ' '), share * kPercent, format_integer(done),
                     format_integer(all), unit,
                     left ? fmt::format(", {} left", format_time(*left)) : "");
}

}  // namespace orrery::cli
