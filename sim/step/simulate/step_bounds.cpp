#include "sim/step/simulate/step_bounds.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "sim/step/simulate/shared_links/share_links.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"
#include "sim/step/simulate/stages/speed_spread.hpp"
#include "sim/step/simulate/step_structure.hpp"

namespace orrery::step {

namespace {

using schedule::GradientReduction;
using schedule::P2pMode;
using schedule::ParameterGather;
using schedule::ScheduleKind;

// What follows from where the stages lie and how the passes are cut.
struct ScheduleShape {
  bool loop = false;      // stage g on device g mod p
  bool fills = false;     // the first task of device d is behind chunk 0 of the devices before it
  bool drains = false;    // the last one is ahead of them
  bool combined = false;  // passes run together and hide what they wait for
};

ScheduleShape shape_of(const StepInput& input, bool combines) {
  const schedule::ScheduleTraits& traits = schedule::traits_of(input.spec.schedule);
  return {.loop = traits.placement == layout::StagePlacement::loop,
          .fills = traits.fills,
          .drains = traits.drains,
          .combined = traits.combines && combines};
}

// A combined step hides all-to-all, launches and copies to the host, and books its own jitter.
Seconds certain(const Parts& parts, const ScheduleShape& shape) {
  Seconds sum = parts.total();
  if (shape.combined) {
    for (const StepCategory hidden : {StepCategory::exposed_expert, StepCategory::launch_gap,
                                      StepCategory::offload, StepCategory::idle}) {
      sum -= parts.by_category[static_cast<std::size_t>(hidden)];
    }
  }
  return sum;
}

struct ChunkTimes {
  Seconds forward;
  Seconds backward;
  Seconds reduce;
  Seconds gather;
  Seconds gather_again;
  Seconds reduce_behind;  // its own reductions that its last backward cannot hide
};

struct DeviceTimes {
  std::vector<ChunkTimes> chunks;
  Seconds passes;  // of one micro-batch, all chunks
  Seconds scaled;  // of passes: what a slow GPU takes longer for
  Seconds reduce;  // of all buckets once
  Seconds gather;
  Seconds gather_again;
};

ChunkTimes chunk_times(const StageCosts& stages, const ChunkCosts& chunk,
                       const ScheduleShape& shape) {
  ChunkTimes times;
  for (const std::uint32_t index : chunk.buckets) {
    const BucketCosts& bucket = stages.buckets[index];
    times.forward += certain(bucket.forward, shape);
    times.backward += certain(bucket.backward, shape);
    times.reduce += bucket.gradient_reduce.total();
    times.gather += bucket.parameter_gather.total();
    times.gather_again += bucket.parameter_gather_again.total();
  }
  // The last bucket runs backward first: from its end on the reductions follow one another; that of
  // the first bucket waits for the whole backward.
  const BucketCosts& first = stages.buckets[chunk.buckets.front()];
  const Seconds rest =
      times.backward - certain(stages.buckets[chunk.buckets.back()].backward, shape);
  times.reduce_behind = std::max(first.gradient_reduce.total(), times.reduce - rest);
  return times;
}

// Categories that take as long as the slowest GPU (round_parts).
Seconds scaled_by_speed(const Parts& parts) {
  Seconds sum;
  for (const StepCategory scaled :
       {StepCategory::compute, StepCategory::recompute, StepCategory::optimizer}) {
    sum += parts.by_category[static_cast<std::size_t>(scaled)];
  }
  return sum;
}

class Bound {
 public:
  Bound(const StepInput& input, const cost::CostModel& costs, const StageCosts& stages)
      : stages_(stages),
        shape_(shape_of(input, stages.combined.active)),
        comm_(data_parallel_comm(input, costs)),
        p2p_(p2p_mode(input, costs)),
        micro_batches_(micro_batches_per_chunk(input)) {
    for (const DeviceCosts& device : stages.devices) {
      DeviceTimes times;
      for (const ChunkCosts& chunk : device.chunks) {
        times.chunks.push_back(chunk_times(stages, chunk, shape_));
        const ChunkTimes& last = times.chunks.back();
        times.passes += last.forward + last.backward;
        for (const std::uint32_t bucket : chunk.buckets) {
          times.scaled += scaled_by_speed(stages.buckets[bucket].forward) +
                          scaled_by_speed(stages.buckets[bucket].backward);
        }
        times.reduce += last.reduce;
        times.gather += last.gather;
        times.gather_again += last.gather_again;
      }
      devices_.push_back(std::move(times));
    }
  }

  [[nodiscard]] Seconds least() const {
    Seconds fill;
    Seconds drain;
    Seconds longest;
    Seconds update;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const Seconds begin = begin_of(d, fill);
      const Seconds end = begin + busy(d);
      longest = std::max({longest, end + tail(d), stream(d)});
      if (shape_.drains) {
        longest = std::max(longest, end + drain + tail(0));
      }
      update = std::max(update, stages_.devices[d].optimizer.total());
      if (shape_.fills) {
        fill += devices_[d].chunks.front().forward + hop(stages_.send_forward[d]);
      }
      // The gradient of device d + 1 comes back over the hop that leaves it.
      if (shape_.drains && d + 1 < devices_.size()) {
        drain += devices_[d].chunks.front().backward + hop(stages_.send_backward[d + 1]);
      }
    }
    return longest + update;
  }

  // With the slowest GPU, `factor` times as slow, on the device where it costs least.
  [[nodiscard]] Seconds least_with(double factor) const {
    std::optional<Seconds> least;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const Parts& optimizer = stages_.devices[d].optimizer;
      const Seconds slower = devices_[d].scaled * micro_batches_ + scaled_by_speed(optimizer);
      // Reductions beside a slower backward may hide better.
      const Seconds behind = comm_.overlap_gradients ? Seconds{} : tail(d);
      const Seconds all =
          begin_of(d, {}) + busy(d) + behind + optimizer.total() + slower * (factor - 1.0);
      least = std::min(least.value_or(all), all);
    }
    return least.value_or(Seconds{});
  }

 private:
  [[nodiscard]] Seconds hop(const Parts& message) const {
    return p2p_ == P2pMode::none ? Seconds{} : message.total();
  }

  [[nodiscard]] bool gathers_first() const {
    return comm_.parameters == ParameterGather::per_step && !comm_.overlap_parameters;
  }

  [[nodiscard]] Seconds begin_of(std::size_t device, Seconds fill) const {
    if (!gathers_first()) {
      return fill;
    }
    return std::max(devices_[device].gather,
                    shape_.fills ? devices_.front().gather + fill : Seconds{});
  }

  // Passes, and what blocks the device between them.
  [[nodiscard]] Seconds busy(std::size_t device) const {
    const DeviceTimes& times = devices_[device];
    Seconds sum = times.passes * micro_batches_;
    if (comm_.gradients == GradientReduction::per_micro_batch && !comm_.overlap_gradients &&
        !shape_.combined) {
      // The last reduction follows the last pass: it is counted in the tail.
      sum += times.reduce * (micro_batches_ - 1.0);
    }
    return sum + blocked(device);
  }

  // Messages that the device itself copies or waits for, beside those of fill and drain.
  [[nodiscard]] Seconds blocked(std::size_t device) const {
    if (!shape_.loop || devices_.size() < 2 || devices_[device].chunks.size() > 1) {
      return {};
    }
    const bool first = device == 0;
    const bool last = device + 1 == devices_.size();
    Seconds sent;
    Seconds received;
    if (!last) {
      sent += stages_.send_forward[device].total() * micro_batches_;
      received += stages_.send_backward[device + 1].total() * micro_batches_;
    }
    if (!first) {
      // The first to arrive is part of the fill, the last to leave part of the drain.
      sent += stages_.send_backward[device].total() * (micro_batches_ - 1.0);
      received += stages_.send_forward[device - 1].total() * (micro_batches_ - 1.0);
    }
    switch (p2p_) {
      case P2pMode::occupying:
        return sent;
      case P2pMode::rendezvous:
        return sent + received;
      case P2pMode::rendezvous_fused:
        return (sent + received) * 0.5;  // a send may share its time with a receive
      default:
        return {};
    }
  }

  // From the last pass of the device to the end of its reductions.
  [[nodiscard]] Seconds tail(std::size_t device) const {
    const DeviceTimes& times = devices_[device];
    switch (comm_.gradients) {
      case GradientReduction::none:
        return {};
      case GradientReduction::per_step:
        if (!comm_.overlap_gradients) {
          return times.reduce;
        }
        return shape_.drains && !shape_.combined ? times.chunks.front().reduce_behind : Seconds{};
      case GradientReduction::per_micro_batch:
        return !comm_.overlap_gradients && !shape_.combined && times.chunks.size() == 1
                   ? times.reduce
                   : Seconds{};
    }
    return {};
  }

  // The data-parallel stream runs its collectives one after another.
  [[nodiscard]] Seconds stream(std::size_t device) const {
    const DeviceTimes& times = devices_[device];
    Seconds sum;
    if (comm_.gradients == GradientReduction::per_step) {
      sum += times.reduce;
    } else if (comm_.gradients == GradientReduction::per_micro_batch) {
      sum += times.reduce * micro_batches_;
    }
    if (comm_.parameters == ParameterGather::per_step) {
      sum += times.gather;
    } else if (comm_.parameters == ParameterGather::per_use) {
      sum += times.gather * micro_batches_;
      sum += comm_.gather_for_backward ? times.gather_again * micro_batches_ : Seconds{};
    }
    // Where gathers do not run beside the passes, both follow one another.
    const bool alone = comm_.parameters == ParameterGather::per_use && !comm_.overlap_parameters &&
                       shape_.drains && !shape_.combined && comm_.gather_for_backward;
    return alone ? times.gather * micro_batches_ + times.gather_again * micro_batches_ +
                       times.passes * micro_batches_
                 : sum;
  }

  const StageCosts& stages_;
  ScheduleShape shape_;
  schedule::DataParallelComm comm_;
  P2pMode p2p_;
  double micro_batches_;
  std::vector<DeviceTimes> devices_;
};

// Tasks of the longest chain times what rounding may take from each. A chunk has no more buckets
// than layers, unless they are cut at tensors.
SimTime rounding(const StepInput& input) {
  constexpr double kPasses = 8.0;  // passes, messages, gathers and reductions of a micro-batch
  std::int64_t buckets = 0;
  const auto& cuts = input.choices.bucket_cuts;
  for (std::size_t d = 0; d < input.layout.stages.size(); ++d) {
    std::int64_t held = 0;
    for (std::size_t c = 0; c < input.layout.stages[d].size(); ++c) {
      const std::size_t cut = cuts.empty() ? 1 : cuts[d][c].size();
      held += std::max(static_cast<std::int64_t>(cut), input.layout.stages[d][c].num_layers);
    }
    buckets = std::max(buckets, held);
  }
  const double tasks =
      kPasses * static_cast<double>(buckets) *
      (micro_batches_per_chunk(input) + static_cast<double>(input.layout.pipeline));
  return SimTime{static_cast<std::int64_t>(tasks * static_cast<double>(kStepCategories))};
}

bool has_bound(const StepInput& input) {
  return input.mixed.empty() && input.spec.local_steps.islands <= 1;
}

// The median of the draws' bounds: each draw takes at least as long as its own.
Seconds least_of_draws(const Bound& bound, const StepInput& input, const cost::CostModel& costs,
                       CostMemo& memo) {
  const double jitter = jitter_share(input, costs);
  const Seconds alike = bound.least();
  std::vector<Seconds> draws;
  for (const SpeedRange& range : memo.speeds(input)) {
    draws.push_back(std::max(alike * std::min(1.0, range.fastest),
                             bound.least_with(beyond_jitter(range.slowest, jitter))));
  }
  const auto median = draws.begin() + static_cast<std::ptrdiff_t>((draws.size() - 1) / 2);
  std::ranges::nth_element(draws, median);
  return *median;
}

SimTime least(const StepInput& input, const cost::CostModel& costs, const StageCosts& stages,
              CostMemo* memo) {
  const Bound bound(input, costs, stages);
  CostMemo own;
  const Seconds found = input.spec.variation.any()
                            ? least_of_draws(bound, input, costs, memo != nullptr ? *memo : own)
                            : bound.least();
  return std::max(SimTime{}, to_sim_time(found) - rounding(input));
}

}  // namespace

SimTime least_step_time(const StepInput& input, const cost::CostModel& costs,
                        const StageCosts& stages, CostMemo* memo) {
  return has_bound(input) ? least(input, costs, stages, memo) : SimTime{};
}

SimTime least_time_of_passes(const StepInput& input, const cost::CostModel& costs, CostMemo* memo) {
  if (!has_bound(input)) {
    return {};
  }
  std::vector<std::vector<int>> whole;  // one bucket: nothing is communicated by bucket
  for (const std::vector<layout::ChunkLayers>& device : input.layout.stages) {
    whole.emplace_back(device.size(), 1);
  }
  if (const auto alone = unshared_step(input, costs)) {
    return least(alone->input, alone->costs,
                 stage_costs(alone->input, alone->costs, whole, memo, Replicas::free), memo);
  }
  return least(input, costs, stage_costs(input, costs, whole, memo, Replicas::free), memo);
}

}  // namespace orrery::step
