#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/answer/report/text/printed_sum.hpp"
#include "sim/answer/report/text/text_sections.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::report {

namespace {

constexpr NumberStyle kTrimmed = {.significant = 3, .trim = true};
constexpr std::size_t kNameWidth = 24;
constexpr std::size_t kValueWidth = 17;
constexpr std::size_t kLuckWidth = 14;
constexpr std::size_t kLabelWidth = 30;
constexpr std::size_t kShareWidth = 7;
constexpr std::size_t kHoursWidth = 16;
constexpr std::size_t kDollarsWidth = 9;
constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kMostRows = 7;
constexpr std::size_t kBriefRows = 4;

struct ShownMetric {
  MetricId id;
  std::string_view name;
  Detail detail;  // from which on it is shown
};

constexpr ShownMetric kShown[] = {
    {MetricId::finish_date, "finish date", Detail::brief},
    {MetricId::finish_time, "time to finish", Detail::brief},
    {MetricId::tokens_trained, "tokens trained", Detail::brief},
    {MetricId::goodput, "goodput", Detail::brief},
    {MetricId::cost, "cost", Detail::brief},
    {MetricId::cost_per_million_tokens, "cost per million tokens", Detail::full},
    {MetricId::failures, "failures", Detail::full},
};

// Four digits tell the quantiles of a run apart; dates need no seconds.
std::string run_value(Dimension dimension, double value) {
  constexpr NumberStyle kFour = {.significant = 4, .trim = false};
  switch (dimension) {
    case Dimension::date: {
      // 2024-05-25T03:10Z, in the style of a sentence.
      std::string text =
          format_value(dimension, std::round(value / kSecondsPerMinute) * kSecondsPerMinute);
      std::ranges::replace(text, 'T', ' ');
      text.erase(std::min(text.find('Z'), text.size()));
      return text;
    }
    case Dimension::time:
      return format_time(seconds(value), kFour);
    case Dimension::dollars:
      return format_money(dollars(value), kFour);
    case Dimension::fraction:
      return format_percent(value, kFour);
    case Dimension::count:
      return format_count(value, {.significant = 4, .trim = true});
    default:
      return format_value(dimension, value);
  }
}

// Eight of ten runs: with the step's error, where the step has a band and the metric follows it.
void add_distribution(TextPage& page, const Evaluation& evaluation, const ShownMetric& shown,
                      const MetricValue& metric, Detail detail) {
  const Dimension dimension = info(shown.id).dimension;
  const auto text = [dimension](double value) { return run_value(dimension, value); };
  std::string line = pad_right(shown.name, kNameWidth);
  const run::Distribution& trials = *metric.trials;
  const bool lucky = trials.quantile(0.0) != trials.quantile(1.0);
  const std::optional<MetricBand> band = metric_band(evaluation, shown.id);
  if (!lucky && !band) {
    if (detail == Detail::brief) {
      return;  // it follows from the scenario, and the first sentence says it
    }
    line += pad_left("", kValueWidth) + pad_left(text(metric.value), kValueWidth) +
            (trials.count() > 1 ? page.paint(Ink::faint, "   in every trial") : "");
    page.line(line);
    return;
  }
  const MetricBand luck = {trials.quantile(kLowQuantile), trials.quantile(kHighQuantile)};
  line += pad_left(text(band.value_or(luck).low), kValueWidth);
  line += page.paint(Ink::strong, pad_left(text(trials.quantile(kMedian)), kValueWidth));
  line += pad_left(text(band.value_or(luck).high), kValueWidth);
  if (evaluation.band) {
    const Dimension margin = dimension == Dimension::date ? Dimension::time : dimension;
    line += pad_left(
        fmt::format("{} {}", page.plus_minus(), format_value(margin, (luck.high - luck.low) / 2.0)),
        kLuckWidth);
  }
  page.line(line);
}

void add_distributions(TextPage& page, const Evaluation& evaluation, Detail detail) {
  if (evaluation.run->trials > 1 || evaluation.band) {
    const bool band = evaluation.band.has_value();
    page.line(page.paint(
        Ink::faint, pad_right("", kNameWidth) +
                        pad_left(band ? "8 of 10 from" : "P10", kValueWidth) +
                        pad_left("P50", kValueWidth) + pad_left(band ? "to" : "P90", kValueWidth) +
                        (band ? pad_left("chance alone", kLuckWidth) : std::string())));
  }
  const bool dated = evaluation.metrics.find(MetricId::finish_date) != nullptr;
  const bool windowed = !evaluation.plan->target_steps;
  for (const ShownMetric& shown : kShown) {
    const MetricValue* metric = evaluation.metrics.find(shown.id);
    // The head of the section tells the window already.
    const bool brief = detail == Detail::brief;
    const bool known = shown.id == MetricId::finish_time && dated && (windowed || brief);
    if (metric != nullptr && metric->trials && !known && detail >= shown.detail) {
      add_distribution(page, evaluation, shown, *metric, detail);
    }
  }
}

std::string run_head(const Evaluation& evaluation) {
  const run::RunPlan& plan = *evaluation.plan;
  const std::string goal =
      plan.target_steps
          ? fmt::format("{} step{}", format_integer(*plan.target_steps),
                        *plan.target_steps == 1 ? "" : "s")
          : fmt::format("a window of {}", format_time(to_seconds(plan.end), kTrimmed));
  const std::int64_t spares = plan.capacity.spare_nodes();
  std::string text = fmt::format("{}, {} spare node{}, {} trial{}, seed {}", goal, spares,
                                 spares == 1 ? "" : "s", format_integer(evaluation.run->trials),
                                 evaluation.run->trials == 1 ? "" : "s", plan.simulation.seed);
  if (const std::optional<DollarsPerSecond> price = mean_price(evaluation)) {
    const std::string& date = plan.pricing.as_of;
    text += fmt::format(", {} per GPU-hour{}{}", format_money(*price * hours(1.0)),
                        plan.pricing.is_simple() ? "" : " in all",
                        date.empty() ? "" : fmt::format(" ({})", printable(date)));
  }
  return text;
}

// The mean time between failures that the trials had, where it is far from the stated rates: heat,
// burn-in and lemons are not in those.
std::optional<Seconds> other_mtbf(const Evaluation& evaluation) {
  constexpr double kFar = 0.1;
  constexpr double kErrors = 4.0;  // standard errors of a count
  const MetricValue* failures = evaluation.metrics.find(MetricId::failures);
  const MetricValue* wall = evaluation.metrics.find(MetricId::finish_time);
  if (failures == nullptr || wall == nullptr || !(failures->value > 0.0)) {
    return std::nullopt;
  }
  const Seconds simulated = seconds(wall->value / failures->value);
  const double count = failures->value * static_cast<double>(evaluation.run->trials);
  const double apart = std::abs(*evaluation.plan->mtbf / simulated - 1.0);
  return apart > std::max(kFar, kErrors / std::sqrt(count)) ? std::optional(simulated)
                                                            : std::nullopt;
}

std::string failures_text(const Evaluation& evaluation) {
  const auto& mtbf = evaluation.plan->mtbf;
  if (!mtbf) {
    return "nothing fails";
  }
  const std::string stated = fmt::format("one failure every {}", format_time(*mtbf, kTrimmed));
  const auto simulated = other_mtbf(evaluation);
  return simulated ? fmt::format("{} as stated, every {} in the trials", stated,
                                 format_time(*simulated, kTrimmed))
                   : stated;
}

// "; a checkpoint every 2.5 min stops training for 1 s"
std::string brief_checkpoints(const run::RunPlan& plan) {
  if (!plan.checkpoint_steps) {
    return "; no checkpoints";
  }
  const Seconds interval =
      to_seconds(plan.step.step_time) * static_cast<double>(*plan.checkpoint_steps);
  return fmt::format("; a checkpoint every {} stops training for {}",
                     format_time(interval, kTrimmed),
                     format_time(to_seconds(plan.stall), kTrimmed));
}

void add_reliability(TextPage& page, const Evaluation& evaluation) {
  const run::RunPlan& plan = *evaluation.plan;
  std::string text = failures_text(evaluation);
  if (plan.checkpoint_steps) {
    const Seconds interval =
        to_seconds(plan.step.step_time) * static_cast<double>(*plan.checkpoint_steps);
    text += fmt::format(
        "; a checkpoint of {} every {} ({} step{}) stops training for {} and is safe after {}",
        format_bytes(plan.checkpoint.size), format_time(interval, kTrimmed),
        format_integer(*plan.checkpoint_steps), *plan.checkpoint_steps == 1 ? "" : "s",
        format_time(to_seconds(plan.stall), kTrimmed),
        format_time(to_seconds(plan.durable), kTrimmed));
    for (std::size_t i = 0; i + 1 < plan.checkpoint.tiers.size(); ++i) {
      const run::PlannedTier& tier = plan.checkpoint.tiers[i];
      text += fmt::format("; copies in {} every {} steps", printable(tier.name),
                          format_integer(*plan.checkpoint.every_steps * tier.every_saves));
    }
    if (plan.checkpoint.just_in_time) {
      text += fmt::format("; replicas that survive a failure save in {}",
                          format_time(to_seconds(plan.checkpoint.just_in_time->save), kTrimmed));
    }
    if (!evaluation.echo.checkpoint_choice.empty()) {
      text += fmt::format("; {}", printable(evaluation.echo.checkpoint_choice));
    }
  } else {
    text += "; no checkpoints";
  }
  page.line(text);
  const std::int64_t gave_up = evaluation.run->trials - evaluation.run->finished;
  if (gave_up > 0) {
    page.line(page.paint(
        Ink::bad, fmt::format("{} of {} trials gave up ({}): their times are lower bounds",
                              format_integer(gave_up), format_integer(evaluation.run->trials),
                              evaluation.run->gave_up ? to_string(*evaluation.run->gave_up) : "")));
  }
}

std::string hours_text(Seconds gpu_time) {
  constexpr double kSmallest = 0.01;
  const double count = in_hours(gpu_time);
  return (count > 0.0 && count < kSmallest ? "<0.01" : format_count(count)) + " GPU-hours";
}

std::string dollars_text(const std::optional<Dollars>& cost) {
  constexpr double kCent = 0.01;
  if (!cost) {
    return {};
  }
  const double amount = in_dollars(*cost);
  return amount > 0.0 && amount < kCent ? "<$0.01" : format_money(*cost);
}

std::string ledger_line(const TextPage& page, const LedgerRow& row) {
  return pad_right(row.label, kLabelWidth) + pad_left(share_text(row.share), kShareWidth) +
         pad_left(hours_text(row.gpu_time), kHoursWidth) +
         pad_left(dollars_text(row.dollars), kDollarsWidth) + "  " + page.bar(row.share, kBarWidth);
}

// The rows, and what they add up to, where that is not what the lines above say: means of the
// trials where those have medians, or digits that were rounded.
void add_run_ledger(TextPage& page, const Evaluation& evaluation, std::size_t most) {
  LedgerRow all{.category = {}, .label = {}, .gpu_time = {}, .share = 1.0, .dollars = {}};
  std::vector<std::string> shares;
  std::vector<std::string> costs;
  show_rows(run_ledger_rows(evaluation), most, [&](const LedgerRow& row) {
    page.line(ledger_line(page, row));
    shares.push_back(share_text(row.share));
    costs.push_back(dollars_text(row.dollars));
    all.gpu_time += row.gpu_time;
    if (row.dollars) {
      all.dollars = all.dollars.value_or(Dollars{}) + *row.dollars;
    }
  });
  std::string rounding = rounding_text(Dimension::fraction, shares, share_text(all.share));
  const std::string of_cost = rounding_text(Dimension::dollars, costs, dollars_text(all.dollars));
  rounding += (rounding.empty() || of_cost.empty() ? "" : ", ") + of_cost;
  const MetricValue* cost = evaluation.metrics.find(MetricId::cost);
  if (rounding.empty() && (!all.dollars || cost == nullptr ||
                           dollars_text(all.dollars) == format_money(dollars(typical(*cost))))) {
    return;
  }
  const std::string label =
      rounding.empty() ? "all, mean of the trials" : fmt::format("all, rounding {}", rounding);
  page.line(page.paint(Ink::faint, pad_right(label, kLabelWidth) +
                                       pad_left(share_text(all.share), kShareWidth) +
                                       pad_left(hours_text(all.gpu_time), kHoursWidth) +
                                       pad_left(dollars_text(all.dollars), kDollarsWidth)));
}

// What was paid for, where it is more than nodes at one price.
void add_bill(TextPage& page, const Evaluation& evaluation) {
  const run::PricePlan& pricing = evaluation.plan->pricing;
  if (!pricing.priced || pricing.is_simple()) {
    return;
  }
  const double trials = static_cast<double>(evaluation.run->trials);
  std::string text;
  for (std::size_t i = 0; i < run::kCostCategoryCount; ++i) {
    const Dollars paid = evaluation.run->bill_sum.dollars[i] / trials;
    if (paid > Dollars{}) {
      text += fmt::format("{}{} {}", text.empty() ? "paid for " : ", ", run::kCostCategoryNames[i],
                          format_money(paid));
    }
  }
  for (const MetricId id : {MetricId::site_energy, MetricId::carbon, MetricId::spot_break_even}) {
    if (const MetricValue* metric = evaluation.metrics.find(id)) {
      text += fmt::format("; {} {}",
                          id == MetricId::spot_break_even ? "spot breaks even at" : info(id).name,
                          format_value(info(id).dimension, metric->value));
    }
  }
  page.line(text);
}

// The causes that took most of the GPU time, with their dollars.
void add_causes(TextPage& page, const Evaluation& evaluation) {
  constexpr std::size_t kMostCauses = 3;
  const std::vector<CauseRow> rows = cause_rows(evaluation);
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), kMostCauses); ++i) {
    const CauseRow& row = rows[i];
    text += fmt::format("{}{} {}", text.empty() ? "costliest causes: " : ", ", printable(row.cause),
                        row.dollars ? format_money(*row.dollars) : hours_text(row.gpu_time));
  }
  if (rows.size() > 1) {
    page.line(text);
  }
}

}  // namespace

void add_run(TextPage& page, const Evaluation& evaluation, Detail detail) {
  if (!evaluation.run) {
    return;
  }
  page.section("THE RUN", run_head(evaluation), detail == Detail::full);
  add_distributions(page, evaluation, detail);
  if (detail == Detail::brief) {
    page.line(failures_text(evaluation) + brief_checkpoints(*evaluation.plan));
    add_run_ledger(page, evaluation, kBriefRows);
    return;
  }
  add_reliability(page, evaluation);
  add_run_ledger(page, evaluation, kMostRows);
  add_causes(page, evaluation);
  add_bill(page, evaluation);
}

}  // namespace orrery::report
