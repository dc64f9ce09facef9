#include "gui/models/tables/dashboard.hpp"

#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "gui/models/plots/plot.hpp"
#include "gui/models/tables/answer_tables.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/picture/histogram.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/answer/report/text/verdict.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

using report::MetricId;

Tone tone_of_change(MetricId id, double change) {
  constexpr std::array kLess = {MetricId::step_time,   MetricId::finish_date,
                                MetricId::finish_time, MetricId::cost,
                                MetricId::failures,    MetricId::cost_per_million_tokens};
  constexpr std::array kMore = {MetricId::tokens_per_second, MetricId::tokens_trained,
                                MetricId::mfu, MetricId::goodput};
  const auto is_one_of = [id](const auto& ids) { return std::ranges::count(ids, id) > 0; };
  return is_one_of(kLess)   ? (change < 0.0 ? Tone::good : Tone::bad)
         : is_one_of(kMore) ? (change > 0.0 ? Tone::good : Tone::bad)
                            : Tone::plain;
}

namespace {

constexpr auto kMemory = "Memory";

QString percent(double share) {
  constexpr NumberStyle kTwo = {.significant = 2, .trim = false};
  return qt(format_percent(share, kTwo));
}

class Cards {
 public:
  Cards(const report::Evaluation& evaluation, const report::Evaluation* baseline,
        const std::optional<report::ChangeError>& error)
      : evaluation_(evaluation), baseline_(baseline), error_(error ? error->relative : 0.0) {}

  // Nothing when the scenario does not give this metric.
  [[nodiscard]] std::optional<Card> of(MetricId id, const QString& name) const {
    const report::MetricValue* metric = evaluation_.metrics.find(id);
    if (metric == nullptr) {
      return std::nullopt;
    }
    const report::MetricInfo& info = report::info(id);
    Card card{.name = name,
              .value = shown(info.dimension, report::typical(*metric)),
              .tip = qt(info.meaning)};
    const auto* before = baseline_ != nullptr ? baseline_->metrics.find(id) : nullptr;
    if (before != nullptr && card.value != shown(info.dimension, report::typical(*before))) {
      const double change = report::typical(*metric) - report::typical(*before);
      card.change = change_shown(info.dimension, change);
      card.change_tone = tone_of_change(id, change);
      const MetricId by = id == MetricId::finish_date ? MetricId::finish_time : id;
      if (report::follows_step(evaluation_, by) &&
          report::is_within_error(baseline_->metrics.find(by)->value,
                                  evaluation_.metrics.find(by)->value, error_)) {
        card.change_tone = Tone::plain;
        card.tip += "; the change is within the error of predictions";
      }
    }
    describe_spread(*metric, info.dimension, card);
    if (const auto band = report::metric_band(evaluation_, id)) {
      card.detail = range_shown(info.dimension, band->low, band->high);
      card.tip += "; 8 of 10 lie in this range, the error of the model included";
    }
    return card;
  }

  [[nodiscard]] QString value_of(MetricId id) const {
    const std::optional<Card> card = of(id, {});
    return card ? card->value : QString();
  }

 private:
  static void describe_spread(const report::MetricValue& metric, report::Dimension dimension,
                              Card& card) {
    if (!metric.trials || metric.trials->count() < 2) {
      return;
    }
    const run::Distribution& trials = *metric.trials;
    if (!report::varies(trials)) {
      card.detail = "in every trial";
      return;
    }
    card.detail = range_shown(dimension, trials.quantile(report::kLowQuantile),
                              trials.quantile(report::kHighQuantile));
    card.tip += QString("; median, P10 and P90 of %1 trials").arg(trials.count());
  }

  const report::Evaluation& evaluation_;
  const report::Evaluation* baseline_;
  double error_;
};

Card memory_card(const report::Evaluation& evaluation, const Cards& cards) {
  const step::Feasibility& fit = evaluation.step.feasibility;
  Card card{.name = kMemory, .table = kMemory};
  const bool tight = report::fits_tightly(evaluation);
  card.value = !evaluation.feasible ? "does not fit" : tight ? "fits tightly" : "fits";
  card.tone = !evaluation.feasible ? Tone::bad : tight ? Tone::warning : Tone::good;
  if (evaluation.step.memory.empty()) {
    card.detail = "not looked at: the scenario states its step time";
    return card;
  }
  const auto worst = static_cast<std::size_t>(fit.worst_stage);
  card.detail = QString("%1 of %2 in stage %3")
                    .arg(cards.value_of(MetricId::peak_memory),
                         qt(format_bytes_binary(evaluation.step.memory[worst].limit)))
                    .arg(worst);
  if (const auto headroom = cards.of(MetricId::memory_headroom, {})) {
    card.tip = "headroom " + headroom->value;
    if (tight) {
      card.tip += QString("; peaks are good to %1").arg(percent(evaluation.echo.memory_error));
    }
    card.change = headroom->change.isEmpty() ? QString() : headroom->change + " headroom";
  }
  return card;
}

// How far predictions like this one are off; without measured ones, what the step time rests on.
Card trust_card(const report::Evaluation& evaluation) {
  const report::Trust trust = report::trust_of(evaluation.step);
  Card card{.name = "Trust", .table = "Trust"};
  if (const auto& band = evaluation.band) {
    card.value = QString("off by %1").arg(percent(band->error));
    card.detail = band->novelty == report::Novelty::none
                      ? QString("on average, for steps like this one")
                      : QString("on average: no measured step of this %1")
                            .arg(qt(report::to_string(band->novelty)));
    for (const report::NearStep& near : band->nearest) {
      card.tip +=
          QString("%1: %2%3\n")
              .arg(qt(near.id), near.error < 0.0 ? "-" : "+", percent(std::abs(near.error)));
    }
  } else {
    const auto most = std::ranges::max_element(trust.share);
    card.tip = "Share of the step time by the source of the coefficients it rests on";
    const auto kind = static_cast<std::size_t>(most - trust.share.begin());
    card.value = "mostly " + qt(kSourceKindNames[kind]);
    card.detail = QString("%1 of the step time rests on %2 coefficients")
                      .arg(qt(format_percent(*most)), qt(kSourceKindNames[kind]));
    card.tone = kind == static_cast<std::size_t>(SourceKind::assumed) ? Tone::warning : Tone::plain;
  }
  if (trust.extrapolated > 0.0) {
    card.detail = percent(trust.extrapolated) + " of the time beyond the valid range";
    card.tone = Tone::warning;
  }
  return card;
}

Card expectation_card(const report::Evaluation& evaluation) {
  const auto& all = evaluation.expectations;
  const auto passed =
      std::ranges::count_if(all, [](const auto& result) { return result.passed(); });
  Card card{.name = "Expectations",
            .value = QString("%1 of %2 met").arg(passed).arg(all.size()),
            .table = "Expectations"};
  card.tone = static_cast<std::size_t>(passed) == all.size() ? Tone::good : Tone::bad;
  for (const report::ExpectationResult& result : all) {
    card.tip += qt(to_string(result.verdict)) + ": " + qt(result.text) + "\n";
  }
  return card;
}

Tone tone_of(report::Standing standing) {
  return standing == report::Standing::fine    ? Tone::good
         : standing == report::Standing::tight ? Tone::warning
                                               : Tone::bad;
}

// Sentences of what would fit, with the keys that they quote.
decltype(Dashboard::advice) advice_of(const report::Evaluation& evaluation) {
  static const QRegularExpression kKey("`([^`:]+): ([^`]+)`");
  decltype(Dashboard::advice) result;
  for (const std::string& advice : evaluation.advice) {
    std::vector<scenario::KeyValue> keys;
    for (auto match = kKey.globalMatch(qt(advice)); match.hasNext();) {
      const QRegularExpressionMatch key = match.next();
      keys.push_back({key.captured(1).toStdString(), key.captured(2).toStdString(), {}});
    }
    result.emplace_back(qt(advice).remove('`'), std::move(keys));
  }
  return result;
}

// Figures of what cannot be must not be read as an answer: all but the memory, which says why.
void discredit(Dashboard& shown) {
  for (std::vector<Card>* group : {&shown.step, &shown.run}) {
    for (Card& card : *group) {
      if (card.name != kMemory) {
        card.tone = Tone::faint;
        card.value = "(" + card.value + ")";
        card.detail = "only if it could run";
      }
    }
  }
}

}  // namespace

Dashboard dashboard(const report::Evaluation& evaluation, const report::Evaluation* baseline,
                    const std::optional<report::ChangeError>& error) {
  const Cards cards(evaluation, baseline, error);
  Dashboard result;
  const auto add = [&cards](std::vector<Card>& group, MetricId id, const char* name,
                            const char* table = "Metrics") {
    if (auto card = cards.of(id, name)) {
      card->table = table;
      card->value.remove(" tokens/s");  // the name says it
      group.push_back(*std::move(card));
    }
  };
  result.title = qt(evaluation.echo.name);
  const report::Outcome outcome = report::outcome_of(evaluation);
  result.verdict = qt(outcome.sentence);
  if (const auto loss = report::largest_loss(evaluation)) {
    result.loss = qt(loss->label);
    result.loss_hue = ledger_hue(loss->category);
  }
  result.badge = qt(outcome.brief);
  result.why = qt(outcome.reason);
  result.tone = tone_of(outcome.standing);
  if (outcome.standing == report::Standing::impossible) {
    result.loss_hue = -1;
    result.verdict = qt(outcome.reason).section(": ", 1);
  }
  result.impossible = outcome.standing == report::Standing::impossible;
  result.advice = advice_of(evaluation);
  result.subtitle =
      QString("%1 on %2 x %3%4")
          .arg(qt(evaluation.echo.model_name), qt(format_integer(evaluation.step.gpus)),
               qt(evaluation.echo.gpu),
               evaluation.band || evaluation.run ? "; 8 of 10 lie in the ranges" : "");
  for (const std::string& reason : evaluation.reasons) {
    result.reasons.push_back(qt(reason));
  }
  result.step.push_back(memory_card(evaluation, cards));
  add(result.step, MetricId::step_time, "Step time", "One step");
  add(result.step, MetricId::tokens_per_second, "Tokens per second");
  const report::Utilisation used = report::headline_utilisation(evaluation);
  if (auto mfu = cards.of(used.id, used.id == MetricId::mfu ? "MFU" : "Causal MFU")) {
    const QString hfu = "HFU " + cards.value_of(MetricId::hfu);
    mfu->detail = mfu->detail.isEmpty() ? hfu : mfu->detail + ", " + hfu;
    result.step.push_back(*std::move(mfu));
  }
  add(result.run, MetricId::finish_date, "Finish date");
  if (evaluation.metrics.find(MetricId::finish_date) == nullptr) {
    add(result.run, MetricId::finish_time, "Time to finish");
  }
  add(result.run, MetricId::cost, "Cost");
  add(result.run, MetricId::cost_per_million_tokens, "Per million tokens");
  add(result.run, MetricId::tokens_trained, "Tokens trained");
  add(result.run, MetricId::goodput, "Goodput", "The run");
  const bool all_done = evaluation.run && evaluation.run->finished == evaluation.run->trials;
  if (outcome.standing == report::Standing::bad && all_done && !result.run.empty()) {
    result.run.back().tone = Tone::bad;
    result.run.back().detail = qt(outcome.brief);
  }
  add(result.run, MetricId::failures, "Failures", kEvents);
  if (!evaluation.feasible) {
    discredit(result);
  }
  std::vector<Card>& last = result.run.empty() ? result.step : result.run;
  last.push_back(trust_card(evaluation));
  if (!evaluation.expectations.empty()) {
    last.push_back(expectation_card(evaluation));
  }
  return result;
}

}  // namespace orrery::gui
