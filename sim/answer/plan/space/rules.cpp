#include "sim/answer/plan/space/rules.hpp"

#include <algorithm>

#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/schedule/schedule.hpp"

namespace orrery::plan {

namespace {

using layout::Sharding;
using schedule::ScheduleKind;

std::int32_t small(std::int64_t value) { return static_cast<std::int32_t>(value); }

std::int64_t stages_of(const Candidate& candidate) {
  return layout::stages_of(schedule::traits_of(candidate.schedule).placement, candidate.pipeline,
                           candidate.virtual_stages);
}

// Divisors of the group but 1 and itself, ascending: each below the root has one above it.
void add_parts(std::int64_t whole, AxisValues& parts) {
  parts.clear();
  for (std::int64_t ranks = 2; ranks * ranks <= whole; ++ranks) {
    if (whole % ranks == 0) {
      parts.push_back(ranks);
    }
  }
  const std::size_t small_ones = parts.size();
  for (std::size_t i = small_ones; i > 0; --i) {
    const std::int64_t other = whole / parts[i - 1];
    if (other != parts[i - 1]) {
      parts.push_back(other);
    }
  }
}

}  // namespace

Rules::Rules(const Space& space, const Workbench& bench)
    : space_(space), bench_(bench), model_(bench.base.model) {}

std::int64_t Rules::gpus(const Candidate& candidate) const { return gpus_of(candidate, bench_); }

bool Rules::automatic(Axis axis) const { return space_.automatic[static_cast<std::size_t>(axis)]; }

const AxisValues& Rules::values(Axis axis, const Candidate& so_far, AxisValues& own) const {
  const AxisValues& all = space_[axis];
  // Every part of the group that shares more than nothing and less than all.
  if (axis == Axis::shard_group && so_far.sharding == Sharding::hsdp && all.size() == 1 &&
      all.front() == 0) {
    add_parts(whole_group(so_far), own);
    return own;
  }
  return all;
}

bool Rules::set(Axis axis, std::int64_t value, Candidate& candidate) const {
  return take(axis, value, candidate) &&
         (!bench_.most_changes || changes_of(candidate, bench_, axis) <= *bench_.most_changes);
}

bool Rules::take(Axis axis, std::int64_t value, Candidate& candidate) const {
  switch (axis) {
    case Axis::gpu:
      candidate.gpu = static_cast<std::uint8_t>(value);
      return true;
    case Axis::nodes:
      candidate.nodes = small(value);
      return gpus(candidate) <= space_.most_gpus.value_or(gpus(candidate));
    case Axis::global_batch:
      candidate.global_batch = small(value);
      return value >= space_.least_batch.value_or(value) &&
             value <= space_.most_batch.value_or(value);
    case Axis::pipeline:
      candidate.pipeline = small(value);
      return gpus(candidate) % value == 0 && (value == 1 || value <= layout::most_stages(model_));
    case Axis::schedule:
      return set_schedule(value, candidate);
    case Axis::virtual_stages:
      return set_chunks(value, candidate);
    case Axis::tensor:
      return set_tensor(value, candidate);
    case Axis::context:
      return set_context(value, candidate);
    case Axis::expert:
      return set_expert(value, candidate);
    case Axis::expert_tensor:
      return set_expert_tensor(value, candidate);
    case Axis::expert_dispatcher:
      return set_expert_dispatcher(value, candidate);
    case Axis::expert_overlap:
      return set_expert_overlap(value, candidate);
    case Axis::sequence_parallel:
      return set_sequence_parallel(value, candidate);
    case Axis::micro:
      return set_micro(value, candidate);
    case Axis::recompute:
      return set_recompute(value, candidate);
    case Axis::sharding:
      return set_sharding(value, candidate);
    case Axis::shard_group:
      return set_shard_group(value, candidate);
    case Axis::offload:
      candidate.offload = static_cast<std::uint8_t>(value);
      return true;
    case Axis::count_:
      break;
  }
  return false;
}

bool Rules::set_schedule(std::int64_t value, Candidate& candidate) const {
  candidate.schedule = static_cast<ScheduleKind>(value);
  if (candidate.schedule == ScheduleKind::none) {
    return candidate.pipeline == 1;
  }
  // Without a pipeline, schedules of one chunk are all the same.
  return candidate.pipeline > 1 || !automatic(Axis::schedule);
}

bool Rules::set_chunks(std::int64_t value, Candidate& candidate) const {
  candidate.virtual_stages = small(value);
  const std::int64_t stages = stages_of(candidate);
  if (!schedule::runs_chunks(candidate.schedule, value, candidate.pipeline) ||
      (candidate.pipeline > 1 && stages > layout::most_stages(model_))) {
    return false;
  }
  // Chunks of unequal depth only where they are asked for.
  const bool even = model_.num_layers % stages == 0 || layout::most_stages(model_) % stages == 0;
  const bool own = value == bench_.base.layout.virtual_stages &&
                   candidate.pipeline == bench_.base.layout.pipeline;
  return !automatic(Axis::virtual_stages) || value == 1 || even || own;
}

bool Rules::set_tensor(std::int64_t value, Candidate& candidate) const {
  candidate.tensor = small(value);
  if (!layout::tensor_splits(model_, value) || !layout::linear_heads_split(model_, value, 1)) {
    return false;
  }
  if (space_.tensor_within_nvlink) {
    const Machine& machine = bench_.machines[candidate.gpu];
    const layout::ClusterShape shape =
        hardware::cluster_shape(bench_.base.cluster, machine.gpu.nvlink.has_value());
    if (value > shape.nvlink_domain) {
      return false;
    }
  }
  return gpus(candidate) % (value * candidate.pipeline) == 0;
}

bool Rules::set_context(std::int64_t value, Candidate& candidate) const {
  candidate.context = small(value);
  const std::int64_t replica = value * candidate.tensor * candidate.pipeline;
  if (!layout::context_splits(model_, value) ||
      !layout::linear_heads_split(model_, candidate.tensor, value) ||
      gpus(candidate) % replica != 0) {
    return false;
  }
  candidate.data = small(gpus(candidate) / replica);
  return candidate.global_batch % candidate.data == 0 &&
         candidate.data == bench_.data.value_or(candidate.data);
}

bool Rules::set_expert(std::int64_t value, Candidate& candidate) const {
  candidate.expert = small(value);
  return model_.moe ? model_.moe->num_experts % value == 0 : value == 1;
}

bool Rules::set_expert_tensor(std::int64_t value, Candidate& candidate) const {
  candidate.expert_tensor = value == 0 ? candidate.tensor : small(value);
  // 1 and tensor are the same with tensor 1; a dense model has none.
  if (value == 1 && automatic(Axis::expert_tensor) && candidate.tensor == 1) {
    return false;
  }
  if (!model_.moe) {
    candidate.expert_tensor = candidate.tensor;
    return true;
  }
  const std::int64_t pool = std::int64_t{candidate.tensor} * candidate.context * candidate.data;
  return pool % (std::int64_t{candidate.expert} * candidate.expert_tensor) == 0;
}

// Experts of one rank exchange nothing: all words mean the same.
bool Rules::set_expert_dispatcher(std::int64_t value, Candidate& candidate) const {
  candidate.dispatcher = candidate.expert > 1 ? static_cast<hardware::ExpertDispatcher>(value)
                                              : stated_dispatcher(bench_);
  return candidate.expert > 1 || value == space_[Axis::expert_dispatcher].front();
}

// Stacks hide the exchange behind other micro-batches: a pipeline needs several chunks for it.
bool Rules::set_expert_overlap(std::int64_t value, Candidate& candidate) const {
  const bool stated = hides_by_default(candidate.schedule, bench_);
  candidate.hides_exchange = stated;
  if (candidate.expert == 1) {
    return value == space_[Axis::expert_overlap].front();
  }
  if (value == kAsStated) {
    return true;
  }
  candidate.hides_exchange = value != 0;
  const bool several = candidate.pipeline == 1 || candidate.virtual_stages > 1;
  return !automatic(Axis::expert_overlap) || (candidate.hides_exchange != stated && several);
}

bool Rules::set_sequence_parallel(std::int64_t value, Candidate& candidate) const {
  candidate.sequence_parallel = value != 0 && candidate.tensor > 1;
  if (candidate.tensor == 1) {
    return value == space_[Axis::sequence_parallel].front();
  }
  return !candidate.sequence_parallel ||
         layout::sequence_splits(model_, candidate.tensor, candidate.context);
}

bool Rules::set_micro(std::int64_t value, Candidate& candidate) const {
  candidate.micro = small(value);
  const std::int64_t at_once = value * candidate.data;
  if (candidate.global_batch % at_once != 0) {
    return false;
  }
  const schedule::ScheduleRequest request = {
      .kind = candidate.schedule,
      .devices = candidate.pipeline,
      .chunks = candidate.virtual_stages,
      .micro_batches = small(candidate.global_batch / at_once)};
  const auto& family = schedule::schedule_families()[static_cast<std::size_t>(request.kind)];
  return !family.validate(request);
}

bool Rules::set_recompute(std::int64_t value, Candidate& candidate) const {
  candidate.recompute = static_cast<std::uint8_t>(value);
  const step::RecomputeSpec& spec = bench_.recomputes[candidate.recompute].spec;
  const bool hides = candidate.hides_exchange != hides_by_default(candidate.schedule, bench_);
  if (hides && automatic(Axis::expert_overlap) && spec.policy == model::Recompute::full) {
    return false;  // Megatron Core refuses overlap_moe_expert_parallel_comm beside it
  }
  if (!spec.layers || !automatic(Axis::recompute)) {
    return true;
  }
  // As many layers as a chunk has are all of them.
  const std::int64_t stages = stages_of(candidate);
  return *spec.layers < (model_.num_layers + stages - 1) / stages;
}

bool Rules::set_sharding(std::int64_t value, Candidate& candidate) const {
  candidate.sharding = static_cast<Sharding>(value);
  if (whole_group(candidate) > 1) {
    // What the scenario states was said of its own kind of layout, with a pipeline or without.
    const bool own = candidate.sharding == bench_.base.layout.sharding &&
                     (candidate.pipeline > 1) == (bench_.base.layout.pipeline > 1);
    return !automatic(Axis::sharding) || !bench_.offer || own ||
           bench_.offer->offers(candidate.sharding, candidate.pipeline > 1);
  }
  // One rank shards nothing: all words mean the same.
  candidate.sharding = Sharding::none;
  return value == space_[Axis::sharding].front();
}

bool Rules::set_shard_group(std::int64_t value, Candidate& candidate) const {
  const std::int64_t whole = whole_group(candidate);
  if (candidate.sharding == Sharding::none) {
    candidate.shard_group = 1;
    return value == space_[Axis::shard_group].front();
  }
  const std::int64_t ranks = value == 0 ? whole : value;
  candidate.shard_group = small(ranks);
  return ranks <= whole && whole % ranks == 0;
}

}  // namespace orrery::plan
