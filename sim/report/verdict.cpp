#include "sim/report/verdict.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "sim/base/text/format.hpp"
#include "sim/report/text/ledger_rows.hpp"

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
  const std::optional<double> value = metric_of(evaluation, id);
  return value ? format_value(info(id).dimension, *value) : std::string();
}

std::vector<Loss> losses_of(const Evaluation& evaluation) {
  std::vector<Loss> losses;
  double productive = 1.0;
  std::optional<Dollars> paid;
  const std::vector<LedgerRow> run = run_ledger_rows(evaluation);
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (static_cast<run::RunCategory>(i) == run::RunCategory::productive) {
      productive = run[i].share;
      paid = run[i].dollars;
    } else {
      losses.push_back({run[i].label, run[i].share, run[i].dollars});
    }
  }
  if (evaluation.step.given) {
    return losses;
  }
  const std::vector<LedgerRow> step = step_ledger_rows(evaluation);
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (!trains(static_cast<step::StepCategory>(i))) {
      losses.push_back({step[i].label,
                        step[i].share * productive,
                        paid ? std::optional(*paid * step[i].share) : std::nullopt});
    }
  }
  return losses;
}

// "10.9T tokens in 54 d for $53.9M at 41.6% MFU"
std::string achievement(const Evaluation& evaluation) {
  std::string text;
  if (!evaluation.run) {
    text = fmt::format("{} a step", shown(evaluation, MetricId::step_time));
  } else if (evaluation.plan->target_steps) {
    text = fmt::format("Done in {}", shown(evaluation, MetricId::finish_time));
  } else {
    text = fmt::format("{} tokens in {}",
                       shown(evaluation, MetricId::tokens_trained),
                       shown(evaluation, MetricId::finish_time));
  }
  if (metric_of(evaluation, MetricId::cost)) {
    text += fmt::format(" for {}", shown(evaluation, MetricId::cost));
  }
  if (metric_of(evaluation, MetricId::mfu)) {
    text += fmt::format(" at {} MFU", shown(evaluation, MetricId::mfu));
  }
  return text;
}

std::string loss_text(const Evaluation& evaluation) {
  const std::optional<Loss> loss = largest_loss(evaluation);
  if (!loss) {
    return "";
  }
  return fmt::format("; largest loss: {}, {} of the {}{}",
                     loss->label,
                     format_percent(loss->share),
                     evaluation.run ? "GPU time" : "step",
                     loss->dollars ? ", " + format_money(*loss->dollars) : "");
}

}  // namespace

std::optional<Loss> largest_loss(const Evaluation& evaluation) {
  const std::vector<Loss> losses = losses_of(evaluation);
  const auto largest = std::max_element(
      losses.begin(), losses.end(), [](const Loss& a, const Loss& b) { return a.share < b.share; });
  return largest == losses.end() || largest->share <= 0.0 ? std::nullopt : std::optional(*largest);
}

Outcome outcome_of(const Evaluation& evaluation) {
  const step::Feasibility& fit = evaluation.step.feasibility;
  const std::int64_t trials = evaluation.run ? evaluation.run->trials : 0;
  const std::int64_t gave_up = evaluation.run ? trials - evaluation.run->finished : 0;
  Outcome outcome;
  outcome.sentence = achievement(evaluation) + loss_text(evaluation);
  const auto stands = [&outcome](Standing standing, std::string reason) {
    outcome.standing = standing;
    outcome.brief = reason.substr(0, reason.find(':'));
    outcome.reason = std::move(reason);
    return outcome;
  };
  if (!fit.fits) {
    return stands(Standing::impossible,
                  fmt::format("does not fit: {} too much per GPU on pipeline stage {}; the figures "
                              "below are those of GPUs with more memory",
                              format_bytes_binary(-fit.headroom),
                              fit.worst_stage));
  }
  if (!evaluation.feasible) {
    return stands(Standing::impossible,
                  evaluation.reasons.empty() ? "cannot run" : evaluation.reasons.front());
  }
  if (gave_up > 0) {
    return stands(gave_up == trials ? Standing::impossible : Standing::bad,
                  fmt::format("{} of {} trials gave up ({}): their times are lower bounds",
                              format_integer(gave_up),
                              format_integer(trials),
                              evaluation.run->gave_up ? to_string(*evaluation.run->gave_up) : ""));
  }
  if (const auto goodput = metric_of(evaluation, MetricId::goodput); goodput && *goodput < kHalf) {
    return stands(
        Standing::bad,
        fmt::format("only {} of the GPU time trains what is kept", format_percent(*goodput)));
  }
  if (fits_tightly(evaluation)) {
    return stands(
        Standing::tight,
        fmt::format("fits tightly: {} stay free of {}, and a predicted peak may be {} off",
                    format_bytes_binary(fit.headroom),
                    format_bytes_binary(
                        evaluation.step.memory[static_cast<std::size_t>(fit.worst_stage)].limit),
                    format_percent(evaluation.echo.memory_error)));
  }
  return stands(Standing::fine,
                evaluation.step.memory.empty()
                    ? ""
                    : fmt::format("fits: {} stay free", format_bytes_binary(fit.headroom)));
}

}  // namespace orrery::report
