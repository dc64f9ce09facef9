// What moves the end and the cost most? One thing at a time, low and high: a tornado.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "sim/answer/evaluate/levers.hpp"
#include "sim/answer/sweep/answer_rows.hpp"
#include "sim/base/error.hpp"
#include "sim/run/monte_carlo.hpp"

namespace orrery::sweep {

namespace {

using report::Dimension;
using run::RunPlan;

// One thing of the resolved run, whatever preset or formula it came from.
struct Lever {
  std::string name;
  std::function<void(RunPlan&, double factor)> scale;
};

SimTime scaled(SimTime time, double factor) {
  return time >= run::kLongestTime ? time : run::bounded_time(to_seconds(time) * factor);
}

std::int64_t scaled(std::int64_t count, double factor) {
  return static_cast<std::int64_t>(std::llround(static_cast<double>(count) * factor));
}

void scale_stage(RunPlan& plan, run::RecoveryStage stage, double factor) {
  for (auto& stages : plan.recovery.stages) {
    run::Duration& length = stages[static_cast<std::size_t>(stage)];
    length = run::scaled(length, factor);
  }
  if (stage != run::RecoveryStage::load) {
    return;
  }
  for (run::PlannedTier& tier : plan.checkpoint.tiers) {
    for (run::Duration& load : tier.load) {
      load = run::scaled(load, factor);
    }
  }
}

bool has_stage(const RunPlan& plan, run::RecoveryStage stage) {
  return std::ranges::any_of(plan.recovery.stages, [stage](const auto& stages) {
    return run::mean(stages[static_cast<std::size_t>(stage)]) > Seconds{};
  });
}

void scale_prices(RunPlan& plan, double factor) {
  for (run::PriceStep& step : plan.pricing.fixed) {
    step.per_node = step.per_node * factor;
  }
  if (plan.pricing.spot) {
    plan.pricing.spot = *plan.pricing.spot * factor;
  }
  if (plan.pricing.reserved) {
    plan.pricing.reserved->per_node = plan.pricing.reserved->per_node * factor;
  }
}

void add_recovery(const RunPlan& plan, std::vector<Lever>& levers) {
  for (std::size_t i = 0; i < run::kRecoveryStageCount; ++i) {
    const auto stage = static_cast<run::RecoveryStage>(i);
    if (has_stage(plan, stage)) {
      levers.push_back(
          {fmt::format("recovery.{}", run::kRecoveryStageNames[i]),
           [stage](RunPlan& changed, double factor) { scale_stage(changed, stage, factor); }});
    }
  }
}

// What this run has of the list: step time, time between failures, checkpoint interval, stages of
// the recovery, spares, repair time, price.
std::vector<Lever> levers_of(const RunPlan& plan) {
  std::vector<Lever> levers = {{"step time", evaluate::scale_step_time}};
  if (plan.mtbf) {
    levers.push_back({"mtbf", [](RunPlan& changed, double factor) {
                        changed.mtbf = *changed.mtbf * factor;
                        changed.failures.rate_factor /= factor;
                      }});
  }
  if (plan.checkpoint.every_steps) {
    levers.push_back({"checkpoint interval", [](RunPlan& changed, double factor) {
                        std::int64_t& every = *changed.checkpoint.every_steps;
                        every = std::max<std::int64_t>(1, scaled(every, factor));
                      }});
    levers.push_back({"checkpoint stall", [](RunPlan& changed, double factor) {
                        for (run::PlannedSave& save : changed.checkpoint.saves) {
                          const SimTime before = save.stall;
                          save.stall = scaled(before, factor);
                          for (run::SavedCopy& copy : save.copies) {
                            copy.durable += save.stall - before;
                          }
                        }
                      }});
  }
  if (plan.mtbf) {
    add_recovery(plan, levers);
    levers.push_back({"repair time", [](RunPlan& changed, double factor) {
                        run::PlannedRepair& repair = changed.capacity.repair;
                        repair.first = run::scaled(repair.first, factor);
                        repair.manual = run::scaled(repair.manual, factor);
                      }});
  }
  if (!plan.capacity.spares.empty() && plan.capacity.spares.front().nodes > 0) {
    levers.push_back({"spares", [](RunPlan& changed, double factor) {
                        std::int64_t& nodes = changed.capacity.spares.front().nodes;
                        nodes = scaled(nodes, factor);
                      }});
  }
  if (plan.pricing.priced) {
    levers.push_back({"price", scale_prices});
  }
  return levers;
}

// Means over the trials; the tokens differ where the run is a window.
struct Outcome {
  double wall = 0.0;
  double tokens = 0.0;
  double cost = 0.0;
};

struct Swing {
  std::string name;
  std::string low;
  std::string high;
  std::pair<double, double> finish = {};  // against the base, for its work
  std::pair<double, double> cost = {};

  [[nodiscard]] double finish_width() const {
    return std::max(std::abs(finish.first), std::abs(finish.second));
  }

  [[nodiscard]] double cost_width() const {
    return std::max(std::abs(cost.first), std::abs(cost.second));
  }
};

std::optional<Outcome> outcome_of(const Asking& asking, const RunPlan& plan) {
  const auto run =
      run::simulate(plan, {.threads = asking.question.threads, .stop = asking.question.stop});
  if (!run) {
    throw Error(ErrorKind::interrupted, "interrupted");
  }
  if (run->finished < run->trials || run->tokens.mean() <= 0.0) {
    return std::nullopt;
  }
  return Outcome{run->wall.mean(), run->tokens.mean(), run->cost.mean()};
}

// Of the base's work: a run that trains less in its window needs the longer for it.
std::pair<double, double> deltas(const Outcome& base, const Outcome& after) {
  const double same_work = base.tokens / after.tokens;
  return {after.wall * same_work - base.wall, after.cost * same_work - base.cost};
}

// What an end at the low and at the high value moves: finish and cost.
struct BothDeltas {
  std::pair<double, double> low;
  std::pair<double, double> high;
};

std::optional<BothDeltas> deltas_of(const Asking& asking, const RunPlan& plan, const Outcome& base,
                                    const Lever& lever) {
  const double share = asking.question.percent / 100.0;
  BothDeltas both;
  for (const bool high : {false, true}) {
    RunPlan changed = plan;
    lever.scale(changed, high ? 1.0 + share : 1.0 - share);
    const auto after = outcome_of(asking, changed);
    if (!after) {
      return std::nullopt;
    }
    (high ? both.high : both.low) = deltas(base, *after);
  }
  return both;
}

// As processes tell each other, bit for bit; empty: the run does not end.
std::string to_text(const std::optional<BothDeltas>& both) {
  return both ? fmt::format("{} {} {} {} ", both->low.first, both->low.second, both->high.first,
                            both->high.second)
              : std::string();
}

std::optional<BothDeltas> read_deltas(const std::string& text) {
  BothDeltas both;
  const char* at = text.data();
  const char* end = at + text.size();
  for (double* value : {&both.low.first, &both.low.second, &both.high.first, &both.high.second}) {
    const auto [stop, error] = std::from_chars(at, end, *value);
    if (error != std::errc{}) {
      return std::nullopt;
    }
    at = stop + 1;
  }
  return both;
}

Swing swing_of(const Asking& asking, const std::string& name, const BothDeltas& both) {
  return {.name = name,
          .low = fmt::format("-{:g} %", asking.question.percent),
          .high = fmt::format("+{:g} %", asking.question.percent),
          .finish = {both.low.first, both.high.first},
          .cost = {both.low.second, both.high.second}};
}

// A key with values of its own: the first is the low end, the last the high one.
std::optional<Swing> swing_of(const Asking& asking, const Axis& axis, const Outcome& base) {
  if (axis.values.size() < 2) {
    no_answer(asking, axis.key.path, "a low and a high value are needed");
    return std::nullopt;
  }
  auto ends = axis_of(axis.key.path, {axis.values.front(), axis.values.back()}, axis.where,
                      asking.diagnostics);
  const auto rows =
      evaluate_rows(asking, {*std::move(ends)}, {"finish_time", "tokens_trained", "cost"});
  if (!rows) {
    return std::nullopt;
  }
  Swing swing{.name = axis.key.path, .low = axis.values.front(), .high = axis.values.back()};
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
    const auto wall = rows->at(end, "finish_time_s");
    const auto tokens = rows->at(end, "tokens_trained");
    if (!wall || !tokens || *tokens <= 0.0) {
      no_answer(asking, axis.key.path, rows->results[end].reason);
      return std::nullopt;
    }
    const auto [finish, cost] =
        deltas(base, {*wall, *tokens, rows->at(end, "cost_usd").value_or(0.0)});
    (end == 1 ? swing.finish.second : swing.finish.first) = finish;
    (end == 1 ? swing.cost.second : swing.cost.first) = cost;
  }
  return swing;
}

Answer show(const Asking& asking, const Outcome& base, bool priced, std::vector<Swing> swings) {
  std::ranges::stable_sort(swings, [](const Swing& a, const Swing& b) {
    return std::pair(a.finish_width(), a.cost_width()) >
           std::pair(b.finish_width(), b.cost_width());
  });
  Answer answer = begin_answer(asking);
  answer.facts = {{"finish_s", base.wall}, {"tokens", base.tokens}};
  if (priced) {
    answer.facts.push_back({"cost_usd", base.cost});
  }
  answer.sentences.push_back(
      "Each thing alone, low and high, against the run as it is; means over the same trials, for "
      "the same work. Above: what moves the end most.");
  answer.columns = {{"what", "what", std::nullopt},
                    {"low", "low", std::nullopt},
                    {"high", "high", std::nullopt},
                    {"finish_low_s", "end, low", Dimension::time},
                    {"finish_high_s", "end, high", Dimension::time},
                    {"finish_swing", "", std::nullopt, true}};
  if (priced) {
    answer.columns.push_back({"cost_low_usd", "cost, low", Dimension::dollars});
    answer.columns.push_back({"cost_high_usd", "cost, high", Dimension::dollars});
  }
  double widest = 0.0;
  for (const Swing& swing : swings) {
    widest = std::max(widest, swing.finish_width());
  }
  const auto share = [](double part, double whole) { return whole > 0.0 ? part / whole : 0.0; };
  for (const Swing& swing : swings) {
    std::vector<report::Cell> line = {swing.name,          swing.low,
                                      swing.high,          swing.finish.first,
                                      swing.finish.second, share(swing.finish_width(), widest)};
    if (priced) {
      line.emplace_back(swing.cost.first);
      line.emplace_back(swing.cost.second);
    }
    answer.rows.push_back(std::move(line));
  }
  return answer;
}

}  // namespace

std::optional<Answer> sensitivity(const Asking& asking) {
  const auto evaluation = evaluate_base(asking);
  if (!evaluation) {
    return std::nullopt;
  }
  const auto base = outcome_of(asking, *evaluation->plan);
  if (!base) {
    no_answer(asking, "training", "the run does not reach its end in every trial");
    return std::nullopt;
  }
  std::vector<Swing> swings;
  std::vector<std::string> hopeless;
  const std::vector<Lever> levers = levers_of(*evaluation->plan);
  std::vector<std::optional<BothDeltas>> found(levers.size());
  std::vector<std::size_t> all(levers.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const bool complete = asking.team.gather(
      {.identity = fmt::format("sensitivity to {}", levers.size()),
       .items = all,
       .for_all = true,
       .run =
           [&](const std::vector<std::size_t>& items, const Work::Done& done) {
             for (const std::size_t i : items) {
               if (asking.question.progress) {
                 asking.question.progress(static_cast<std::int64_t>(i + 1),
                                          static_cast<std::int64_t>(levers.size()));
               }
               found[i] = deltas_of(asking, *evaluation->plan, *base, levers[i]);
               done(i);
             }
             return true;
           },
       .tell = [&](std::size_t i) { return to_text(found[i]); },
       .hear = [&](std::size_t i,
                   std::string_view text) { found[i] = read_deltas(std::string(text)); }});
  if (!complete) {
    throw Error(ErrorKind::interrupted, "interrupted");
  }
  for (std::size_t i = 0; i < levers.size(); ++i) {
    if (const auto& both = found[i]) {
      swings.push_back(swing_of(asking, levers[i].name, *both));
    } else {
      hopeless.push_back(levers[i].name);
    }
  }
  for (const Axis& axis : asking.question.sweep.axes) {
    auto swing = swing_of(asking, axis, *base);
    if (!swing) {
      return std::nullopt;
    }
    swings.push_back(*std::move(swing));
  }
  Answer answer = show(asking, *base, evaluation->plan->pricing.priced, std::move(swings));
  for (const std::string& name : hopeless) {
    answer.sentences.push_back(
        fmt::format("Without a row: {}, with which the run does not end.", name));
  }
  return answer;
}

}  // namespace orrery::sweep
