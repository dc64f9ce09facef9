#include "sim/step/simulate/operations/operation_timeline.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "sim/step/simulate/operations/operation_names.hpp"

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

Seconds whole_of(const SequenceEntry& entry) { return entry.booked + entry.hidden; }

// Calls use(entry, from, until, waited_from) for the operations of an all-to-all: they follow each
// other from its start to its end, and compute waits from `waited_from` on.
template <typename Use>
void for_each_exchange(const Sequence& sequence, const PartTime& time, const Use& use) {
  Seconds sum;
  for (const SequenceEntry& entry : sequence) {
    sum += whole_of(entry);
  }
  const Seconds node = to_seconds(time.end - time.start);
  const SimTime waited_from = time.end - time.exposed;
  Seconds so_far;
  SimTime from = time.start;
  for (const SequenceEntry& entry : sequence) {
    so_far += whole_of(entry);
    const double share = sum > Seconds{} ? so_far / sum : 1.0;
    const SimTime until = std::min(time.start + to_sim_time(node * share), time.end);
    use(entry, from, until, std::clamp(waited_from, from, until));
    from = until;
  }
}

// What the all-to-all beside a part adds to one of its operations.
Seconds slowed_of(const SequenceEntry& entry, Seconds part, const PartTime& time) {
  return part > Seconds{} ? to_seconds(time.slowed) * (entry.booked / part) : Seconds{};
}

Seconds booked_of(const Sequence& sequence) {
  Seconds sum;
  for (const SequenceEntry& entry : sequence) {
    sum += entry.booked;
  }
  return sum;
}

// Lays the parts of a task out one after the other, in whole nanoseconds.
class Placing {
 public:
  Placing(const OperationTimeline& timeline, const TaskKindOperations& kind)
      : timeline_(timeline), kind_(kind) {
    const auto sums = booked_by_category(timeline, kind);
    categories_.reserve(kStepCategories);
    for (std::size_t c = 0; c < kStepCategories; ++c) {
      categories_.emplace_back(sums[c], kind.by_category[c]);
    }
  }

  std::vector<PlacedOperation> run() {
    for (const TaskPart& part : kind_.parts) {
      if (part.time && part.time->exchange) {
        add_exchange(part);
      } else {
        add_part(part);
      }
    }
    place_exchanges();
    return std::move(placed_);
  }

 private:
  // A moment on the clock of the streams, and where it lies in the task.
  struct Moment {
    SimTime clock;
    SimTime place;
  };

  // An all-to-all on the clock of the streams, until all moments are known.
  struct Exchange {
    std::size_t placed = 0;
    SimTime start;
    SimTime end;
  };

  void add_part(const TaskPart& part);
  void add_exchange(const TaskPart& part);
  void place_exchanges();
  [[nodiscard]] SimTime place_of(SimTime clock) const;

  SimTime take(StepCategory category, Seconds time) {
    return categories_[category_index(category)].take(time);
  }

  const OperationTimeline& timeline_;
  const TaskKindOperations& kind_;
  std::vector<Rounding> categories_;
  std::vector<PlacedOperation> placed_;
  std::vector<Moment> moments_;  // ascending
  std::vector<Exchange> exchanges_;
  SimTime cursor_;
};

void Placing::add_part(const TaskPart& part) {
  const Sequence& sequence = timeline_.sequences[part.sequence];
  const Seconds all = part.time ? booked_of(sequence) : Seconds{};
  if (part.time) {
    moments_.push_back({part.time->start, cursor_});
  }
  for (const SequenceEntry& entry : sequence) {
    const SimTime booked = take(entry.category, entry.booked);
    const SimTime slowed =
        part.time ? take(StepCategory::exposed_expert, slowed_of(entry, all, *part.time))
                  : SimTime{};
    // What a task as a whole hides or slows changes the share that is waited for; slower wires
    // lengthen the whole.
    const double factor = std::max(categories_[category_index(entry.category)].factor(), 1.0);
    const bool wire = timeline_.operations[entry.operation].kind == OperationKind::collective;
    const SimTime hidden =
        wire ? std::max(to_sim_time(whole_of(entry) * factor) - booked, SimTime{}) : SimTime{};
    const SimTime until = cursor_ + booked + slowed;
    if (until > cursor_ || hidden > SimTime{}) {
      placed_.push_back({.operation = entry.operation,
                         .layer = part.layer,
                         .category = entry.category,
                         .start = entry.hidden_first ? cursor_ - hidden : cursor_,
                         .end = entry.hidden_first ? until : until + hidden,
                         .booked_from = cursor_,
                         .booked = booked,
                         .slowed = slowed,
                         .pass = part.pass});
      cursor_ = until;
    }
  }
  if (part.time) {
    moments_.push_back({part.time->end, cursor_});
  }
}

void Placing::add_exchange(const TaskPart& part) {
  const PartTime& time = *part.time;
  if (time.exposed > SimTime{}) {
    moments_.push_back({time.end - time.exposed, cursor_});
  }
  for_each_exchange(timeline_.sequences[part.sequence], time,
                    [&](const SequenceEntry& entry, SimTime from, SimTime until, SimTime waits) {
                      if (until <= from) {
                        return;
                      }
                      const SimTime booked =
                          take(StepCategory::exposed_expert, to_seconds(until - waits));
                      exchanges_.push_back({placed_.size(), from, until});
                      placed_.push_back({.operation = entry.operation,
                                         .layer = part.layer,
                                         .category = StepCategory::exposed_expert,
                                         .booked_from = cursor_,
                                         .booked = booked,
                                         .pass = part.pass});
                      cursor_ += booked;
                    });
  if (time.exposed > SimTime{}) {
    moments_.push_back({time.end, cursor_});
  }
}

SimTime Placing::place_of(SimTime clock) const {
  const auto after = std::upper_bound(moments_.begin(), moments_.end(), clock,
                                      [](SimTime at, const Moment& one) { return at < one.clock; });
  if (after == moments_.begin()) {
    return clock;
  }
  const Moment& before = *std::prev(after);
  if (after == moments_.end()) {
    return before.place + (clock - before.clock);
  }
  const double share = to_seconds(clock - before.clock) / to_seconds(after->clock - before.clock);
  return before.place + to_sim_time(to_seconds(after->place - before.place) * share);
}

// As long as they are, up to where compute waits for them or goes on without them.
void Placing::place_exchanges() {
  for (const Exchange& exchange : exchanges_) {
    PlacedOperation& placed = placed_[exchange.placed];
    const bool waits = placed.booked > SimTime{};
    placed.end = waits ? placed.booked_from + placed.booked : place_of(exchange.end);
    placed.start = std::max(place_of(exchange.start), placed.end - (exchange.end - exchange.start));
    placed.start = waits ? std::min(placed.start, placed.booked_from) : placed.start;
  }
}

}  // namespace

std::array<Seconds, kStepCategories> booked_by_category(const OperationTimeline& timeline,
                                                        const TaskKindOperations& kind) {
  std::array<Seconds, kStepCategories> sums{};
  for (const TaskPart& part : kind.parts) {
    const Sequence& sequence = timeline.sequences[part.sequence];
    Seconds& expert = sums[category_index(StepCategory::exposed_expert)];
    if (part.time && part.time->exchange) {
      for_each_exchange(
          sequence, *part.time,
          [&expert](const SequenceEntry&, SimTime, SimTime until, SimTime waited_from) {
            expert += to_seconds(until - waited_from);
          });
      continue;
    }
    for (const SequenceEntry& entry : sequence) {
      sums[category_index(entry.category)] += entry.booked;
    }
    expert += part.time ? to_seconds(part.time->slowed) : Seconds{};
  }
  return sums;
}

std::vector<PlacedOperation> place_operations(const OperationTimeline& timeline,
                                              const TaskRun& run) {
  const TaskKindOperations& kind = timeline.kinds[run.kind];
  std::vector<PlacedOperation> placed = Placing(timeline, kind).run();
  if (run.stretch > SimTime{}) {
    placed.push_back({.operation = timeline.stretched,
                      .category = StepCategory::exposed_data,
                      .start = kind.total,
                      .end = kind.total + run.stretch,
                      .booked_from = kind.total,
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
