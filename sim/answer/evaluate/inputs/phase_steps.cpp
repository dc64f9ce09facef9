#include "sim/answer/evaluate/inputs/phase_steps.hpp"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/answer/evaluate/inputs/fill_metrics.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/files/stop_point.hpp"
#include "sim/base/parallel.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::evaluate {

namespace {

using run::PhaseSpec;
using scenario::Scenario;

constexpr std::string_view kKey = "training.phases";

PhaseShape shape_of(const Scenario& scenario) {
  return {scenario.batch.global,    scenario.batch.micro,          scenario.model.sequence_length,
          scenario.cluster.nodes,   scenario.layout.context,       scenario.layout.tensor,
          scenario.layout.pipeline, scenario.layout.virtual_stages};
}

bool fail(const Scenario& scenario, const PhaseSpec& phase, std::string message,
          std::string allowed, Diagnostics& diagnostics) {
  const std::string key =
      scenario.locations.contains(kKey) ? std::string(kKey) : std::string("training.batch_ramp");
  diagnostics.error(scenario.where(key), key, fmt::format("{}: {}", phase.name, std::move(message)),
                    std::move(allowed));
  return false;
}

// The scenario with what the phase states.
bool apply(const PhaseSpec& phase, Scenario& scenario, Diagnostics& diagnostics) {
  const std::int64_t per_node = scenario.cluster.gpus_per_node;
  if (phase.nodes && phase.gpus) {
    return fail(scenario, phase, "states nodes and gpus", "one of the two", diagnostics);
  }
  if (phase.gpus && *phase.gpus % per_node != 0) {
    return fail(scenario, phase, fmt::format("{} GPUs are no whole number of nodes", *phase.gpus),
                fmt::format("a multiple of {}", per_node), diagnostics);
  }
  const std::int64_t nodes =
      phase.gpus ? *phase.gpus / per_node : phase.nodes.value_or(scenario.cluster.nodes);
  if (nodes > scenario.cluster.nodes) {
    return fail(scenario, phase,
                fmt::format("{} nodes, but the cluster has {}", nodes, scenario.cluster.nodes),
                fmt::format("at most {}", scenario.cluster.nodes), diagnostics);
  }
  const bool other_layout = phase.context || phase.tensor || phase.pipeline;
  if (nodes != scenario.cluster.nodes || other_layout) {
    scenario.layout.data.reset();  // as many replicas as the nodes of the phase hold
  }
  scenario.cluster.nodes = nodes;
  scenario.batch.global = phase.global_batch.value_or(scenario.batch.global);
  scenario.batch.micro = phase.micro_batch.value_or(scenario.batch.micro);
  scenario.model.sequence_length = phase.sequence_length.value_or(scenario.model.sequence_length);
  layout::LayoutSpec& layout = scenario.layout;
  layout.context = phase.context.value_or(layout.context);
  layout.tensor = phase.tensor.value_or(layout.tensor);
  layout.pipeline = phase.pipeline.value_or(layout.pipeline);
  layout.virtual_stages = phase.virtual_stages.value_or(layout.virtual_stages);
  schedule::ScheduleKind& schedule = scenario.step.schedule;  // as launchers do it
  if (!schedule::runs_chunks(schedule, layout.virtual_stages, layout.pipeline) ||
      (schedule == schedule::ScheduleKind::none && layout.pipeline > 1)) {
    schedule = layout.virtual_stages > 1 ? schedule::ScheduleKind::interleaved
                                         : schedule::ScheduleKind::one_f_one_b;
  }
  return true;
}

// The step simulator's time, or why there is none.
std::variant<PhaseStep, Diagnostic> simulate(const Scenario& scenario,
                                             const EvaluateOptions& options) {
  Diagnostics diagnostics;
  const auto first_error = [&diagnostics]() -> Diagnostic {
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      if (diagnostic.severity == Severity::error) {
        return diagnostic;
      }
    }
    return {};
  };
  const std::optional<Resolved> resolved = resolve(scenario, options.search, diagnostics);
  if (!resolved) {
    return first_error();
  }
  auto outcome =
      step::simulate_step(step_input(scenario, *resolved), resolved->costs, {.stop = options.stop});
  if (auto* problem = std::get_if<step::StepProblem>(&outcome)) {
    diagnostics.error(scenario.where(problem->key), problem->key, problem->message,
                      problem->allowed);
    return first_error();
  }
  const auto& result = std::get<step::StepResult>(outcome);
  const step::Feasibility& fit = result.feasibility;
  return PhaseStep{to_seconds(result.step_time),
                   fit.fits ? std::string()
                            : fmt::format("a GPU of stage {} lacks {}", fit.worst_stage,
                                          format_bytes_binary(Bytes{} - fit.headroom))};
}

// Adds the step time of every wanted shape to `base.known`.
bool simulate_all(const std::vector<Scenario>& scenarios, const std::vector<PhaseSpec>& phases,
                  const std::map<PhaseShape, std::size_t>& wanted, const EvaluateOptions& options,
                  PhaseBase& base, Diagnostics& diagnostics) {
  const std::vector<std::pair<PhaseShape, std::size_t>> list(wanted.begin(), wanted.end());
  std::vector<std::variant<PhaseStep, Diagnostic>> outcomes(list.size());
  parallel_for(
      static_cast<std::int64_t>(list.size()), {.threads = options.threads, .stop = options.stop},
      [&](std::int64_t begin, std::int64_t end) {
        for (auto n = static_cast<std::size_t>(begin); n < static_cast<std::size_t>(end); ++n) {
          outcomes[n] = simulate(scenarios[list[n].second], options);
        }
      });
  stop_point(options.stop);
  for (std::size_t n = 0; n < list.size(); ++n) {
    if (const auto* problem = std::get_if<Diagnostic>(&outcomes[n])) {
      return fail(scenarios[list[n].second], phases[list[n].second],
                  fmt::format("{}: {}", problem->key, problem->message), problem->allowed,
                  diagnostics);
    }
    base.known.emplace(list[n].first, std::get<PhaseStep>(outcomes[n]));
  }
  return true;
}

// A layout is changed by a save, a restart and a load that splits the state anew.
void warn_of_free_changes(const Scenario& scenario, const std::vector<PhaseSpec>& phases,
                          const std::vector<Scenario>& scenarios, Diagnostics& diagnostics) {
  for (std::size_t i = 1; i < phases.size(); ++i) {
    const layout::LayoutSpec& before = scenarios[i - 1].layout;
    const layout::LayoutSpec& here = scenarios[i].layout;
    const bool same = before.tensor == here.tensor && before.pipeline == here.pipeline &&
                      before.virtual_stages == here.virtual_stages;
    if (!same && phases[i].change == Seconds{}) {
      diagnostics.warning(
          scenario.where(kKey), std::string(kKey),
          fmt::format("{}: the layout changes, which takes no time as stated", phases[i].name),
          "restart: the time of a restart and of loading the checkpoint anew");
    }
  }
}

}  // namespace

bool add_phase_steps(const Scenario& scenario, const EvaluateOptions& options, PhaseBase& base,
                     run::TrainingSpec& training, run::StepInput& step, Diagnostics& diagnostics) {
  training.phases = run::phases_of(training, scenario.batch.global, scenario.model.sequence_length);
  base.known.emplace(shape_of(scenario), PhaseStep{base.simulated});
  base.lacking.clear();
  std::vector<Scenario> scenarios;
  std::map<PhaseShape, std::size_t> wanted;  // by shape: the phase that is simulated for it
  for (std::size_t i = 0; i < training.phases.size(); ++i) {
    scenarios.push_back(scenario);
    if (!apply(training.phases[i], scenarios.back(), diagnostics)) {
      return false;
    }
    const PhaseShape shape = shape_of(scenarios.back());
    if (!training.phases[i].step_time && !base.known.contains(shape)) {
      wanted.emplace(shape, i);
    }
  }
  warn_of_free_changes(scenario, training.phases, scenarios, diagnostics);
  if (!simulate_all(scenarios, training.phases, wanted, options, base, diagnostics)) {
    return false;
  }
  for (std::size_t i = 0; i < training.phases.size(); ++i) {
    Seconds time;
    if (training.phases[i].step_time) {
      time = *training.phases[i].step_time;
    } else {
      const PhaseStep& known = base.known.at(shape_of(scenarios[i]));
      time = known.time * (base.given ? *base.given / base.simulated : 1.0);
      if (!known.lack.empty()) {
        base.lacking.push_back(
            fmt::format("phase {} does not fit: {}", training.phases[i].name, known.lack));
      }
    }
    step.phases.push_back({.step_time = to_sim_time(time),
                           .tokens_per_step = tokens_per_step(scenarios[i]),
                           .nodes = scenarios[i].cluster.nodes});
  }
  return true;
}

}  // namespace orrery::evaluate
