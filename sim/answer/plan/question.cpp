#include "sim/answer/plan/question.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "sim/run/theory/theory.hpp"
#include "sim/step/model/parameters.hpp"

namespace orrery::plan {

namespace {

bool is_priced(const scenario::Scenario& scenario) {
  if (!scenario.run) {
    return false;
  }
  const run::PriceSpec& prices = scenario.run->prices;
  return prices.preset != nullptr || prices.gpu_hour || prices.owned || prices.reserved ||
         prices.spot_gpu_hour;
}

// Money is a window, too.
bool is_window(const scenario::Scenario& scenario) {
  if (!scenario.run) {
    return false;
  }
  const auto& budget = scenario.run->training.budget;
  return scenario.run->training.duration || (budget && std::holds_alternative<Dollars>(*budget));
}

bool needs_price(Objective objective) {
  return objective == Objective::cost || objective == Objective::cost_per_token;
}

// Figures that a fixed window decides, whatever the layout.
bool needs_target(Objective objective) {
  return objective == Objective::finish_time || objective == Objective::cost ||
         objective == Objective::energy || objective == Objective::fewest_gpus;
}

void check_objective(const PlanSpec& spec, const scenario::Scenario& scenario,
                     Diagnostics& diagnostics) {
  const SourceLocation where = scenario.where("plan.objective");
  const std::string_view name = to_string(spec.objective);
  if (spec.objective != Objective::step_time && !scenario.run) {
    diagnostics.error(
        where, "plan.objective",
        fmt::format("{} is a figure of a run, and the scenario has no `training`", name),
        "step_time, or training: {tokens: 1T}");
    return;
  }
  if (needs_target(spec.objective) && is_window(scenario)) {
    diagnostics.error(where, "plan.objective",
                      fmt::format("{} is decided by training.duration, whatever the layout", name),
                      "cost_per_token or step_time, or training.tokens or steps as the target");
  }
  if (needs_price(spec.objective) && !is_priced(scenario) && spec.gpu_hours.empty()) {
    diagnostics.error(where, "plan.objective", fmt::format("{} needs a price", name),
                      "prices: {gpu_hour: $2.50/h, as_of: 2026-11-01}");
  }
  if (spec.objective == Objective::fewest_gpus && !spec.deadline) {
    diagnostics.error(where, "plan.objective", "fewest_gpus needs a deadline",
                      "plan.deadline: 60d");
  }
}

void check_constraints(const PlanSpec& spec, const scenario::Scenario& scenario,
                       Diagnostics& diagnostics) {
  if (spec.deadline && (!scenario.run || is_window(scenario))) {
    diagnostics.error(scenario.where("plan.deadline"), "plan.deadline",
                      scenario.run ? "says nothing beside training.duration: every run ends then"
                                   : "needs a run, and the scenario has no `training`",
                      "training.tokens or training.steps");
  }
  if (spec.constraints.budget && !is_priced(scenario) && spec.gpu_hours.empty()) {
    diagnostics.error(scenario.where("plan.constraints.budget"), "plan.constraints.budget",
                      "needs a price", "prices: {gpu_hour: $2.50/h, as_of: 2026-11-01}");
  }
}

void check_gpus(const PlanSpec& spec, const scenario::Scenario& scenario,
                Diagnostics& diagnostics) {
  const AxisChoice& gpus = spec[Axis::gpu];
  const std::size_t listed = gpus.values.size();
  const bool money = needs_price(spec.objective) || spec.constraints.budget;
  if (listed > 1 && money && spec.gpu_hours.empty()) {
    diagnostics.error(gpus.where, "plan.gpu_hours",
                      fmt::format("is needed to compare the cost of {} GPU types", listed),
                      "a price for each of plan.search.gpu, such as [$2.50/h, $3.20/h]");
  }
  if (!spec.gpu_hours.empty() && spec.gpu_hours.size() != listed) {
    diagnostics.error(scenario.where("plan.gpu_hours"), "plan.gpu_hours",
                      fmt::format("has {} prices for {} GPU types in plan.search.gpu",
                                  spec.gpu_hours.size(), listed),
                      "a price for each");
  }
}

void check_run_axes(const PlanQuestion& question, const scenario::Scenario& scenario,
                    Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < kRunAxes; ++i) {
    const AxisChoice& choice = question.spec.run[i];
    if (choice.mode != AxisChoice::Mode::listed) {
      continue;
    }
    if (!scenario.run) {
      diagnostics.error(choice.where, choice.key, "needs a run, and the scenario has no `training`",
                        "training: {tokens: 1T}");
      continue;
    }
    if (static_cast<RunAxis>(i) == RunAxis::spot_share && !scenario.run->capacity.spot) {
      diagnostics.error(choice.where, choice.key,
                        "needs spot nodes, and the scenario has no `capacity.spot`",
                        "capacity: {spot: {rate: 0.02/h, returns: 10min}}");
      continue;
    }
    for (const std::string& value : choice.values) {
      question.base.check({std::string(kRunAxisKeys[i]), value, choice.where}, diagnostics);
    }
  }
}

void warn_of_idle_choices(const PlanSpec& spec, const scenario::Scenario& scenario,
                          Diagnostics& diagnostics) {
  const AxisChoice& nodes = spec[Axis::nodes];
  if (spec.objective == Objective::fewest_gpus && nodes.values.size() < 2) {
    diagnostics.warning(
        nodes.mode == AxisChoice::Mode::listed ? nodes.where : scenario.where("plan.objective"),
        "plan.search.nodes",
        "lists no second cluster size: there is nothing to choose the fewest from",
        "such as [8, 16, 32]");
  }
}

}  // namespace

void check_question(const PlanQuestion& question, const scenario::Scenario& scenario,
                    Diagnostics& diagnostics) {
  check_objective(question.spec, scenario, diagnostics);
  check_constraints(question.spec, scenario, diagnostics);
  check_gpus(question.spec, scenario, diagnostics);
  check_run_axes(question, scenario, diagnostics);
  warn_of_idle_choices(question.spec, scenario, diagnostics);
}

std::vector<double> gpu_hours_by_machine(const PlanSpec& spec, const Workbench& bench) {
  std::vector<double> prices;
  if (spec.gpu_hours.empty()) {
    return prices;
  }
  const std::vector<std::string>& names = spec[Axis::gpu].values;
  for (const Machine& machine : bench.machines) {
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), machine.name) -
                                             names.begin());
    prices.push_back(at < spec.gpu_hours.size() ? in_dollars_per_hour(spec.gpu_hours[at]) : 1.0);
  }
  return prices;
}

std::optional<double> sequences_of(const scenario::Scenario& scenario) {
  if (!scenario.run) {
    return std::nullopt;
  }
  const run::TrainingSpec& training = scenario.run->training;
  std::optional<Tokens> target = training.tokens;
  if (const auto* compute = training.budget ? std::get_if<Flop>(&*training.budget) : nullptr) {
    target = run::tokens_for(*compute,
                             static_cast<double>(model::count_parameters(scenario.model).active));
  }
  if (target) {
    return in_tokens(*target) / static_cast<double>(scenario.model.sequence_length);
  }
  return training.steps ? std::optional(static_cast<double>(*training.steps) *
                                        static_cast<double>(scenario.batch.global))
                        : std::nullopt;
}

}  // namespace orrery::plan
