#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/evaluate/explain/explain_tables.hpp"
#include "sim/answer/evaluate/inputs/fill_metrics.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/cost/memory_bound.hpp"
#include "sim/step/model/flops.hpp"
#include "sim/step/simulate/operations/step_operations.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::evaluate {

// Which kernels of a step does the calibration profile know, and how well?

namespace {

constexpr std::size_t kKernelsShown = 24;
constexpr std::size_t kReaches = 4;

struct KernelLine {
  cost::KernelPrediction prediction;
  double calls = 0.0;
  Seconds time;  // of all calls, in this stack
};

// What the measurements say of an operation, and how it is called there.
struct Known {
  std::string name;
  std::optional<cost::KernelPrediction> prediction;
};

struct Look {
  const cost::CostModel& costs;

  Known operator()(const model::GemmOp& op) const {
    return {to_text(cost::call_of(op)), cost::predict_gemm(op, costs.gpu())};
  }

  Known operator()(const model::AttentionOp& op) const {
    return {to_text(cost::call_of(op)),
            cost::measured_attention(op, costs.gpu(), costs.software())};
  }

  Known operator()(const model::ScanOp&) const {
    return {};  // none is measured
  }

  Known operator()(const model::MemoryOp& op) const {
    return {fmt::format("{} of {}", model::part_name(op.part, op.role),
                        format_bytes(op.read + op.written)),
            cost::measured_memory(op, costs.gpu(), costs.software())};
  }

  Known operator()(const model::CollectiveOp&) const { return {}; }
};

struct Account {
  std::map<std::string, KernelLine> lines;
  std::array<Seconds, kReaches> by_reach = {};
  Seconds unmeasured;
};

void add(Account& account, const cost::CostModel& costs, const cost::Placements& places,
         const model::Op& op, double count) {
  if (std::holds_alternative<model::CollectiveOp>(op)) {
    return;
  }
  const Seconds time = costs.operation(op, places).time * count;
  const Known known = std::visit(Look{costs}, op);
  if (!known.prediction) {
    account.unmeasured += time;
    return;
  }
  account.by_reach[static_cast<std::size_t>(known.prediction->reach)] += time;
  KernelLine& line = account.lines[known.name];
  line.prediction = *known.prediction;
  line.calls += count;
  line.time += time;
}

std::string summary(const Account& account, const hardware::CalibrationStamp& stamp) {
  Seconds all = account.unmeasured;
  for (const Seconds time : account.by_reach) {
    all += time;
  }
  const auto share = [all](Seconds time) {
    return all > Seconds{} ? kPercent * (time / all) : 0.0;
  };
  constexpr std::size_t kShortId = 12;
  std::string text = fmt::format("Kernels measured on {}, {}, profile {}\n  of their time",
                                 stamp.device, stamp.measured_at, stamp.id.substr(0, kShortId));
  for (std::size_t i = 0; i < kReaches; ++i) {
    text += fmt::format(" {:.1f} % {},", share(account.by_reach[i]),
                        to_string(static_cast<cost::Reach>(i)));
  }
  return text + fmt::format(" {:.1f} % not measured\n", share(account.unmeasured));
}

using report::MetricId;

std::string value_text(const report::Evaluation& evaluation, const report::MetricInfo& metric) {
  const report::MetricValue* value = evaluation.metrics.find(metric.id);
  if (value == nullptr) {
    return "not known: this scenario does not ask for it";
  }
  const auto text = [&metric](double x) { return report::format_value(metric.dimension, x); };
  if (!value->trials) {
    return text(value->value);
  }
  const run::Interval ci = value->trials->ci95_of_quantile(report::kMedian);
  return fmt::format(
      "{} (P10 {}, P90 {}; 95 % interval of the median {} to {}; mean {}; {} trials)",
      text(value->trials->quantile(report::kMedian)),
      text(value->trials->quantile(report::kLowQuantile)),
      text(value->trials->quantile(report::kHighQuantile)), text(ci.low), text(ci.high),
      text(value->value), value->trials->count());
}

bool is_memory(MetricId id) {
  return id == MetricId::peak_memory || id == MetricId::memory_headroom ||
         id == MetricId::host_memory;
}

bool is_run(const report::MetricInfo& metric) {
  return metric.stochastic || metric.id == MetricId::mtbf ||
         metric.id == MetricId::checkpoint_interval || metric.id == MetricId::checkpoint_stall ||
         metric.id == MetricId::checkpoint_durable || metric.id == MetricId::budget_compute ||
         metric.id == MetricId::optimal_parameters || metric.id == MetricId::optimal_tokens;
}

// What the products of linear layers multiply: docs/precision.md has the recipes and their sources.
std::string_view operand_formats(const model::PrecisionSpec& precision) {
  if (bytes_per_element(precision.compute) == bytes_per_element(precision.activation)) {
    return "all operands, summed in fp32";
  }
  switch (precision.fp8_scaling) {
    case model::Fp8Scaling::delayed:
      return "inputs and weights in E4M3, gradients of results in E5M2, an fp32 scale per tensor";
    case model::Fp8Scaling::tensorwise:
      return "inputs and weights in E4M3, gradients of results in E5M2 (torchao: E4M3), an fp32 "
             "scale per tensor";
    case model::Fp8Scaling::rowwise:
      return "all operands in E4M3, an fp32 scale per row";
    case model::Fp8Scaling::block:
      return "all operands in E4M3, an fp32 scale per 128 values, per 128 x 128 of weights";
    case model::Fp8Scaling::mx:
      return "all operands in E4M3, an E8M0 scale per 32 values";
    case model::Fp8Scaling::nvfp4:
      break;
  }
  return "all operands in E2M1, an E4M3 scale per 16 values and an fp32 one per tensor";
}

std::string flop_lines(const scenario::Scenario& scenario, const Resolved& resolved) {
  const auto giga = [&scenario](model::FlopConvention convention) {
    return in_gigaflop(model::model_flop_per_token(scenario.model, convention));
  };
  return fmt::format(
      "FLOP per token: 6 N + 12 L H Q T = {:.1f} GFLOP, causal {:.1f}, 6 N {:.1f}{}\n"
      "  N = {} parameters that a token is multiplied with, {} tokens per step\n"
      "  dense peak of one GPU in this precision: {}\n"
      "  products of linear layers in {}: {}\n",
      giga(model::FlopConvention::palm), giga(model::FlopConvention::palm_causal),
      giga(model::FlopConvention::six_nd),
      scenario.model.reference ? ", the reference's forward counted" : "",
      format_count(model::multiplied_parameters(scenario.model)),
      format_count(in_tokens(tokens_per_step(scenario))),
      format_flop_rate(dense_peak(resolved.costs.gpu(), scenario.step.precision.compute)),
      precision_name(scenario.step.precision), operand_formats(scenario.step.precision));
}

std::string explain_run(const report::Evaluation& evaluation) {
  if (!evaluation.plan) {
    return "The scenario has no `training:` section: no run is simulated.\n";
  }
  const run::RunPlan& plan = *evaluation.plan;
  std::string text =
      fmt::format("Inputs\n  step time {}, {} GPUs in {} nodes, {} spare nodes\n",
                  format_time(to_seconds(plan.step.step_time)), format_integer(plan.step.gpus),
                  format_integer(plan.step.nodes), plan.capacity.spare_nodes());
  if (plan.mtbf) {
    text += fmt::format("  MTBF of the job {}, mean recovery {} with a node at hand\n",
                        format_time(*plan.mtbf), format_time(run::mean_recovery_time(plan)));
  }
  return text + "\n" + checkpoint_table(plan) + "\n" + run_ledger_table(evaluation);
}

std::string explain_step(const scenario::Scenario& scenario, const Resolved& resolved,
                         const report::Evaluation& evaluation) {
  if (evaluation.step.given) {
    return "The scenario states the step time (`step: {time: ...}`): nothing is modelled.\n";
  }
  const step::StepInput input = step_input(scenario, resolved);
  std::string measured = measured_kernel_table(input, resolved.costs);
  measured += measured.empty() ? "" : "\n";
  return step_ledger_table(evaluation.step) + "\n" + stage_table(evaluation.step) + "\n" +
         operation_table(evaluation.step) + "\n" + measured +
         communication_table(input, resolved.costs) + "\n" +
         coefficient_table(resolved.costs, scenario.step.precision.compute);
}

}  // namespace

std::string measured_kernel_table(const step::StepInput& input, const cost::CostModel& costs) {
  const auto& stamp = costs.gpu().calibration;
  if (!stamp) {
    return {};
  }
  Account account;
  const cost::Placements places = step::placements(input);
  for (std::size_t device = 0; device < input.layout.stages.size(); ++device) {
    for (const step::CountedPass& counted :
         step::device_passes(input, costs, static_cast<std::int64_t>(device))) {
      for (const model::PassOp& entry : counted.pass) {
        add(account, costs, places, entry.op, counted.count);
      }
    }
  }
  using Row = std::pair<std::string, KernelLine>;
  std::vector<Row> rows(account.lines.begin(), account.lines.end());
  std::ranges::stable_sort(
      rows, [](const Row& a, const Row& b) { return a.second.time > b.second.time; });
  std::string text = summary(account, *stamp);
  text += fmt::format("  {:<64} {:<12} {:>6} {:>10}\n", "kernel", "prediction", "+-", "library");
  for (std::size_t i = 0; i < std::min(rows.size(), kKernelsShown); ++i) {
    const cost::KernelPrediction& prediction = rows[i].second.prediction;
    text += fmt::format("  {:<64} {:<12} {:>4.1f} % {:>10}\n", rows[i].first,
                        to_string(prediction.reach), kPercent * prediction.residual,
                        format_time(prediction.time));
  }
  return text;
}

std::optional<std::string> explain(const scenario::Scenario& scenario,
                                   const report::Evaluation& evaluation, std::string_view metric,
                                   Diagnostics& diagnostics,
                                   const std::optional<hardware::ProfileSearch>& search) {
  const report::MetricInfo* info = report::find_metric(metric);
  const std::optional<Resolved> resolved = resolve(scenario, search, diagnostics);
  if (info == nullptr || !resolved) {
    return std::nullopt;
  }
  std::string text = fmt::format("{} = {}\n  {}\n  = {}\n\n", info->name,
                                 value_text(evaluation, *info), info->meaning, info->formula);
  if (is_memory(info->id)) {
    return text + memory_table(evaluation.step);
  }
  if (is_run(*info)) {
    return text + explain_run(evaluation);
  }
  return text + flop_lines(scenario, *resolved) + "\n" +
         explain_step(scenario, *resolved, evaluation);
}

}  // namespace orrery::evaluate
