#pragma once

// The values of the metrics in the registry; the only place where metrics are computed.
//
//   mfu = FLOP per token (convention) * tokens per second / (GPUs * dense peak of the precision)
//   hfu = the same with the FLOP that the kernels execute: recomputation, and of causal attention
//         what fused kernels do not skip, so that it is at most 1
//   goodput, cost, finish time: distributions over the trials of the run
//
// symbol          | meaning                                            | unit    | origin
// ----------------|----------------------------------------------------|---------|-------------
// FLOP per token  | 6 N + 12 L H Q T and variants (model/flops.hpp)    | FLOP    | model
// tokens per step | global batch * sequence length                     | tokens  | scenario
// peak            | datasheet, dense, of the compute precision         | FLOP/s  | GPU profile

#include "sim/answer/report/evaluation.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"

namespace orrery::evaluate {

[[nodiscard]] Tokens tokens_per_step(const scenario::Scenario& scenario);

// Dense peak of the precision that the GEMMs of the layers run in; of 16-bit when the GPU has no
// entry for it.
[[nodiscard]] FlopPerSecond dense_peak(const hardware::GpuProfile& gpu, model::Dtype compute);

// What the stack runs besides what the model asks for, and what it skips.
struct ExecutedPasses {
  model::Recompute recompute = model::Recompute::none;  // as the stack means it
  hardware::AttentionImplementation attention = hardware::AttentionImplementation::fused;
  model::RecomputeModules modules = {};
};

// The FLOP of a token as the kernels execute them, in a step with this layout.
[[nodiscard]] Flop executed_flop_per_token(const scenario::Scenario& scenario,
                                           const ExecutedPasses& passes,
                                           const layout::Layout& layout);

// `peak`: dense, of one GPU; the mean over types where the cluster is mixed.
void fill_step_metrics(const scenario::Scenario& scenario, FlopPerSecond peak,
                       const ExecutedPasses& passes, report::Evaluation& evaluation);

// Needs evaluation.plan and evaluation.run. `watts`: board power limit of one GPU. `start`: seconds
// since 1970-01-01T00:00Z, for dates.
void fill_rollout_metrics(report::Evaluation& evaluation);
void fill_budget(const scenario::Scenario& scenario, report::Evaluation& evaluation);

void fill_run_metrics(double watts, std::optional<std::int64_t> start,
                      report::Evaluation& evaluation);

}  // namespace orrery::evaluate
