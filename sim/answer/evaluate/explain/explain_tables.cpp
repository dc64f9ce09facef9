#include "sim/answer/evaluate/explain/explain_tables.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/run/theory/theory.hpp"
#include "sim/step/cost/attention.hpp"
#include "sim/step/layout/sharding.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::evaluate {

namespace {

using step::StepCategory;

constexpr std::size_t kOperationsShown = 24;

template <typename Q>
std::string coefficient_line(std::string_view name, const std::string& value,
                             const Coefficient<Q>& c) {
  return fmt::format("  {:<26} {:>16}  {:<9}  {}\n", name, value, to_string(c.kind()),
                     c.source().citation);
}

// Every line four columns to the right, without empty lines.
std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty()) {
      out += out.empty() ? "" : "\n";
      out += fmt::format("    {}", line);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

std::string plain(const Coefficient<double>& c) { return fmt::format("{:g}", c.value()); }

}  // namespace

std::string step_ledger_table(const step::StepResult& step) {
  std::string text = "Step ledger (GPU time of the whole job; adds up to GPUs x step time)\n";
  for (std::size_t c = 0; c < step::kStepCategories; ++c) {
    const auto category = static_cast<StepCategory>(c);
    const double share = step.ledger.share(category);
    if (share > 0.0) {
      text += fmt::format("  {:<18} {:>8}  {:>10} per step\n", to_string(category),
                          percent_cell(share), format_time(to_seconds(step.step_time) * share));
    }
  }
  return text;
}

std::string stage_table(const step::StepResult& step) {
  std::string text =
      fmt::format("Pipeline devices\n  {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "device",
                  "compute", "recompute", "exposed", "bubble", "imbalance", "other");
  for (std::size_t d = 0; d < step.stage_ledgers.size(); ++d) {
    const step::StepLedger& ledger = step.stage_ledgers[d];
    const double compute = ledger.share(StepCategory::compute);
    const double recompute = ledger.share(StepCategory::recompute);
    const double bubble = ledger.share(StepCategory::bubble);
    const double exposed = step::exposed_share(ledger);
    const double imbalance = ledger.share(StepCategory::stage_imbalance);
    const double rest = 1.0 - compute - recompute - bubble - imbalance - exposed;
    text +=
        fmt::format("  {:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", d, percent_cell(compute),
                    percent_cell(recompute), percent_cell(exposed), percent_cell(bubble),
                    percent_cell(imbalance), percent_cell(std::max(0.0, rest)));
  }
  return text;
}

std::string operation_table(const step::StepResult& step) {
  std::string text = fmt::format(
      "Operations of one GPU of the busiest device, per step (collectives: the exposed part)\n"
      "  {:<38} {:>10} {:>8} {:>10} "
      "{:>16}\n",
      "operation", "time", "share", "times", "rate");
  Seconds shown;
  for (std::size_t i = 0; i < std::min(kOperationsShown, step.operations.size()); ++i) {
    const step::OperationShare& line = step.operations[i];
    const bool has_rate = line.flop > 0.0 && line.time > Seconds{};
    text +=
        fmt::format("  {:<38} {:>10} {:>8} {:>10} {:>16}\n", line.name, format_time(line.time),
                    percent_cell(line.time / to_seconds(step.step_time)), format_count(line.count),
                    has_rate ? format_flop_rate(flop(line.flop) / line.time) : "");
    shown += line.time;
  }
  Seconds rest;
  for (std::size_t i = kOperationsShown; i < step.operations.size(); ++i) {
    rest += step.operations[i].time;
  }
  if (rest > Seconds{}) {
    text += fmt::format("  {:<38} {:>10} {:>8}\n",
                        fmt::format("{} more", step.operations.size() - kOperationsShown),
                        format_time(rest), percent_cell(rest / to_seconds(step.step_time)));
  }
  return text;
}

std::string memory_table(const step::StepResult& step) {
  std::string text = fmt::format(
      "Peak memory of one GPU by pipeline device\n  {:>6} {:>9} {:>9} {:>9} {:>9} "
      "{:>9} {:>9} {:>9} {:>10} {:>10}\n",
      "device", "params", "grads", "optim.", "activ.", "working", "comm.", "overhead", "peak",
      "limit");
  for (std::size_t d = 0; d < step.memory.size(); ++d) {
    const step::StageMemory& m = step.memory[d];
    text += fmt::format("  {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10}\n", d,
                        format_bytes_binary(m.parameters), format_bytes_binary(m.gradients),
                        format_bytes_binary(m.optimizer), format_bytes_binary(m.activations),
                        format_bytes_binary(m.working), format_bytes_binary(m.communication),
                        format_bytes_binary(m.overhead), format_bytes_binary(m.peak()),
                        format_bytes_binary(m.limit));
  }
  return text;
}

std::string communication_table(const step::StepInput& input, const cost::CostModel& costs) {
  std::string text =
      "Collectives (algorithm, protocol and terms as NCCL's own model chooses them)\n";
  const cost::Placements places = step::placements(input);
  const model::LayerPasses passes =
      model::layer_passes(input.model, step::op_options(input, costs), input.model.num_layers - 1);
  std::set<std::pair<model::Part, double>> shown;
  for (const model::PassOp& entry : passes.forward) {
    const auto* op = std::get_if<model::CollectiveOp>(&entry.op);
    if (op == nullptr || op->axis != model::CommAxis::tensor || places.tensor.ranks <= 1 ||
        !shown.insert({op->part, in_bytes(op->bytes_total)}).second) {
      continue;
    }
    text +=
        fmt::format("  {}, in every layer\n{}\n", model::part_name(op->part),
                    indented(costs.explain_collective(op->kind, op->bytes_per_rank_in,
                                                      op->bytes_total, op->dtype, places.tensor)));
  }
  if (places.data.ranks > 1) {
    const model::ShardParameters held =
        layout::chunk_shard_parameters(input.model, input.layout, 0, 0);
    const model::Dtype dtype = input.spec.precision.gradient;
    const Bytes size = model::bytes_per_element(dtype) * (held.dense + held.expert);
    const bool sharded = input.layout.sharding != layout::Sharding::none;
    text += fmt::format(
        "  gradients of one chunk over the data-parallel group\n{}\n",
        indented(costs.explain_collective(
            sharded ? model::CollectiveKind::reduce_scatter : model::CollectiveKind::all_reduce,
            size, size, dtype, sharded ? places.shard : places.data)));
  }
  return text;
}

std::string coefficient_table(const cost::CostModel& costs, model::Dtype compute) {
  const hardware::GpuProfile& gpu = costs.gpu();
  const hardware::SoftwareProfile& soft = costs.software();
  std::string text = fmt::format("Coefficients of {} (value, kind of source, source)\n", gpu.name);
  if (const hardware::GemmRate* rate = gpu.find_gemm(compute)) {
    text += coefficient_line("gemm peak", format_flop_rate(rate->peak.value()), rate->peak);
    text += coefficient_line("gemm sustained", format_flop_rate(rate->sustained.value()),
                             rate->sustained);
    text += coefficient_line("gemm half_depth", plain(rate->half_depth), rate->half_depth);
  }
  text += coefficient_line("hbm_bandwidth", format_bandwidth(gpu.hbm_bandwidth.value()),
                           gpu.hbm_bandwidth);
  text +=
      coefficient_line("memory_efficiency", plain(gpu.memory_efficiency), gpu.memory_efficiency);
  const cost::AttentionKernelRate kernel = cost::attention_kernel_rate(gpu, soft);
  const hardware::AttentionRate& attention = *kernel.rate;
  text += coefficient_line("attention forward", format_flop_rate(attention.forward.value()),
                           attention.forward);
  text += coefficient_line("attention backward", format_flop_rate(attention.backward.value()),
                           attention.backward);
  if (kernel.derived) {
    text += fmt::format("attention kernel {}: {:.2f} of these rates, as on an H100\n",
                        hardware::to_string(*soft.attention_kernel), kernel.scale);
  }
  text += fmt::format("Coefficients of {} {}\n", soft.name, soft.version);
  text += coefficient_line("gemm_efficiency", plain(soft.gemm_efficiency), soft.gemm_efficiency);
  text +=
      coefficient_line("memory_efficiency", plain(soft.memory_efficiency), soft.memory_efficiency);
  text += coefficient_line("attention_efficiency", plain(soft.attention_efficiency),
                           soft.attention_efficiency);
  text += coefficient_line("kernel_gap", format_time(soft.kernel_gap.value()), soft.kernel_gap);
  text += coefficient_line("host_layer_time", format_time(soft.host_layer_time.value()),
                           soft.host_layer_time);
  text += coefficient_line("host_launch_time", format_time(soft.host_launch_time.value()),
                           soft.host_launch_time);
  if (soft.grouped_call_time) {
    text += coefficient_line("grouped_call_time", format_time(soft.grouped_call_time->value()),
                             *soft.grouped_call_time);
  }
  text +=
      coefficient_line("nvlink_efficiency", plain(soft.nvlink_efficiency), soft.nvlink_efficiency);
  text += coefficient_line("network_efficiency", plain(soft.network_efficiency),
                           soft.network_efficiency);
  text += coefficient_line("collective_overhead", format_time(soft.collective_overhead.value()),
                           soft.collective_overhead);
  text += coefficient_line("fixed_step_time", format_time(soft.fixed_step_time.value()),
                           soft.fixed_step_time);
  text += coefficient_line("jitter_per_doubling", plain(soft.jitter_per_doubling),
                           soft.jitter_per_doubling);
  return text;
}

std::string run_ledger_table(const report::Evaluation& evaluation) {
  const run::MonteCarloResult& run = *evaluation.run;
  std::string text = "Run ledger (mean over trials; adds up to allocated GPUs x wall time)\n";
  for (std::size_t c = 0; c < static_cast<std::size_t>(run::RunCategory::count_); ++c) {
    const auto category = static_cast<run::RunCategory>(c);
    const double share = run.ledger_sum.share(category);
    if (share > 0.0) {
      text += fmt::format("  {:<22} {:>8}  {:>10} GPU-hours\n", to_string(category),
                          percent_cell(share), format_count(in_hours(run.mean_gpu_time(category))));
    }
  }
  return text;
}

namespace {

// Faster copies in front of the storage, and what the survivors of a failure save.
std::string tier_lines(const run::RunPlan& plan) {
  const run::CheckpointPlan& checkpoint = plan.checkpoint;
  std::string text;
  for (std::size_t i = 0; i + 1 < checkpoint.tiers.size(); ++i) {
    const run::PlannedTier& tier = checkpoint.tiers[i];
    const std::int64_t steps = *checkpoint.every_steps * tier.every_saves;
    const run::PlannedSave& save = checkpoint.saves[i];
    text += fmt::format(
        "  {}: every {} steps = {}, blocks training for {}, safe after {}\n", tier.name, steps,
        format_time(static_cast<double>(steps) * to_seconds(plan.step.step_time)),
        format_time(to_seconds(save.stall)), format_time(to_seconds(save.copies.back().durable)));
  }
  if (checkpoint.just_in_time) {
    text += fmt::format("  after a failure the replicas that survive it save in {}\n",
                        format_time(to_seconds(checkpoint.just_in_time->save)));
  }
  return text;
}

}  // namespace

std::string checkpoint_table(const run::RunPlan& plan) {
  std::string text = "Checkpoints\n";
  if (!plan.checkpoint_steps) {
    return text + "  none\n";
  }
  const Seconds interval =
      to_seconds(plan.step.step_time) * static_cast<double>(*plan.checkpoint_steps);
  text += fmt::format("  size {}, every {} steps = {}\n", format_bytes(plan.checkpoint.size),
                      *plan.checkpoint_steps, format_time(interval));
  text += fmt::format("  training blocked for {}, safe after {}\n",
                      format_time(to_seconds(plan.stall)), format_time(to_seconds(plan.durable)));
  text += tier_lines(plan);
  if (plan.mtbf && plan.checkpoint.tiers.size() == 1 && !plan.checkpoint.just_in_time) {
    const run::CheckpointCost cost = {.checkpoint = to_seconds(plan.stall), .mtbf = *plan.mtbf};
    text += fmt::format(
        "  optimum M (1 + W0(-exp(-C/M - 1))) = {}; Young sqrt(2 C M) = {}; Daly {}\n"
        "  with C = {} and M = {}\n",
        format_time(run::optimal_interval(cost)), format_time(run::young_interval(cost)),
        format_time(run::daly_higher_order_interval(cost)), format_time(to_seconds(plan.stall)),
        format_time(*plan.mtbf));
  }
  return text;
}

}  // namespace orrery::evaluate
