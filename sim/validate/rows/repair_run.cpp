#include "sim/validate/rows/repair_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "sim/validate/rows/row_mapping.hpp"

namespace orrery::validate {

namespace {

using model::Dtype;
using model::Recompute;
using scenario::Scenario;
using schedule::ScheduleKind;
using Outcome = std::variant<SimulatedRun, std::string>;

// A change of the scenario; false when there was nothing to change.
struct Repair {
  std::string_view note;
  bool (*apply)(Scenario& scenario, const hardware::GpuProfile& gpu);
};

bool use_known_precision(Scenario& scenario, const hardware::GpuProfile& gpu) {
  Dtype& compute = scenario.step.precision.compute;
  if (gpu.find_gemm(compute) != nullptr) {
    return false;
  }
  for (const Dtype narrower : {Dtype::fp8, Dtype::bf16, Dtype::fp16}) {
    if (gpu.find_gemm(narrower) != nullptr) {
      compute = narrower;
      return true;
    }
  }
  return false;
}

bool drop_chunks(Scenario& scenario, const hardware::GpuProfile& /*gpu*/) {
  if (scenario.step.schedule == ScheduleKind::one_f_one_b ||
      scenario.step.schedule == ScheduleKind::none) {
    return false;
  }
  scenario.step.schedule = ScheduleKind::one_f_one_b;
  scenario.layout.virtual_stages = 1;
  return true;
}

bool drop_shard_group(Scenario& scenario, const hardware::GpuProfile& /*gpu*/) {
  if (!scenario.layout.shard_group) {
    return false;
  }
  scenario.layout.shard_group.reset();
  if (scenario.layout.sharding == layout::Sharding::hsdp) {
    scenario.layout.sharding = layout::Sharding::zero3;
  }
  return true;
}

bool drop_sequence_parallel(Scenario& scenario, const hardware::GpuProfile& /*gpu*/) {
  return std::exchange(scenario.layout.sequence_parallel, false);
}

bool drop_experts(Scenario& scenario, const hardware::GpuProfile& /*gpu*/) {
  scenario.layout.expert_tensor.reset();
  return std::exchange(scenario.layout.expert, 1) > 1;
}

bool shorten_micro_batch(Scenario& scenario, const hardware::GpuProfile& /*gpu*/) {
  return std::exchange(scenario.batch.micro, 1) > 1;
}

// As many replicas as there are GPUs, each with the whole model.
bool use_plain_layout(Scenario& scenario, const hardware::GpuProfile& /*gpu*/) {
  layout::LayoutSpec& spec = scenario.layout;
  if (spec.tensor * spec.context * spec.pipeline == 1) {
    return false;
  }
  const std::int64_t gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node;
  spec.tensor = 1;
  spec.context = 1;
  spec.pipeline = 1;
  spec.virtual_stages = 1;
  spec.data = gpus;
  spec.sharding = layout::Sharding::zero3;
  scenario.step.schedule = ScheduleKind::none;
  scenario.batch.global = multiple_at_least(gpus, scenario.batch.global);
  return true;
}

constexpr std::array<Repair, 7> kRepairs = {
    {{"the GPU lacks the precision: the next one that it has", use_known_precision},
     {"the schedule does not exist for these numbers: plain 1f1b", drop_chunks},
     {"the shard group does not exist: all replicas", drop_shard_group},
     {"sequence parallelism does not fit: off", drop_sequence_parallel},
     {"the expert groups do not fit: every replica holds all experts", drop_experts},
     {"the micro batch does not fit: 1", shorten_micro_batch},
     {"the layout does not fit: data parallel only", use_plain_layout}}};

double peak_share(const SimulatedRun& run, const hardware::GpuProfile& gpu) {
  Bytes peak;
  for (const step::StageMemory& stage : run.step.memory) {
    peak = std::max(peak, stage.peak());
  }
  return peak / gpu.memory.value();
}

// The least recomputation that fits, for a run that does not state it.
Outcome with_recompute_that_fits(ReadyRun& run, Outcome first, const step::StepOptions& options) {
  // Predicted peaks are some percent off; a run is not given more work for less than that.
  constexpr double kFits = 1.1;
  const auto* simulated = std::get_if<SimulatedRun>(&first);
  if (!run.mapped.recompute_is_open || simulated == nullptr ||
      peak_share(*simulated, *run.gpu) <= kFits) {
    return first;
  }
  for (const auto& [policy, name] :
       {std::pair(Recompute::selective, "selective"), std::pair(Recompute::full, "full")}) {
    ReadyRun trial = run;
    trial.mapped.scenario.step.recompute.policy = policy;
    trial.mapped.notes.push_back(
        fmt::format("recompute is missing: {}, the least that fits", name));
    Outcome outcome = simulate_run(trial, options);
    const auto* fits = std::get_if<SimulatedRun>(&outcome);
    const bool last = policy == Recompute::full;  // fits best, whatever the predicted peak
    if (fits != nullptr && (last || peak_share(*fits, *run.gpu) <= kFits)) {
      run = std::move(trial);
      return outcome;
    }
  }
  return first;
}

}  // namespace

Outcome simulate_measured(ReadyRun& run, const step::StepOptions& options) {
  Outcome outcome = simulate_run(run, options);
  for (const Repair& repair : kRepairs) {
    if (std::holds_alternative<SimulatedRun>(outcome)) {
      break;
    }
    if (repair.apply(run.mapped.scenario, *run.gpu)) {
      run.mapped.notes.emplace_back(repair.note);
      outcome = simulate_run(run, options);
    }
  }
  return with_recompute_that_fits(run, std::move(outcome), options);
}

}  // namespace orrery::validate
