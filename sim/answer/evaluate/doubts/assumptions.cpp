#include "sim/answer/evaluate/doubts/assumptions.hpp"

#include <fmt/format.h>

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

namespace {

// The mean goodput of the run with another `spec`; nothing where it is refused or stopped.
std::optional<std::string> other_goodput(run::RunSpec spec, const run::StepInput& step,
                                         const LeverOptions& options) {
  spec.simulation.trials = std::min(spec.simulation.trials, options.trials);
  std::vector<run::RunProblem> unused;
  const std::optional<run::RunPlan> plan = run::resolve_run(spec, step, unused);
  const auto run = plan ? run::simulate(*plan, {.threads = options.threads, .stop = options.stop})
                        : std::nullopt;
  return run ? std::optional(format_percent(run->goodput.mean())) : std::nullopt;
}

// Whether a failure costs the job more than the work that it loses and the reading of a checkpoint.
bool takes_time(const run::RecoveryPlan& recovery) {
  return std::ranges::any_of(recovery.stages, [](const auto& stages) {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (i != index_of(run::RecoveryStage::load) && run::mean(stages[i]) > Seconds{}) {
        return true;
      }
    }
    return false;
  });
}

}  // namespace

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
  if (const auto goodput = other_goodput(std::move(spec), step, options)) {
    text += fmt::format("; with `failures: {}` the goodput is {} on average", kLikelyFailures,
                        *goodput);
  }
  return text;
}

std::optional<std::string> assumed_recovery(const scenario::Scenario& scenario, run::RunSpec spec,
                                            const run::StepInput& step,
                                            const LeverOptions& options) {
  if (scenario.locations.contains("recovery")) {
    return std::nullopt;
  }
  std::vector<run::RunProblem> unused;
  const std::optional<run::RunPlan> plan = run::resolve_run(spec, step, unused);
  if (!plan || !plan->mtbf || plan->failures.log || takes_time(plan->recovery)) {
    return std::nullopt;
  }
  std::string text =
      "a restart takes no longer than reading the checkpoint, as no recovery is stated";
  Diagnostics ignored;
  const scenario::PresetPtr likely =
      scenario::presets_of(scenario).find(scenario::PresetKind::recovery, kLikelyRecovery, ignored);
  if (likely == nullptr) {
    return text;
  }
  spec.recovery.preset = part_of(likely, &scenario::Preset::recovery);
  if (const auto goodput = other_goodput(std::move(spec), step, options)) {
    text += fmt::format("; with `recovery: {}` the goodput is {} on average", kLikelyRecovery,
                        *goodput);
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

namespace {

// A superchip in other nodes than those in which it is sold.
void warn_of_the_node(const scenario::Scenario& scenario, const hardware::GpuProfile& gpu,
                      Diagnostics& diagnostics) {
  const hardware::ClusterSpec& cluster = scenario.cluster;
  Diagnostics unused;
  const scenario::PresetPtr sold =
      cluster.preset.empty() && !gpu.sold_as.empty()
          ? scenario::presets_of(scenario).find(scenario::PresetKind::clusters, gpu.sold_as, unused)
          : nullptr;
  if (sold && cluster.gpus_per_node > sold->cluster.gpus_per_node) {
    diagnostics.warning(scenario.where("cluster.gpus_per_node"), "cluster.gpus_per_node",
                        fmt::format("is {}, and {} is sold in nodes of {}", cluster.gpus_per_node,
                                    gpu.name, sold->cluster.gpus_per_node),
                        fmt::format("cluster.preset: {}", gpu.sold_as));
  }
}

// A stack that does not run on this GPU, or that nobody runs on it any more.
void warn_of_the_stack(const scenario::Scenario& scenario, const cost::CostModel& costs,
                       Diagnostics& diagnostics) {
  const hardware::SoftwareProfile& software = costs.software();
  const hardware::GpuArch arch = costs.gpu().arch;
  const auto& vendors = software.vendors;
  const bool old_gpu = arch == hardware::GpuArch::volta || arch == hardware::GpuArch::ampere;
  if (!vendors.empty() && std::ranges::find(vendors, hardware::vendor_of(arch)) == vendors.end()) {
    diagnostics.warning(scenario.where("software"), "software",
                        fmt::format("{} runs on GPUs of {}, and {} is none of them", software.name,
                                    fmt::join(vendors, " and "), costs.gpu().name));
  } else if (!software.successor.empty() && !old_gpu) {
    diagnostics.warning(
        scenario.where("software"), "software",
        fmt::format("{} ({}) is older than {}", software.name, software.version, costs.gpu().name),
        software.successor);
  }
}

// Answers that are bounds rather than estimates, said where the key stands.
void warn_of_the_step(const scenario::Scenario& scenario, const step::StepInput& input,
                      Diagnostics& diagnostics) {
  if (scenario.layout.sharding == layout::Sharding::zero2 && input.layout.virtual_stages == 1 &&
      input.choices.reduction == hardware::GradientReduction::per_step) {
    diagnostics.warning(
        scenario.where("layout.sharding"), "layout.sharding",
        "where gradients are reduced once per step, zero2 keeps all of them until then "
        "and their shard beside them: more memory than zero1",
        "zero1, or overlap.reduction: per_micro_batch");
  }
  if (scenario.model.moe && scenario.model.moe->node_limit > 0 && scenario.layout.expert > 1 &&
      scenario.locations.contains("model.moe.node_limit") &&
      input.choices.experts.dispatcher == hardware::ExpertDispatcher::alltoall) {
    diagnostics.warning(scenario.where("model.moe.node_limit"), "model.moe.node_limit",
                        "has no effect: a copy is sent for every expert "
                        "(software_options.expert_dispatcher: deepep sends one per node)");
  }
  if (scenario.model.moe && scenario.model.moe->capacity_factor > 0.0 &&
      scenario.model.moe->capacity_factor < 1.0) {
    diagnostics.warning(scenario.where("model.moe.capacity"), "model.moe.capacity",
                        "below 1 drops tokens, and MFU counts them as if they were computed");
  }
}

}  // namespace

void warn_of_the_setup(const scenario::Scenario& scenario, const Resolved& resolved,
                       Diagnostics& diagnostics) {
  warn_of_the_node(scenario, resolved.costs.gpu(), diagnostics);
  warn_of_the_stack(scenario, resolved.costs, diagnostics);
  warn_of_the_step(scenario, step_input(scenario, resolved), diagnostics);
}

}  // namespace orrery::evaluate
