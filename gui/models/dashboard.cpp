#include "gui/models/dashboard.hpp"

#include <algorithm>
#include <optional>

#include "gui/models/text.hpp"
#include "sim/base/format.hpp"
#include "sim/report/difference.hpp"
#include "sim/report/histogram.hpp"
#include "sim/report/printed_quantiles.hpp"
#include "sim/report/trust.hpp"

namespace orrery::gui {

namespace {

using report::MetricId;

class Cards {
 public:
  Cards(const report::Evaluation& evaluation, const report::Evaluation* baseline)
      : evaluation_(evaluation) {
    if (baseline != nullptr) {
      const report::Figures both[] = {report::figures_of(*baseline),
                                      report::figures_of(evaluation)};
      differences_ = report::differences(both);
    }
  }

  // Nothing when the scenario does not give this metric.
  [[nodiscard]] std::optional<Card> of(MetricId id, const QString& name) const {
    const report::MetricValue* metric = evaluation_.metrics.find(id);
    if (metric == nullptr) {
      return std::nullopt;
    }
    const report::MetricInfo& info = report::info(id);
    Card card;
    card.name = name;
    card.value = shown(info.dimension, metric->value);
    card.tip = qt(info.meaning);
    card.change = change_of(info);
    describe_spread(*metric, info.dimension, card);
    return card;
  }

  [[nodiscard]] QString value_of(MetricId id) const {
    const report::MetricValue* metric = evaluation_.metrics.find(id);
    return metric != nullptr ? shown(report::info(id).dimension, metric->value) : QString();
  }

 private:
  [[nodiscard]] QString change_of(const report::MetricInfo& info) const {
    for (const report::DifferenceRow& row : differences_) {
      const bool changed = row.group == "metric" && row.name == info.name && row.values[1].change &&
                           *row.values[1].change != 0.0;
      if (changed) {
        return qt(report::format_change(info.dimension, *row.values[1].change));
      }
    }
    return {};
  }

  static void describe_spread(const report::MetricValue& metric,
                              report::Dimension dimension,
                              Card& card) {
    if (!metric.trials || metric.trials->count() < 2) {
      return;
    }
    const run::Distribution& trials = *metric.trials;
    if (!report::varies(trials)) {
      card.detail = "in every trial";
      return;
    }
    card.value = shown(dimension, trials.quantile(report::kMedian));
    card.detail = QString("P10 %1, P90 %2")
                      .arg(shown(dimension, trials.quantile(report::kLowQuantile)),
                           shown(dimension, trials.quantile(report::kHighQuantile)));
    card.tip += QString("; median of %1 trials").arg(trials.count());
  }

  const report::Evaluation& evaluation_;
  std::vector<report::DifferenceRow> differences_;
};

Card memory_card(const report::Evaluation& evaluation, const Cards& cards) {
  const step::Feasibility& fit = evaluation.step.feasibility;
  Card card;
  card.name = "Memory";
  card.value = evaluation.feasible ? "fits" : "does not fit";
  card.tone = evaluation.feasible ? Tone::good : Tone::bad;
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
    card.change = headroom->change.isEmpty() ? QString() : headroom->change + " headroom";
  }
  return card;
}

Card trust_card(const report::Evaluation& evaluation) {
  const report::Trust trust = report::trust_of(evaluation.step);
  const auto most = std::max_element(trust.share.begin(), trust.share.end());
  Card card;
  card.name = "Trust";
  card.tip = "Share of the step time by the source of the coefficients it rests on";
  card.value = qt(format_percent(*most)) + " " +
               qt(kSourceKindNames[static_cast<std::size_t>(most - trust.share.begin())]);
  card.detail = trust.extrapolated > 0.0
                    ? qt(format_percent(trust.extrapolated)) + " beyond the valid range"
                    : QString("source of the coefficients");
  card.tone = trust.extrapolated > 0.0 ? Tone::warning : Tone::plain;
  return card;
}

Card expectation_card(const report::Evaluation& evaluation) {
  const auto& all = evaluation.expectations;
  const auto passed =
      std::count_if(all.begin(), all.end(), [](const auto& result) { return result.passed(); });
  Card card;
  card.name = "Expectations";
  card.value = QString("%1 of %2 met").arg(passed).arg(all.size());
  card.tone = static_cast<std::size_t>(passed) == all.size() ? Tone::good : Tone::bad;
  for (const report::ExpectationResult& result : all) {
    card.tip += qt(to_string(result.verdict)) + ": " + qt(result.text) + "\n";
  }
  return card;
}

}  // namespace

Dashboard dashboard(const report::Evaluation& evaluation, const report::Evaluation* baseline) {
  const Cards cards(evaluation, baseline);
  Dashboard result;
  const auto add = [&cards](std::vector<Card>& group, MetricId id, const char* name) {
    if (auto card = cards.of(id, name)) {
      group.push_back(*std::move(card));
    }
  };
  result.title = qt(evaluation.echo.name);
  result.subtitle = QString("%1 on %2 x %3")
                        .arg(qt(evaluation.echo.model_name),
                             qt(format_integer(evaluation.step.gpus)),
                             qt(evaluation.echo.gpu));
  for (const std::string& reason : evaluation.reasons) {
    result.reasons.push_back(qt(reason));
  }
  result.step.push_back(memory_card(evaluation, cards));
  add(result.step, MetricId::step_time, "Step time");
  add(result.step, MetricId::tokens_per_second, "Tokens per second");
  if (auto mfu = cards.of(MetricId::mfu, "MFU")) {
    mfu->detail = "HFU " + cards.value_of(MetricId::hfu);
    result.step.push_back(*std::move(mfu));
  }
  add(result.run, MetricId::finish_date, "Finish date");
  if (evaluation.metrics.find(MetricId::finish_date) == nullptr) {
    add(result.run, MetricId::finish_time, "Time to finish");
  }
  add(result.run, MetricId::cost, "Cost");
  add(result.run, MetricId::cost_per_million_tokens, "Cost per million tokens");
  add(result.run, MetricId::tokens_trained, "Tokens trained");
  add(result.run, MetricId::goodput, "Goodput");
  add(result.run, MetricId::failures, "Failures");
  std::vector<Card>& last = result.run.empty() ? result.step : result.run;
  last.push_back(trust_card(evaluation));
  if (!evaluation.expectations.empty()) {
    last.push_back(expectation_card(evaluation));
  }
  return result;
}

}  // namespace orrery::gui
