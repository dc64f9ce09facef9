#include "sim/run/run_timeline.hpp"

#include <array>
#include <cstddef>

#include "sim/base/check.hpp"

namespace orrery::run {

std::string_view to_string(RunActivity activity) {
  constexpr std::array<std::string_view, kRunActivityCount> kNames = {
      "training",      "lost work", "checkpoint", "evaluation",        "planned maintenance",
      "unitemised",    "detection", "diagnosis",  "waiting for nodes", "scheduling",
      "communicators", "load",      "warm-up",    "failure",           "discarded work",
      "rework"};
  return kNames[static_cast<std::size_t>(activity)];
}

void RunTimeline::mark_lost(SimTime lost, RunActivity kind, std::int32_t cause) {
  SimTime left = lost;
  for (std::size_t i = intervals_.size(); i > 0 && left > SimTime{}; --i) {
    RunInterval& interval = intervals_[i - 1];
    if (interval.kind != RunActivity::training) {
      continue;
    }
    const SimTime length = interval.end - interval.begin;
    if (length > left) {  // its first steps stay
      const RunInterval kept{interval.begin, interval.end - left, interval.kind, interval.cause};
      interval.begin = kept.end;
      interval.kind = kind;
      interval.undone_by = cause;
      intervals_.insert(intervals_.begin() + static_cast<std::ptrdiff_t>(i - 1), kept);
      return;
    }
    interval.kind = kind;
    interval.undone_by = cause;
    left -= length;
  }
  ORRERY_CHECK(left == SimTime{}, "{} ns of lost work were never trained", left.ns);
}

}  // namespace orrery::run
