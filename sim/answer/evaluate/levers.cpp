#include "sim/answer/evaluate/levers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/run/monte_carlo.hpp"

namespace orrery::evaluate {

namespace {

struct Means {
  double cost = 0.0;
  double tokens = 0.0;
};

std::optional<Means> means(const run::RunPlan& plan, const LeverOptions& options) {
  const auto run = run::simulate(plan, {.threads = options.threads, .stop = options.stop});
  if (!run || run->finished < run->trials || run->tokens.mean() <= 0.0) {
    return std::nullopt;
  }
  return Means{run->cost.mean(), run->tokens.mean()};
}

using report::MetricId;
using run::RunPlan;

constexpr double kOnePoint = 0.01;
constexpr double kFewerFailures = 0.9;

// A change of the plan and how it reads in a sentence.
struct Change {
  std::string text;
  std::function<void(RunPlan&)> apply = {};
  bool moves_failures = false;
  double step_factor = 1.0;  // of the time of a step, in place of `apply`
  std::vector<step::StepCategory> without = {};
};

// Means over trials; nothing when one of them gave up.
struct Outcome {
  double wall = 0.0;
  double tokens = 0.0;
  double cost = 0.0;
};

std::optional<Outcome> outcome_of(std::span<const run::TrialTotals> trials) {
  Outcome sum;
  for (const run::TrialTotals& trial : trials) {
    if (!trial.finished) {
      return std::nullopt;
    }
    sum.wall += trial.wall;
    sum.tokens += trial.tokens;
    sum.cost += trial.cost;
  }
  const auto count = static_cast<double>(trials.size());
  return Outcome{sum.wall / count, sum.tokens / count, sum.cost / count};
}

// What a change is worth, for the same work.
struct Delta {
  double finish = 0.0;
  double cost = 0.0;
};

// Of the changed plan against the trials of the plan as it is.
std::optional<Delta> delta(std::span<const run::TrialTotals> before, RunPlan changed,
                           std::int64_t trials, const LeverOptions& options) {
  changed.simulation.trials = std::min(static_cast<std::int64_t>(before.size()), trials);
  const auto run = run::simulate(changed, {.threads = options.threads, .stop = options.stop});
  const auto is = outcome_of(before.first(static_cast<std::size_t>(changed.simulation.trials)));
  const auto after = run ? outcome_of(run->first) : std::nullopt;
  if (!is || !after || is->tokens <= 0.0 || after->tokens <= 0.0) {
    return std::nullopt;
  }
  const double same_work = is->tokens / after->tokens;
  return Delta{after->wall * same_work - is->wall, after->cost * same_work - is->cost};
}

// Takes `less` from the longest stage of every cause's recovery.
void shorten_recovery(RunPlan& plan, Seconds less) {
  for (auto& stages : plan.recovery.stages) {
    auto longest = std::ranges::max_element(
        stages,
        [](const run::Duration& a, const run::Duration& b) { return run::mean(a) < run::mean(b); });
    const Seconds before = run::mean(*longest);
    *longest = run::scaled(*longest, std::max(0.0, (before - less) / before));
  }
}

void fewer_failures(RunPlan& plan) {
  plan.mtbf = *plan.mtbf / kFewerFailures;
  plan.failures.rate_factor *= kFewerFailures;
}

// As optimizers do that pass over a step whose loss or gradient norm is out of range.
void skip_spikes(RunPlan& plan) {
  for (run::PlannedSpike& spike : plan.failures.spikes) {
    spike.rewind_steps.reset();
    spike.skip_steps = 1;
  }
}

// Whether some failure takes a node away.
bool takes_nodes(const RunPlan& plan) {
  return plan.mtbf &&
         std::ranges::any_of(plan.causes, [](const auto& cause) { return cause.takes_nodes > 0; });
}

double metric(const report::Evaluation& evaluation, MetricId id) {
  const report::MetricValue* value = evaluation.metrics.find(id);
  return value != nullptr ? value->value : 0.0;
}

std::vector<Change> possible_changes(const report::Evaluation& evaluation) {
  std::vector<Change> changes;
  const double mfu = metric(evaluation, MetricId::mfu);
  if (mfu > 0.0) {
    changes.push_back({.text = "one point of MFU more", .step_factor = mfu / (mfu + kOnePoint)});
  }
  for (const report::StepSaving& saving : report::step_savings(evaluation.step)) {
    changes.push_back({.text = std::string(saving.change),
                       .step_factor = 1.0 - saving.share,
                       .without = saving.without});
  }
  const Seconds now = to_seconds(evaluation.step.step_time);
  constexpr std::size_t kMostSwitches = 2;
  for (std::size_t i = 0; i < std::min(kMostSwitches, evaluation.switches.size()); ++i) {
    const report::SwitchLever& lever = evaluation.switches[i];
    changes.push_back({.text = fmt::format("`{}: {}`", lever.key, lever.value),
                       .step_factor = lever.step_time / now});
  }
  const RunPlan& plan = *evaluation.plan;
  if (plan.mtbf) {
    changes.push_back({"one minute less recovery per failure",
                       [](RunPlan& changed) { shorten_recovery(changed, minutes(1.0)); }});
    changes.push_back({"10% fewer failures", fewer_failures, true});
  }
  if (plan.checkpoint_steps && plan.stall > SimTime{}) {
    changes.push_back({"checkpoints without stall", [](RunPlan& changed) {
                         for (run::PlannedSave& save : changed.checkpoint.saves) {
                           for (run::SavedCopy& copy : save.copies) {
                             copy.durable -= std::min(copy.durable, save.stall);
                           }
                           save.stall = SimTime{};
                         }
                       }});
  }
  if (std::ranges::any_of(plan.failures.spikes,
                          [](const auto& spike) { return spike.rewind_steps.has_value(); })) {
    changes.push_back({"leaving out the update of a spike in place of a rewind", skip_spikes});
  }
  if (takes_nodes(plan)) {
    changes.push_back(
        {"one more spare node", [](RunPlan& changed) { ++changed.capacity.spares.front().nodes; }});
  }
  if (plan.capacity.spot) {
    changes.push_back({"no nodes on spot", without_spot, true});
  }
  const bool waits =
      evaluation.run->ledger_sum.share(run::RunCategory::waiting_for_capacity) > kMilli;
  if (waits && plan.capacity.spares.front().nodes > 1) {  // twice one is one more
    changes.push_back({"twice as many spare nodes",
                       [](RunPlan& changed) { changed.capacity.spares.front().nodes *= 2; }});
  }
  return changes;
}

double shortest_step(const std::vector<Change>& changes) {
  double shortest = 1.0;
  for (const Change& change : changes) {
    shortest = std::min(shortest, change.step_factor);
  }
  return shortest;
}

RunPlan with_step(RunPlan plan, double factor) {
  scale_step_time(plan, factor);
  return plan;
}

}  // namespace

void without_spot(run::RunPlan& plan) {
  plan.capacity.spot.reset();
  plan.pricing.spot.reset();
  plan.pricing.traced_spot = false;
}

std::optional<DollarsPerSecond> spot_break_even(const run::RunPlan& plan,
                                                const LeverOptions& options) {
  if (!plan.capacity.spot || plan.pricing.fixed.empty()) {
    return std::nullopt;
  }
  run::RunPlan changed = plan;
  changed.simulation.trials = std::min(plan.simulation.trials, options.trials);
  changed.pricing.traced_spot = false;
  const auto at_price = [&](double per_gpu_hour) {
    changed.pricing.spot =
        dollars_per_hour(per_gpu_hour) * static_cast<double>(plan.step.gpus_per_node);
    return means(changed, options);
  };
  const std::optional<Means> free = at_price(0.0);
  const std::optional<Means> paid = at_price(1.0);
  without_spot(changed);
  const std::optional<Means> held = means(changed, options);
  if (!free || !paid || !held || paid->cost <= free->cost) {
    return std::nullopt;
  }
  const double same_work = held->cost * free->tokens / held->tokens;
  return dollars_per_hour(std::max(0.0, (same_work - free->cost) / (paid->cost - free->cost)));
}

void scale_step_time(RunPlan& plan, double factor) {
  const auto scale = [factor](SimTime& time) {
    time = std::max(SimTime{1}, to_sim_time(to_seconds(time) * factor));
  };
  scale(plan.step.step_time);
  for (run::PlannedPhase& phase : plan.phases) {
    scale(phase.step_time);
  }
  std::optional<std::int64_t>& every = plan.checkpoint.every_steps;
  if (every) {
    const double steps = std::round(static_cast<double>(*every) / factor);
    every = std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
  }
}

std::vector<report::Lever> find_levers(const report::Evaluation& evaluation,
                                       const LeverOptions& options) {
  std::vector<report::Lever> levers;
  const RunPlan& base = *evaluation.plan;
  const std::vector<run::TrialTotals>& before = evaluation.run->first;
  const std::vector<Change> changes = possible_changes(evaluation);
  const double shortest = shortest_step(changes);
  // What failures take is a share of the time of the run, so both deltas are proportional to what a
  // step gets shorter: one run, at the shortest step, gives all of them.
  const std::optional<Delta> at_shortest =
      shortest < 1.0 ? delta(before, with_step(base, shortest), options.trials_alike, options)
                     : std::nullopt;
  for (const Change& change : changes) {
    std::optional<Delta> worth;
    if (change.apply) {
      RunPlan changed = base;
      change.apply(changed);
      const bool alike = !change.moves_failures;
      worth =
          delta(before, std::move(changed), alike ? options.trials_alike : options.trials, options);
    } else if (at_shortest) {
      const double share = (1.0 - change.step_factor) / (1.0 - shortest);
      worth = Delta{share * at_shortest->finish, share * at_shortest->cost};
    }
    if (worth) {
      levers.push_back({.change = change.text,
                        .finish_delta = seconds(worth->finish),
                        .cost_delta = dollars(worth->cost),
                        .without = change.without});
    }
  }
  std::ranges::stable_sort(levers, [](const report::Lever& a, const report::Lever& b) {
    return std::pair(a.cost_delta, a.finish_delta) < std::pair(b.cost_delta, b.finish_delta);
  });
  return levers;
}

}  // namespace orrery::evaluate
