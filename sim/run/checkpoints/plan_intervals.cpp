#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "sim/run/planning.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/theory/theory.hpp"

namespace orrery::run {

namespace {

std::string key_of_tier(const CheckpointSpec& spec, std::size_t tier) {
  return tier < spec.tiers.size() ? fmt::format("checkpoint.tiers[{}].interval", tier)
                                  : "checkpoint.interval";
}

// Whole steps nearest to `interval`, at least `least`.
std::int64_t to_steps(Seconds interval, SimTime step_time, std::int64_t least) {
  const double steps =
      std::nearbyint(std::min(interval, to_seconds(kLongestTime)) / to_seconds(step_time));
  return std::max(least, static_cast<std::int64_t>(steps));
}

// What one tier asks for. A free one is at least as long as its copy takes to become durable, where
// training goes on meanwhile, and as `least`; `budget`: what an overhead budget makes of it, or 0.
TierChoice choice_of(const CheckpointInterval& interval, CheckpointMode mode, SimTime durable,
                     SimTime least, std::int64_t budget, const RunPlan& plan,
                     const std::string& key, Findings& findings) {
  const SimTime step_time = plan.step.step_time;
  TierChoice choice;
  if (const auto* steps = std::get_if<StepsInterval>(&interval)) {
    if (findings.require(steps->steps >= 1, key, "must be at least 1 step")) {
      choice.steps = steps->steps;
    }
  } else if (const auto* time = std::get_if<TimeInterval>(&interval)) {
    if (findings.require(in_range(time->value) && time->value > Seconds{}, key,
                         "must be positive and below 73 years")) {
      choice.steps = to_steps(time->value, step_time, 1);
    }
  } else {
    const SimTime longest = std::max(mode != CheckpointMode::sync ? durable : SimTime{}, least);
    choice.least = std::max<std::int64_t>(1, (longest.ns + step_time.ns - 1) / step_time.ns);
    choice.steps = budget;
  }
  return choice;
}

// The fewest steps in which the stall keeps the budget and the save becomes durable; 0: no budget.
std::int64_t steps_of_budget(const CheckpointSpec& spec, const RunPlan& plan) {
  if (!spec.overhead_budget) {
    return 0;
  }
  const double step = in_seconds(to_seconds(plan.step.step_time));
  const PlannedSave& save = plan.checkpoint.saves.back();
  const double stall = in_seconds(to_seconds(save.stall));
  const double durable = in_seconds(to_seconds(save.copies.back().durable));
  constexpr double kRounding = 1e-9;
  const double steps = std::max(stall / *spec.overhead_budget, durable) / step;
  return std::max<std::int64_t>(1, std::llround(std::ceil(std::min(steps, kTera) - kRounding)));
}

// Probability that the survivors of a failure save its work: none of them may fail before that save
// is done.
double covered_by_survivors(const RunPlan& plan, std::int32_t cause, std::int64_t taken) {
  const std::optional<JustInTime>& just_in_time = plan.checkpoint.just_in_time;
  if (!just_in_time) {
    return 0.0;
  }
  const auto index = static_cast<std::size_t>(cause);
  const Seconds exposed = mean(plan.recovery.stages[index][index_of(RecoveryStage::detect)]) +
                          to_seconds(just_in_time->save);
  return just_in_time->survival.of(cause, 0, taken) * std::exp(-(exposed / *plan.mtbf));
}

// Share of the failures after which tier i is the fastest with a usable copy, by tier; those that a
// just-in-time checkpoint covers are left out.
std::vector<double> shares_of(const RunPlan& plan) {
  const CheckpointPlan& checkpoint = plan.checkpoint;
  std::vector<double> shares(checkpoint.tiers.size(), 0.0);
  double before = 0.0;
  for (std::size_t c = 0; c < plan.causes.size(); ++c) {
    const PlannedCause& cause = plan.causes[c];
    const auto index = static_cast<std::int32_t>(c);
    double left = cause.cumulative - before;
    before = cause.cumulative;
    left *= 1.0 - covered_by_survivors(plan, index, cause.takes_nodes);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double usable = checkpoint.tiers[i].survival.of(index, 0, cause.takes_nodes);
      shares[i] += left * usable;
      left *= 1.0 - usable;
    }
  }
  return shares;
}

// The process that the intervals are chosen for, with the failures that need a checkpoint: a share
// `needing` of all. Without any it goes back to the storage once in the longest time. `storage`:
// what a save to the storage costs beside its stall.
TieredRun tiered_run_of(const RunPlan& plan, const std::vector<double>& shares, double needing,
                        Seconds storage) {
  TieredRun run;
  run.useful = seconds(1.0);
  run.interval = to_seconds(plan.step.step_time);
  run.mtbf = needing > 0.0 ? *plan.mtbf / needing : to_seconds(kLongestTime);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double share = needing > 0.0 ? shares[i] / needing : 0.0;
    run.tiers.push_back({1, to_seconds(plan.checkpoint.saves[i].stall), share, Seconds{}});
  }
  if (needing > 0.0) {
    run.tiers.back().stall += storage;
  } else {
    run.tiers.back().share = 1.0;
  }
  return run;
}

// Dollars per second of the job at full size, at the first of its prices.
DollarsPerSecond price_of_job(const RunPlan& plan) {
  const PricePlan& prices = plan.pricing;
  const std::int64_t spot_nodes = plan.capacity.spot ? plan.capacity.spot->nodes : 0;
  const DollarsPerSecond fixed =
      prices.fixed.empty() ? DollarsPerSecond{} : prices.fixed.front().per_node;
  const std::int64_t others = plan.step.nodes - spot_nodes;
  const std::int64_t reserved = prices.reserved ? std::min(prices.reserved->nodes, others) : 0;
  DollarsPerSecond sum = fixed * static_cast<double>(others - reserved) +
                         prices.spot.value_or(fixed) * static_cast<double>(spot_nodes);
  if (reserved > 0) {
    sum += prices.reserved->per_node * static_cast<double>(reserved);
  }
  return sum;
}

// Training time of the whole run without losses.
Seconds planned_time(const TrainingSpec& training, const RunPlan& plan) {
  if (training.duration) {
    return *training.duration;
  }
  double steps = static_cast<double>(training.steps.value_or(0));
  const bool counts_tokens = training.tokens && plan.step.tokens_per_step > Tokens{};
  if (counts_tokens) {
    steps = steps_for_tokens(plan.phases, *training.tokens);
  }
  return std::min(steps * to_seconds(plan.step.step_time), to_seconds(kLongestTime));
}

// What a save to the storage costs beyond its stall, in time of the job (planning.hpp).
Seconds storage_in_time(const CheckpointSpec& spec, const TrainingSpec& training,
                        const RunPlan& plan) {
  const DollarsPerSecond job = price_of_job(plan);
  const DollarsPerSecond stored =
      plan.pricing.per_stored_gigabyte * in_gigabytes(plan.checkpoint.size);
  double lasting = spec.keep_all ? 1.0 : 0.0;
  if (spec.keep_every) {
    lasting = 1.0 / static_cast<double>(*spec.keep_every);
  }
  if (lasting == 0.0 || job <= DollarsPerSecond{} || stored <= DollarsPerSecond{}) {
    return {};
  }
  return planned_time(training, plan) * (0.5 * lasting * (stored / job));
}

// One a day, where the scenario says nothing: what lies further back than the newest ones.
void keep_one_a_day(const CheckpointSpec& spec, RunPlan& plan) {
  CheckpointPlan& checkpoint = plan.checkpoint;
  if (spec.keep || spec.keep_every || spec.keep_all || !checkpoint.every_steps) {
    return;
  }
  const auto saves = static_cast<double>(*checkpoint.every_steps * checkpoint.period());
  checkpoint.kept_every = to_steps(days(1.0) / saves, plan.step.step_time, 1);
}

void warn_about_slow_saves(const CheckpointSpec& spec, const RunPlan& plan, Findings& findings) {
  const double step = in_seconds(to_seconds(plan.step.step_time));
  const CheckpointPlan& checkpoint = plan.checkpoint;
  const std::int64_t every = checkpoint.every_steps.value_or(0);
  for (std::size_t i = 0; i < checkpoint.tiers.size(); ++i) {
    const std::int64_t steps = every * checkpoint.tiers[i].every_saves;
    const PlannedSave& save = checkpoint.saves[i];
    const double durable = in_seconds(to_seconds(save.copies.back().durable));
    if (durable > static_cast<double>(steps) * step + in_seconds(to_seconds(save.stall))) {
      findings.warn(key_of_tier(spec, i),
                    fmt::format("a save takes {:.3g} s until it is durable, longer than the "
                                "interval of {} steps: saves will wait for one another",
                                durable, steps));
    }
  }
}

void warn_about_rounding(const CheckpointSpec& spec, const std::vector<TierChoice>& choices,
                         const std::vector<std::int64_t>& steps, Findings& findings) {
  for (std::size_t i = 1; i < choices.size(); ++i) {
    if (choices[i].steps > 0 && choices[i].steps != steps[i]) {
      findings.warn(key_of_tier(spec, i),
                    fmt::format("{} steps become {}: a multiple of the {} steps of the faster tier",
                                choices[i].steps, steps[i], steps[i - 1]));
    }
  }
}

// One tier has a closed form; several are searched. Without failures that need a checkpoint only
// stated intervals are saved.
std::vector<std::int64_t> steps_of(const std::vector<TierChoice>& choices, Seconds storage,
                                   const RunPlan& plan) {
  const SimTime step_time = plan.step.step_time;
  const std::vector<double> shares =
      plan.mtbf ? shares_of(plan) : std::vector<double>(choices.size(), 0.0);
  const double needing = std::accumulate(shares.begin(), shares.end(), 0.0);
  const TieredRun run = tiered_run_of(plan, shares, needing, storage);
  if (choices.size() == 1) {
    const TierChoice& choice = choices.front();
    if (choice.steps > 0 || needing <= 0.0) {
      return {choice.steps};
    }
    return {
        to_steps(optimal_interval({run.tiers.front().stall, run.mtbf}), step_time, choice.least)};
  }
  // Assumed: a durable copy a day, even when no failure of the scenario would need it.
  const std::int64_t most = to_steps(days(1.0), step_time, choices.back().least);
  return best_tier_steps(run, choices, to_seconds(step_time), most);
}

}  // namespace

void plan_interval(const CheckpointSpec& spec, const TrainingSpec& training, RunPlan& plan,
                   Findings& findings) {
  CheckpointPlan& checkpoint = plan.checkpoint;
  const Seconds stated = spec.least_interval.value_or(Seconds{});
  findings.require(in_range(stated) && stated >= Seconds{}, "checkpoint.least_interval",
                   "must not be negative, and below 73 years");
  findings.require(
      !spec.overhead_budget || (*spec.overhead_budget > 0.0 && *spec.overhead_budget <= 1.0),
      "checkpoint.overhead_budget", "must be above 0 and at most 1");
  if (!findings.sound()) {
    return;
  }
  const SimTime least = to_sim_time(stated);
  std::vector<TierChoice> choices;
  for (std::size_t i = 0; i < checkpoint.tiers.size(); ++i) {
    const bool is_storage = i == spec.tiers.size();
    choices.push_back(choice_of(
        is_storage ? spec.interval : spec.tiers[i].interval,
        is_storage ? spec.mode : spec.tiers[i].mode, checkpoint.saves[i].copies.back().durable,
        is_storage ? least : SimTime{}, is_storage ? steps_of_budget(spec, plan) : 0, plan,
        key_of_tier(spec, i), findings));
  }
  if (!findings.sound()) {
    return;
  }
  const std::vector<std::int64_t> steps =
      steps_of(choices, storage_in_time(spec, training, plan), plan);
  const std::int64_t most = kLongestTime.ns / plan.step.step_time.ns;
  if (steps.front() >= 1 && steps.front() <= most) {  // else later than any run can last
    checkpoint.every_steps = steps.front();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      checkpoint.tiers[i].every_saves = steps[i] / steps.front();
    }
    warn_about_rounding(spec, choices, steps, findings);
    warn_about_slow_saves(spec, plan, findings);
    keep_one_a_day(spec, plan);
  }
  plan.checkpoint_steps = checkpoint.every_steps;
  if (plan.checkpoint_steps) {
    plan.checkpoint_steps = *plan.checkpoint_steps * checkpoint.period();
  }
}

}  // namespace orrery::run
