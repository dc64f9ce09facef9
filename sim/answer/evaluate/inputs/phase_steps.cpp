#include "sim/answer/evaluate/inputs/phase_steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
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

Seconds forward_time(const scenario::Scenario& scenario, const Resolved& resolved, Seconds step) {
  const Seconds third = step * (1.0 / 3.0);
  const auto outcome = make_simulator()->simulate(step_input(scenario, resolved), resolved.costs,
                                                  {.timeline = true, .threads = 1});
  const auto* result = std::get_if<step::StepResult>(&outcome);
  if (result == nullptr || scenario.step.given_time) {
    return third;
  }
  std::vector<SimTime> busy(static_cast<std::size_t>(resolved.layout.pipeline));
  for (const step::Slice& slice : result->slices) {
    if (slice.task.kind == schedule::TaskKind::forward) {
      busy[static_cast<std::size_t>(slice.task.device)] += slice.end - slice.start;
    } else if (slice.task.kind == schedule::TaskKind::overlapped) {
      return third;
    }
  }
  const auto stages = static_cast<double>(resolved.layout.pipeline);
  const auto passes =
      static_cast<double>(resolved.layout.micro_batches * resolved.layout.virtual_stages);
  return to_seconds(*std::ranges::max_element(busy)) * (1.0 + (stages - 1.0) / passes);
}

using scenario::Scenario;

constexpr std::size_t kAllOfTheLargest = 64;
constexpr double kNextSize = 0.98;

// Numbers of replicas that fill whole nodes, from the largest below the scenario's.
std::vector<std::int64_t> possible_replicas(const Scenario& scenario, const layout::Layout& layout,
                                            std::int64_t min_nodes) {
  const std::int64_t per_node = scenario.cluster.gpus_per_node;
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  std::vector<std::int64_t> replicas;
  double next = static_cast<double>(layout.data);
  for (std::int64_t data = layout.data - 1; data >= 1; --data) {
    const std::int64_t gpus = data * replica;
    if (gpus < min_nodes * per_node) {
      break;
    }
    if (gpus % per_node != 0 ||
        (replicas.size() >= kAllOfTheLargest && static_cast<double>(data) > next)) {
      continue;
    }
    replicas.push_back(data);
    next = kNextSize * static_cast<double>(data);
  }
  return replicas;
}

// The batch of a shrunk job: a whole number of micro-batches on each replica. Without a range the
// slowest replica's share counts; with one the multiple next to batch.global, first of those in the
// range, the larger of two.
std::int64_t batch_on(const Scenario& scenario, std::int64_t replicas) {
  const std::int64_t at_once = scenario.batch.micro * replicas;
  const std::int64_t global = scenario.batch.global;
  const std::int64_t above = (global + at_once - 1) / at_once * at_once;
  const std::int64_t below = above - at_once;
  const std::optional<run::BatchRange>& range = scenario.run->capacity.elastic->batch;
  if (!range || above == global || below < at_once) {
    return above;
  }
  if (range->holds(above) != range->holds(below)) {
    return range->holds(above) ? above : below;
  }
  return above - global <= global - below ? above : below;
}

// The time for the tokens of one full step on `replicas`, or nothing when the scenario cannot run
// so or does not fit.
std::optional<Seconds> simulate(Scenario scenario, const layout::Layout& layout,
                                std::int64_t replicas, const EvaluateOptions& options) {
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  const std::int64_t batch = batch_on(scenario, replicas);
  const double work = scenario.run->capacity.elastic->batch
                          ? static_cast<double>(batch) / static_cast<double>(scenario.batch.global)
                          : 1.0;
  scenario.cluster.nodes = replicas * replica / scenario.cluster.gpus_per_node;
  scenario.layout.data.reset();
  scenario.batch.global = batch;
  Diagnostics ignored;
  const std::optional<Resolved> resolved = resolve(scenario, options.search, ignored);
  if (!resolved) {
    return std::nullopt;
  }
  const auto outcome =
      step::simulate_step(step_input(scenario, *resolved), resolved->costs, {.stop = options.stop});
  const auto* result = std::get_if<step::StepResult>(&outcome);
  if (result == nullptr || !result->feasibility.fits || !result->feasibility.fits_host) {
    return std::nullopt;
  }
  return to_seconds(result->step_time) / work;
}

std::string text_of(const run::BatchRange& range) {
  return range.max ? fmt::format("{} to {}", range.min, *range.max)
                   : fmt::format("{} or more", range.min);
}

// The full job must lie in its range; a warning when a shrunk one leaves it.
void check_batches(const Scenario& scenario, const std::vector<std::int64_t>& replicas,
                   std::int64_t gpus_per_replica, Diagnostics& diagnostics) {
  const std::optional<run::BatchRange>& range = scenario.run->capacity.elastic->batch;
  constexpr std::string_view kKey = "capacity.elastic.batch";
  if (!range) {
    return;
  }
  if (!range->holds(scenario.batch.global)) {
    diagnostics.error(scenario.where(kKey), kKey,
                      fmt::format("batch.global of {} is outside the range", scenario.batch.global),
                      text_of(*range));
    return;
  }
  std::vector<std::int64_t> outside;
  std::copy_if(replicas.begin(), replicas.end(), std::back_inserter(outside),
               [&](std::int64_t count) { return !range->holds(batch_on(scenario, count)); });
  if (!outside.empty()) {
    diagnostics.warning(
        scenario.where(kKey), kKey,
        fmt::format("shrinking leaves the range at {} of {} sizes; at the largest of them, {} "
                    "nodes, equal shares make a batch of {}",
                    outside.size(), replicas.size(),
                    outside.front() * gpus_per_replica / scenario.cluster.gpus_per_node,
                    batch_on(scenario, outside.front())),
        text_of(*range));
  }
}

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

// A phase on other nodes or in another layout begins with a load that splits the state anew.
bool reloads(const Scenario& before, const Scenario& here) {
  return before.cluster.nodes != here.cluster.nodes || before.layout.tensor != here.layout.tensor ||
         before.layout.pipeline != here.layout.pipeline ||
         before.layout.virtual_stages != here.layout.virtual_stages;
}

void warn_of_free_changes(const Scenario& scenario, const std::vector<PhaseSpec>& phases,
                          const std::vector<Scenario>& scenarios, Diagnostics& diagnostics) {
  for (std::size_t i = 1; i < phases.size(); ++i) {
    if (phases[i].change == Seconds{} && reloads(scenarios[i - 1], scenarios[i])) {
      diagnostics.warning(
          scenario.where(kKey), std::string(kKey),
          fmt::format("{}: the layout changes, which takes no time as stated", phases[i].name),
          "restart: the time of a restart and of loading the checkpoint anew");
    }
  }
}

}  // namespace

run::RolloutResult rollout_step(const scenario::Scenario& scenario, const Resolved& resolved,
                                const step::StepResult& step) {
  const Seconds update = to_seconds(step.step_time);
  const auto served = static_cast<double>(model::count_parameters(scenario.model).total);
  constexpr Bytes kSixteenBits = bytes(2.0);
  return run::compose_rollout(*scenario.rollout,
                              {.tokens = in_tokens(tokens_per_step(scenario)),
                               .update = update,
                               .forward = forward_time(scenario, resolved, update),
                               .gpus = step.gpus,
                               .weights = kSixteenBits * served});
}

std::vector<run::ElasticSize> elastic_sizes(const Scenario& scenario, const layout::Layout& layout,
                                            const PhaseBase& base, const EvaluateOptions& options,
                                            Diagnostics& diagnostics) {
  std::vector<run::ElasticSize> sizes;
  if (!scenario.run || !scenario.run->capacity.elastic) {
    return sizes;
  }
  if (!scenario.cluster.mixed.empty()) {
    diagnostics.warning(scenario.where("capacity.elastic"), "capacity.elastic",
                        "has no effect: which GPUs are missing is not known in a mixed cluster");
    return sizes;
  }
  const std::vector<std::int64_t> replicas =
      possible_replicas(scenario, layout, scenario.run->capacity.elastic->min_nodes);
  std::vector<std::optional<Seconds>> times(replicas.size());
  parallel_for(static_cast<std::int64_t>(replicas.size()),
               {.threads = options.threads, .stop = options.stop},
               [&](std::int64_t begin, std::int64_t end) {
                 for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end);
                      ++i) {
                   times[i] = simulate(scenario, layout, replicas[i], options);
                 }
               });
  stop_point(options.stop);
  std::vector<std::int64_t> possible;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    if (times[i]) {
      possible.push_back(replicas[i]);
    }
  }
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  check_batches(scenario, possible, replica, diagnostics);
  const double given = base.given ? *base.given / base.simulated : 1.0;
  for (std::size_t i = replicas.size(); i-- > 0;) {
    if (times[i]) {
      sizes.push_back(
          {replicas[i] * replica / scenario.cluster.gpus_per_node, to_sim_time(*times[i] * given)});
    }
  }
  return sizes;
}

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
                           .nodes = scenarios[i].cluster.nodes,
                           .reloads = i > 0 && reloads(scenarios[i - 1], scenarios[i])});
  }
  return true;
}

}  // namespace orrery::evaluate
