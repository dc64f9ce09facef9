#include "sim/answer/plan/finalists.hpp"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/plan/search/objective.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::plan {

namespace {

// One plan with what the comparison needs of its trials.
struct Entry {
  Finalist finalist;
  std::optional<TrialValues> trials;
};

// The step alone, which takes milliseconds: for plans that are wanted after a stop request, and
// with `levers` for how sure it is.
std::optional<report::Evaluation> evaluate_step_only(scenario::Scenario scenario,
                                                     const PlanQuestion& question,
                                                     bool levers = false) {
  scenario.run.reset();
  scenario.expect.clear();
  evaluate::EvaluateOptions options;
  options.levers = levers;
  options.search = question.search;
  Diagnostics ignored;
  return evaluate::evaluate(scenario, options, ignored);
}

// Nothing after a stop request.
std::optional<report::Evaluation> evaluate_in_full(std::size_t point, const PlanQuestion& question,
                                                   sweep::PointEvaluator& evaluator) {
  if (question.stop.stop_requested()) {
    return std::nullopt;
  }
  try {
    Diagnostics ignored;
    return evaluator.evaluation(point, question.threads, question.stop, ignored);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) {
      throw;
    }
  }
  return std::nullopt;
}

std::optional<Entry> evaluate(std::size_t point, const SimulatedPool& simulated,
                              const PlanQuestion& question, sweep::PointEvaluator& evaluator) {
  const PoolPoint& known = simulated.points[point];
  Entry entry;
  entry.finalist.proposal = known.proposal;
  Diagnostics ignored;
  const auto scenario = question.base.with(evaluator.sweep().changes(point), ignored);
  if (!scenario) {
    return std::nullopt;
  }
  std::optional<report::Evaluation> evaluation = evaluate_in_full(point, question, evaluator);
  if (!evaluation && question.stop.stop_requested()) {
    evaluation = evaluate_step_only(*scenario, question);
  }
  if (!evaluation) {
    return std::nullopt;
  }
  entry.finalist.facts = facts_of(*scenario, *evaluation);
  for (const Trait& trait : known.proposal.traits) {
    if (trait.name == "recompute") {
      entry.finalist.facts.recompute = trait.value;
    }
  }
  entry.finalist.value =
      known.objective.value_or(objective_value(*evaluation, question.spec.objective).value_or(0.0));
  if (evaluation->plan) {
    entry.trials = trial_values(*evaluation->plan, question.threads, question.stop);
  }
  entry.finalist.evaluation = *std::move(evaluation);
  return entry;
}

// fewest_gpus compares the finish of plans with as many GPUs.
Objective compared(Objective objective) {
  return objective == Objective::fewest_gpus ? Objective::finish_time : objective;
}

// Reasons tell of seconds where an interrupted evaluation has no run to tell of.
Objective told(const Finalist& winner, const Finalist& other, Objective objective) {
  const bool both = objective_value(winner.evaluation, compared(objective)).has_value() &&
                    objective_value(other.evaluation, compared(objective)).has_value();
  return both ? objective : Objective::step_time;
}

PairedDifference difference(const Entry& winner, const Entry& other, Objective objective) {
  if (!winner.trials || !other.trials || objective == Objective::step_time) {
    const double change = other.finalist.value - winner.finalist.value;
    return {change, {change, change}};
  }
  return paired_difference(objective_trials(winner.finalist.evaluation, *winner.trials, objective),
                           objective_trials(other.finalist.evaluation, *other.trials, objective));
}

bool is_tie(const PairedDifference& behind, double of, bool paired, double margin) {
  const bool open = paired && behind.holds_zero();
  return open || std::abs(behind.mean) <= margin * std::abs(of);
}

// Plans with more GPUs than the fewest: what they buy.
void judge_size(const Entry& winner, double more, Finalist& finalist) {
  finalist.behind = {more, {more, more}};
  finalist.behind_in = Objective::fewest_gpus;
  finalist.paired = false;
  finalist.standing = Standing::behind;
  const auto finish = [](const Finalist& one) {
    return objective_value(one.evaluation, Objective::finish_time).value_or(0.0);
  };
  const double later = finish(finalist) - finish(winner.finalist);
  finalist.reason =
      fmt::format("{} GPUs more, to be done {} {}", format_integer(static_cast<std::int64_t>(more)),
                  format_time(seconds(std::abs(later))), later > 0.0 ? "later" : "earlier");
}

void judge(const Entry& winner, Entry& other, const PlanSpec& spec) {
  Finalist& finalist = other.finalist;
  const double more = finalist.value - winner.finalist.value;
  if (spec.objective == Objective::fewest_gpus && more != 0.0) {
    judge_size(winner, more, finalist);
    return;
  }
  const Objective objective = compared(spec.objective);
  finalist.paired =
      winner.trials.has_value() && other.trials.has_value() && objective != Objective::step_time;
  finalist.behind = difference(winner, other, objective);
  finalist.behind_in = objective;
  const double of = objective == spec.objective
                        ? winner.finalist.value
                        : objective_value(winner.finalist.evaluation, objective).value_or(0.0);
  const bool tie = is_tie(finalist.behind, of, finalist.paired, spec.tie);
  finalist.standing = tie ? Standing::tie : Standing::behind;
  finalist.reason = reason(told(winner.finalist, finalist, objective),
                           {winner.finalist.evaluation, winner.finalist.facts},
                           {finalist.evaluation, finalist.facts});
}

// As `orrery run` says how sure the figures of the scenario are; the others only have to be told
// apart from it.
void add_band(Finalist& winner, const PlanQuestion& question) {
  Diagnostics ignored;
  const auto scenario = question.base.with(winner.proposal.changes, ignored);
  const auto sure = scenario && !question.stop.stop_requested()
                        ? evaluate_step_only(*scenario, question, true)
                        : std::nullopt;
  if (sure) {
    winner.evaluation.band = sure->band;
  }
}

}  // namespace

Facts facts_of(const scenario::Scenario& scenario, const report::Evaluation& evaluation) {
  Facts facts;
  facts.nvlink_domain = hardware::nvlink_gpus(scenario.cluster);
  if (evaluation.plan) {
    facts.spares = scenario.run->capacity.spares;
    if (const auto* interval = evaluation.metrics.find(report::MetricId::checkpoint_interval)) {
      facts.checkpoints = "every " + format_time(seconds(interval->value));
    }
  }
  return facts;
}

std::vector<Finalist> make_finalists(const std::vector<std::size_t>& chosen,
                                     const SimulatedPool& simulated, const PlanQuestion& question,
                                     sweep::PointEvaluator& evaluator) {
  std::vector<Entry> entries;
  for (const std::size_t point : chosen) {
    if (auto entry = evaluate(point, simulated, question, evaluator)) {
      entries.push_back(*std::move(entry));
    }
    if (question.progress) {
      question.progress(Stage::rank, static_cast<std::int64_t>(entries.size()),
                        static_cast<std::int64_t>(chosen.size()));
    }
  }
  std::vector<Finalist> finalists;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i == 0) {
      entries[i].finalist.standing = Standing::best;
      add_band(entries[i].finalist, question);
    } else {
      judge(entries.front(), entries[i], question.spec);
    }
  }
  for (Entry& entry : entries) {
    finalists.push_back(std::move(entry.finalist));
  }
  return finalists;
}

std::optional<Finalist> compare_with(const Finalist& winner, std::size_t point,
                                     const SimulatedPool& simulated, const PlanQuestion& question,
                                     sweep::PointEvaluator& evaluator) {
  auto entry = evaluate(point, simulated, question, evaluator);
  if (!entry) {
    return std::nullopt;
  }
  Entry best{winner, std::nullopt};
  if (winner.evaluation.plan && !question.stop.stop_requested()) {
    best.trials = trial_values(*winner.evaluation.plan, question.threads, question.stop);
  }
  judge(best, *entry, question.spec);
  return std::move(entry->finalist);
}

}  // namespace orrery::plan
