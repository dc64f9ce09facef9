#include "sim/answer/report/text/verdict.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::report {

namespace {

constexpr double kHalf = 0.5;

bool trains(step::StepCategory category) {
  return category == step::StepCategory::compute || category == step::StepCategory::optimizer;
}

std::optional<double> metric_of(const Evaluation& evaluation, MetricId id) {
  const MetricValue* metric = evaluation.metrics.find(id);
  return metric != nullptr ? std::optional(metric->value) : std::nullopt;
}

std::string shown(const Evaluation& evaluation, MetricId id) {
  const MetricValue* metric = evaluation.metrics.find(id);
  return metric != nullptr ? format_value(info(id).dimension, typical(*metric)) : std::string();
}

std::vector<Loss> losses_of(const Evaluation& evaluation) {
  std::vector<Loss> losses;
  double productive = 1.0;
  const std::optional<Dollars> paid = training_cost(evaluation);
  const std::vector<LedgerRow> run = run_ledger_rows(evaluation);
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (static_cast<run::RunCategory>(i) == run::RunCategory::productive) {
      productive = run[i].share;
    } else {
      losses.push_back({.category = run[i].category,
                        .label = run[i].label,
                        .share = run[i].share,
                        .dollars = run[i].dollars});
    }
  }
  if (evaluation.step.given) {
    return losses;
  }
  const std::vector<LedgerRow> step = step_ledger_rows(evaluation);
  for (std::size_t i = 0; i < step.size(); ++i) {
    const auto category = static_cast<step::StepCategory>(i);
    if (!trains(category)) {
      losses.push_back({.category = step[i].category,
                        .label = step[i].label,
                        .share = step[i].share * productive,
                        .assumed = category == step::StepCategory::host_step &&
                                   evaluation.echo.host_step_assumed,
                        .dollars = paid ? std::optional(*paid * step[i].share) : std::nullopt});
    }
  }
  return losses;
}

// "10.9T tokens in 54 d for $53.9M at 41.6% MFU"
std::string achievement(const Evaluation& evaluation) {
  std::string text;
  if (evaluation.rollout) {
    return fmt::format("{} from update to update, {} answers each",
                       shown(evaluation, MetricId::rollout_step_time),
                       format_integer(evaluation.rollout->answers));
  }
  if (!evaluation.run) {
    text = fmt::format("{} a step", shown(evaluation, MetricId::step_time));
  } else if (mostly_gave_up(evaluation)) {
    return "No time or cost to plan with: those below are of runs that were given up";
  } else if (evaluation.plan->target_steps) {
    text = fmt::format("Done in {}", shown(evaluation, MetricId::finish_time));
  } else {
    text = fmt::format("{} tokens in {}", shown(evaluation, MetricId::tokens_trained),
                       shown(evaluation, MetricId::finish_time));
  }
  if (metric_of(evaluation, MetricId::cost)) {
    text += fmt::format(" for {}", shown(evaluation, MetricId::cost));
  }
  if (metric_of(evaluation, MetricId::mfu)) {
    const Utilisation used = headline_utilisation(evaluation);
    text += fmt::format(" at {} {}", shown(evaluation, used.id), used.name);
  }
  return text;
}

std::string loss_text(const Evaluation& evaluation) {
  const std::optional<Loss> loss = largest_loss(evaluation);
  if (evaluation.rollout) {
    const auto& phases = evaluation.rollout->phases;
    const auto longest = std::ranges::max_element(
        phases, [](const auto& a, const auto& b) { return a.time < b.time; });
    return fmt::format("; longest phase: {}, {} of it", longest->name,
                       format_percent(longest->time / evaluation.rollout->step));
  }
  if (!loss) {
    return "";
  }
  return fmt::format("; largest loss: {}{}, {} of the {}{}", loss->label,
                     loss->assumed ? " (an assumed constant of the stack)" : "",
                     format_percent(loss->share), evaluation.run ? "GPU time" : "step",
                     loss->dollars ? ", " + format_money(*loss->dollars) : "");
}

}  // namespace

std::optional<Loss> largest_loss(const Evaluation& evaluation) {
  const std::vector<Loss> losses = losses_of(evaluation);
  const auto largest = std::ranges::max_element(losses, {}, &Loss::share);
  return largest == losses.end() || largest->share <= 0.0 ? std::nullopt : std::optional(*largest);
}

Utilisation headline_utilisation(const Evaluation& evaluation) {
  constexpr double kNoticeable = 0.87;
  const std::optional<double> full = metric_of(evaluation, MetricId::mfu);
  const std::optional<double> causal = metric_of(evaluation, MetricId::mfu_causal);
  return full && causal && *causal < kNoticeable * *full
             ? Utilisation{MetricId::mfu_causal, "causal MFU"}
             : Utilisation{MetricId::mfu, "MFU"};
}

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::fine:
      return "fine";
    case Standing::tight:
      return "tight";
    case Standing::bad:
      return "bad";
    case Standing::impossible:
      return "impossible";
  }
  return "impossible";
}

bool mostly_gave_up(const Evaluation& evaluation) {
  return evaluation.run && 2 * evaluation.run->finished < evaluation.run->trials;
}

std::string gave_up_text(const Evaluation& evaluation) {
  const run::MonteCarloResult& run = *evaluation.run;
  return fmt::format("{} of {} trials gave up ({})", format_integer(run.trials - run.finished),
                     format_integer(run.trials), run.gave_up ? to_string(*run.gave_up) : "");
}

Outcome outcome_of(const Evaluation& evaluation) {
  const step::Feasibility& fit = evaluation.step.feasibility;
  Outcome outcome;
  outcome.headline = achievement(evaluation);
  outcome.sentence = outcome.headline + loss_text(evaluation);
  const auto stands = [&outcome](Standing standing, std::string reason) {
    outcome.standing = standing;
    outcome.brief = reason.substr(0, reason.find(':'));
    outcome.reason = std::move(reason);
    return outcome;
  };
  if (!fit.fits) {
    return stands(
        Standing::impossible,
        fmt::format("does not fit: {} too much per GPU{}{}; the figures below are those "
                    "of GPUs with more memory",
                    format_bytes_binary(-fit.headroom),
                    evaluation.step.memory.size() > 1
                        ? fmt::format(" on pipeline stage {}", fit.worst_stage)
                        : std::string(),
                    lacks_little(evaluation)
                        ? fmt::format(", less than the {} that a predicted peak may be "
                                      "off",
                                      format_percent(evaluation.echo.memory_error, {.trim = true}))
                        : std::string()));
  }
  if (!evaluation.feasible) {
    return stands(Standing::impossible,
                  evaluation.reasons.empty() ? "cannot run" : evaluation.reasons.front());
  }
  if (evaluation.run && evaluation.run->finished < evaluation.run->trials) {
    return stands(mostly_gave_up(evaluation) ? Standing::impossible : Standing::bad,
                  gave_up_text(evaluation) + ": their times are lower bounds");
  }
  if (const auto goodput = metric_of(evaluation, MetricId::goodput); goodput && *goodput < kHalf) {
    return stands(Standing::bad, fmt::format("only {} of the GPU time trains what is kept",
                                             format_percent(*goodput)));
  }
  if (fits_tightly(evaluation)) {
    return stands(
        Standing::tight,
        fmt::format("fits tightly: {} stay free of {}, and a predicted peak may be {} off",
                    format_bytes_binary(fit.headroom),
                    format_bytes_binary(
                        evaluation.step.memory[static_cast<std::size_t>(fit.worst_stage)].limit),
                    format_percent(evaluation.echo.memory_error, {.trim = true})));
  }
  return stands(Standing::fine,
                evaluation.step.memory.empty()
                    ? ""
                    : fmt::format("fits: {} stay free", format_bytes_binary(fit.headroom)));
}

}  // namespace orrery::report
