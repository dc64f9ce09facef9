#include "sim/step/operation_timeline.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace orrery::step {

namespace {

// Whole nanoseconds of a category: the running sum is rounded, so that the parts add up.
class Rounding {
 public:
  Rounding(Seconds sum, SimTime target) : sum_(sum), target_(target) {}

  [[nodiscard]] double factor() const {
    return sum_ > Seconds{} ? in_seconds(to_seconds(target_)) / in_seconds(sum_) : 1.0;
  }

  SimTime take(Seconds time) {
    if (sum_ <= Seconds{}) {
      return {};
    }
    so_far_ += time;
    const double share = so_far_ / sum_;
    const SimTime end{std::llround(share * static_cast<double>(target_.ns))};
    const SimTime taken = end - given_;
    given_ = end;
    return taken;
  }

 private:
  Seconds sum_;
  SimTime target_;
  Seconds so_far_;
  SimTime given_;
};

std::vector<Rounding> roundings(const OperationTimeline& timeline, const TaskKindOperations& kind) {
  std::array<Seconds, kStepCategories> sums{};
  for (const TaskPart& part : kind.parts) {
    for (const SequenceEntry& entry : timeline.sequences[part.sequence]) {
      sums[static_cast<std::size_t>(entry.category)] += entry.booked;
    }
  }
  std::vector<Rounding> all;
  all.reserve(kStepCategories);
  for (std::size_t c = 0; c < kStepCategories; ++c) {
    all.emplace_back(sums[c], kind.by_category[c]);
  }
  return all;
}

}  // namespace

std::vector<PlacedOperation> place_operations(const OperationTimeline& timeline,
                                              const TaskRun& run) {
  const TaskKindOperations& kind = timeline.kinds[run.kind];
  std::vector<Rounding> categories = roundings(timeline, kind);
  std::vector<PlacedOperation> placed;
  SimTime cursor;
  for (const TaskPart& part : kind.parts) {
    for (const SequenceEntry& entry : timeline.sequences[part.sequence]) {
      Rounding& category = categories[static_cast<std::size_t>(entry.category)];
      const SimTime booked = category.take(entry.booked);
      // What a task as a whole hides or slows changes the share that is waited for; slower wires
      // lengthen the whole.
      const Seconds whole = (entry.booked + entry.hidden) * std::max(category.factor(), 1.0);
      const bool wire = timeline.operations[entry.operation].kind == OperationKind::collective;
      const SimTime hidden = wire ? std::max(to_sim_time(whole) - booked, SimTime{}) : SimTime{};
      if (booked > SimTime{} || hidden > SimTime{}) {
        placed.push_back({.operation = entry.operation,
                          .layer = part.layer,
                          .category = entry.category,
                          .start = entry.hidden_first ? cursor - hidden : cursor,
                          .end = entry.hidden_first ? cursor + booked : cursor + booked + hidden,
                          .booked_from = cursor,
                          .booked = booked});
        cursor += booked;
      }
    }
  }
  if (run.stretch > SimTime{}) {
    placed.push_back({.operation = timeline.stretched,
                      .category = StepCategory::exposed_data,
                      .start = cursor,
                      .end = cursor + run.stretch,
                      .booked_from = cursor,
                      .booked = run.stretch});
  }
  return placed;
}

std::string layer_name(std::int32_t layer) {
  switch (layer) {
    case kNoLayer:
      return {};
    case kEmbeddingLayer:
      return "embedding";
    case kHeadLayer:
      return "head";
    default:
      return fmt::format("layer {}", layer);
  }
}

std::string full_name(const OperationTimeline& timeline, const PlacedOperation& placed) {
  const std::string& name = timeline.operations[placed.operation].name;
  return placed.layer == kNoLayer ? name : fmt::format("{} · {}", layer_name(placed.layer), name);
}

}  // namespace orrery::step
