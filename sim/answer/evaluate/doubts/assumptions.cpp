#include "sim/answer/evaluate/doubts/assumptions.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/answer/evaluate/doubts/recipe_effects.hpp"
#include "sim/base/text/format.hpp"
#include "sim/run/monte_carlo.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/recipes/recipe.hpp"
#include "sim/scenario/usual_stack.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::evaluate {

std::optional<std::string> assumed_rack(const scenario::Scenario& scenario) {
  const hardware::ClusterSpec& cluster = scenario.cluster;
  if (!cluster.rack_gpus || cluster.network.nvlink_domain) {
    return std::nullopt;
  }
  return fmt::format("nodes of {} GPUs and NVLink domains of {}, in which {} is sold",
                     cluster.gpus_per_node, *cluster.rack_gpus, cluster.gpu);
}

std::optional<std::string> assumed_software(const scenario::Scenario& scenario,
                                            const std::optional<hardware::ProfileSearch>& search,
                                            const report::Evaluation& evaluation) {
  if (scenario.names_stack() || evaluation.step.given) {
    return std::nullopt;
  }
  std::string text = fmt::format("software {}, the usual one for this layout, as none is stated",
                                 scenario.software);
  const std::vector<scenario::UsualStack> usual = scenario::usual_stacks(scenario);
  const std::string other = usual.empty() ? std::string() : usual.front().other;
  const auto with_other = other.empty() ? std::nullopt : scenario::with_stack(scenario, other);
  if (const auto step = with_other ? what_if_step(*with_other, search) : std::nullopt) {
    text += fmt::format("; with {} a step takes {} instead of {}", other, format_time(step->time),
                        format_time(to_seconds(evaluation.step.step_time)));
  }
  return text;
}

std::optional<std::string> assumed_failures(const scenario::Scenario& scenario, run::RunSpec spec,
                                            const run::StepInput& step,
                                            const LeverOptions& options) {
  if (scenario.locations.contains("failures")) {
    return std::nullopt;
  }
  std::string text = "nothing fails, as no failures are stated";
  Diagnostics ignored;
  const scenario::PresetPtr likely =
      scenario::presets_of(scenario).find(scenario::PresetKind::failures, kLikelyFailures, ignored);
  if (likely == nullptr) {
    return text;
  }
  spec.failures.preset = part_of(likely, &scenario::Preset::failures);
  spec.simulation.trials = std::min(spec.simulation.trials, options.trials);
  std::vector<run::RunProblem> unused;
  const std::optional<run::RunPlan> plan = run::resolve_run(spec, step, unused);
  if (!plan) {
    return text;
  }
  if (const auto run = run::simulate(*plan, {.threads = options.threads, .stop = options.stop})) {
    text += fmt::format("; with `failures: {}` the goodput is {} on average", kLikelyFailures,
                        format_percent(run->goodput.mean()));
  }
  return text;
}

std::optional<std::string> impossible_step(const report::Evaluation& evaluation) {
  const auto share = [&evaluation](report::MetricId id) {
    const report::MetricValue* metric = evaluation.metrics.find(id);
    return metric == nullptr ? 0.0 : metric->value;
  };
  const double mfu = share(report::MetricId::mfu);
  const double used = std::max(share(report::MetricId::mfu_6nd), share(report::MetricId::hfu));
  if (!evaluation.step.given || std::max(mfu, used) <= 1.0) {
    return std::nullopt;
  }
  if (used <= 1.0) {
    return fmt::format(
        "an MFU of {} counts the half of the attention that causal kernels leave out: of what is "
        "computed the GPUs would reach {} of their dense peak",
        format_percent(mfu), format_percent(used));
  }
  const Seconds time = to_seconds(evaluation.step.step_time);
  return fmt::format(
      "in a step of {}, as stated, the GPUs would work at {:.3g} times their dense peak: it takes "
      "at least {}",
      format_time(time), used, format_time(time * used));
}

std::optional<std::string> missing_spares(const report::Evaluation& evaluation) {
  const run::RunPlan& plan = *evaluation.plan;
  const run::RepairLoad load = run::repair_load(plan);
  const std::int64_t spares = plan.capacity.spare_nodes();
  constexpr double kWorthSaying = 0.01;  // of the time
  if (plan.capacity.elastic || load.mean <= std::max(static_cast<double>(spares), kWorthSaying)) {
    return std::nullopt;
  }
  return fmt::format(
      "{:.3g} nodes are in repair on average and {} {}, so the job waits for nodes; "
      "{} spare{} would do 99 % of the time",
      load.mean, spares == 0 ? std::string("no spare") : format_integer(spares),
      spares > 1 ? "stand by" : "stands by", format_integer(load.p99), load.p99 == 1 ? "" : "s");
}

std::optional<std::string> chosen_recompute(const scenario::Scenario& scenario,
                                            const Resolved& resolved) {
  const auto budget = scenario.step.recompute.memory_budget;
  if (!budget) {
    return std::nullopt;
  }
  scenario::Scenario chosen = scenario;
  chosen.step.recompute = {resolved.recompute, {}, resolved.modules};
  return fmt::format("recompute.memory_budget {} is met by recompute: {}", *budget,
                     scenario::value_of(chosen, "recompute").value_or(""));
}

}  // namespace orrery::evaluate
