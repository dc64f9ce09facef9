#include "sim/run/run_timeline.hpp"

#include <array>

#include "sim/base/check.hpp"

namespace orrery::run {

std::string_view to_string(RunActivity activity) {
  constexpr std::array<std::string_view, kRunActivityCount> kNames = {"training",
                                                                      "lost training",
                                                                      "checkpoint",
                                                                      "evaluation",
                                                                      "planned maintenance",
                                                                      "unitemised",
                                                                      "detection",
                                                                      "diagnosis",
                                                                      "waiting for capacity",
                                                                      "scheduling",
                                                                      "communicator init",
                                                                      "load",
                                                                      "warm-up",
                                                                      "failure"};
  return kNames[static_cast<std::size_t>(activity)];
}

void RunTimeline::mark_lost(SimTime lost) {
  SimTime left = lost;
  for (std::size_t i = intervals_.size(); i > 0 && left > SimTime{}; --i) {
    RunInterval& interval = intervals_[i - 1];
    if (interval.kind != RunActivity::training) {
      continue;
    }
    // Checkpoints capture the state at the end of a training interval, so none is lost in part.
    const SimTime length = interval.end - interval.begin;
    ORRERY_CHECK(length <= left,
                 "{} ns of lost work end inside a training interval of {} ns",
                 lost.ns,
                 length.ns);
    interval.kind = RunActivity::lost_training;
    left -= length;
  }
  ORRERY_CHECK(left == SimTime{}, "{} ns of lost work were never trained", left.ns);
}

}  // namespace orrery::run
