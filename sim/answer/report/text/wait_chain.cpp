#include "sim/answer/report/text/wait_chain.hpp"

#include <algorithm>

#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::report {

namespace {

using schedule::Stream;
using step::Slice;
using step::StepCategory;

bool is_on(const Slice& slice, std::int64_t device) {
  return slice.task.device == device && step::occupies(slice.task);
}

// The tasks of a step by their ends.
class Causes {
 public:
  explicit Causes(const step::StepResult& step) : step_(step), by_end_(step.slices.size()) {
    for (std::size_t i = 0; i < by_end_.size(); ++i) {
      by_end_[i] = i;
    }
    std::sort(by_end_.begin(), by_end_.end(), [this](std::size_t a, std::size_t b) {
      return step_.slices[a].end < step_.slices[b].end;
    });
  }

  // Whose end or message let the slice begin; nothing where its device alone kept it.
  [[nodiscard]] std::optional<std::size_t> released_by(std::size_t slice) const {
    const Slice& waited = step_.slices[slice];
    const auto begin = std::lower_bound(
        by_end_.begin(), by_end_.end(), waited.start,
        [this](std::size_t i, SimTime time) { return step_.slices[i].end < time; });
    std::optional<std::size_t> own;     // computed on the same device until then
    std::optional<std::size_t> beside;  // communication of the device
    std::optional<std::size_t> other;   // what all devices wait for
    for (auto at = begin; at != by_end_.end() && step_.slices[*at].end == waited.start; ++at) {
      const Slice& ended = step_.slices[*at];
      if (ended.start >= waited.start || ended.task.device < 0) {
        continue;
      }
      if (is_on(ended, waited.task.device)) {
        own = *at;
      } else if (ended.task.device == waited.task.device) {
        beside = *at;
      } else {
        other = *at;
      }
    }
    if (own && step::occupies(waited.task)) {
      return std::nullopt;
    }
    for (const step::MessageRun& message : step_.operation_timeline->messages) {
      if (message.to == slice && message.end == waited.start) {
        return message.from;
      }
    }
    return beside ? beside : own ? own : other;
  }

 private:
  const step::StepResult& step_;
  std::vector<std::size_t> by_end_;
};

// Adds what of [begin, end) lies in the window.
void add(SimTime& sum, const TimeWindow& window, SimTime begin, SimTime end) {
  const SimTime from = std::max(begin, window.begin);
  const SimTime until = std::min(end, window.end);
  sum += std::max(until - from, SimTime{});
}

void add_task(const step::OperationTimeline& timeline, const Slice& slice, const step::TaskRun& run,
              const TimeWindow& window, step::CategoryTimes& sums) {
  const auto cell = [&sums](StepCategory category) -> SimTime& {
    return sums[static_cast<std::size_t>(category)];
  };
  if (window.begin <= slice.start && slice.end <= window.end) {
    for (std::size_t c = 0; c < sums.size(); ++c) {
      sums[c] += timeline.kinds[run.kind].by_category[c];
    }
    cell(StepCategory::exposed_data) += run.stretch;
    return;
  }
  for (const step::PlacedOperation& placed : step::place_operations(timeline, run)) {
    const SimTime begin = slice.start + placed.booked_from;
    const SimTime end = begin + placed.booked;
    add(cell(placed.category), window, begin, end);
    add(cell(StepCategory::exposed_expert), window, end, end + placed.slowed);
  }
}

}  // namespace

std::optional<Gap> gap_at(const step::StepResult& step, std::int64_t device, SimTime at) {
  Gap gap{{SimTime{}, step.step_time}, {}};
  for (std::size_t i = 0; i < step.slices.size(); ++i) {
    const Slice& slice = step.slices[i];
    if (!is_on(slice, device)) {
      continue;
    }
    if (slice.start <= at && at < slice.end) {
      return std::nullopt;
    }
    if (slice.end <= at) {
      gap.time.begin = std::max(gap.time.begin, slice.end);
    } else if (!gap.next || slice.start < gap.time.end) {
      gap.time.end = slice.start;
      gap.next = i;
    }
  }
  return gap;
}

std::optional<std::size_t> task_at(const step::StepResult& step, std::int64_t device, SimTime at) {
  for (std::size_t i = 0; i < step.slices.size(); ++i) {
    const Slice& slice = step.slices[i];
    if (is_on(slice, device) && slice.start <= at && at < slice.end) {
      return i;
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> chain_of_causes(const step::StepResult& step, std::size_t slice) {
  const Causes causes(step);
  std::vector<std::size_t> chain = {slice};
  while (const auto cause = causes.released_by(chain.back())) {
    chain.push_back(*cause);
  }
  return chain;
}

std::size_t last_task(const step::StepResult& step) {
  const auto last =
      std::max_element(step.slices.begin(), step.slices.end(), [](const Slice& a, const Slice& b) {
        return std::pair(a.end, a.start) < std::pair(b.end, b.start);
      });
  return static_cast<std::size_t>(last - step.slices.begin());
}

step::CategoryTimes time_within(const step::StepResult& step, const TimeWindow& window,
                                std::int64_t first, std::int64_t last) {
  step::CategoryTimes sums{};
  const step::OperationTimeline& timeline = *step.operation_timeline;
  for (std::size_t i = 0; i < step.slices.size(); ++i) {
    const Slice& slice = step.slices[i];
    if (step::occupies(slice.task) && first <= slice.task.device && slice.task.device <= last &&
        slice.start < window.end && window.begin < slice.end) {
      add_task(timeline, slice, timeline.runs[i], window, sums);
    }
  }
  for (const step::DeviceWait& wait : timeline.waits) {
    if (first <= wait.device && wait.device <= last) {
      add(sums[static_cast<std::size_t>(wait.category)], window, wait.start, wait.end);
    }
  }
  return sums;
}

}  // namespace orrery::report
