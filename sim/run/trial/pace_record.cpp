#include "sim/run/trial/pace_record.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace orrery::run {

void PaceRecord::reset(const Pace& pace) {
  segments_.assign(1, {0, pace});
}

void PaceRecord::change(std::int64_t step, const Pace& pace) {
  Segment& last = segments_.back();
  ORRERY_CHECK(
      step >= last.first, "a pace from step {} on, after one from step {}", step, last.first);
  if (last.pace == pace) {
    return;
  }
  if (last.first == step) {
    last.pace = pace;
  } else {
    segments_.push_back({step, pace});
  }
}

UndoneWork PaceRecord::undo(std::int64_t from, std::int64_t done) {
  ORRERY_CHECK(0 <= from && from <= done, "going back from step {} to step {}", done, from);
  UndoneWork undone;
  std::int64_t end = done;
  while (true) {
    const Segment& last = segments_.back();
    const std::int64_t begin = std::max(from, last.first);
    const std::int64_t wall = (end - begin) * last.pace.step.ns;
    undone.wall += SimTime{wall};
    undone.gpu_ns += static_cast<Int128>(wall) * last.pace.gpus;
    if (last.first <= from) {
      return undone;
    }
    end = last.first;
    segments_.pop_back();
  }
}

void PaceRecord::book(std::int64_t done, RunLedger& ledger) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::int64_t end = i + 1 < segments_.size() ? segments_[i + 1].first : done;
    const Pace& pace = segments_[i].pace;
    const Int128 steps = end - segments_[i].first;
    const Int128 consumed = static_cast<Int128>(pace.step.ns) * pace.gpus;
    const Int128 productive = std::min(pace.planned, consumed);
    ledger.book(RunCategory::productive, steps * productive);
    ledger.book(RunCategory::degraded, steps * (consumed - productive));
  }
}

}  // namespace orrery::run
