#include "gui/models/plots/evaluation_plots.hpp"

#include <algorithm>
#include <utility>

#include "gui/models/tables/table.hpp"
#include "sim/answer/report/export/step_counters.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/picture/histogram.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/answer/report/text/printed_sum.hpp"
#include "sim/answer/report/utilisation_losses.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

using report::Dimension;
using report::MetricId;
using report::UtilisationRow;
using report::UtilisationRowKind;

double place(std::size_t index) { return static_cast<double>(index); }

// Bars that begin where the one before ends: they add up to all, so many seconds if that is known.
Plot ledger_plot(const QString& name, const QString& title,
                 const std::vector<report::LedgerRow>& rows, double length = 0.0) {
  Plot plot{.name = name,
            .title = title,
            .y = {.label = "share of the GPU time of a " + name.section(' ', 0, 0).toLower(),
                  .dimension = Dimension::fraction},
            .horizontal = true};
  std::vector<std::string> printed;
  double before = 0.0;
  for (const report::LedgerRow& row : rows) {
    if (row.gpu_time <= Seconds{}) {
      continue;
    }
    const QString share = shown(Dimension::fraction, row.share);
    PlotSeries bar{
        .kind = PlotSeries::Kind::bars, .name = qt(row.label), .hue = ledger_hue(row.category)};
    bar.x = {place(plot.x.categories.size())};
    bar.low = {before};
    before += row.share;
    bar.y = {before};
    const QString time = shown(Dimension::time, row.share * length);
    bar.ends = {length > 0.0 ? time : share};
    printed.push_back(bar.ends.front().toStdString());
    bar.names = {QString("%1 %2, %3")
                     .arg(bar.name, share,
                          length > 0.0 ? time + " a GPU"
                                       : qt(format_count(in_hours(row.gpu_time))) + " GPU-hours")};
    plot.x.categories.push_back(bar.name);
    plot.series.push_back(std::move(bar));
  }
  const std::string rounding =
      length > 0.0 ? report::rounding_text(Dimension::time, printed,
                                           shown(Dimension::time, length).toStdString())
                   : report::rounding_text(Dimension::fraction, printed, "100.0%");
  plot.note = rounding.empty() ? QString() : "Rounding: " + qt(rounding).replace('-', u'−');
  return plot;
}

// What is lost in the colours of the ledgers, totals and what has no row there in their own.
Plot waterfall_plot(const QString& name, const QString& title,
                    const std::vector<UtilisationRow>& rows) {
  Plot plot{.name = name,
            .title = title,
            .y = {.label = "share of the dense peak", .dimension = Dimension::fraction},
            .horizontal = true};
  constexpr std::array kSigns = {"", "-", "+"};
  constexpr std::array kHues = {0, 4, 2};
  for (const UtilisationRow& row : rows) {
    PlotSeries bar{.kind = PlotSeries::Kind::bars, .name = qt(row.label)};
    const auto kind = static_cast<std::size_t>(row.kind);
    const int known = ledger_hue(row.category);
    bar.hue = known >= 0 ? known : kHues[kind];
    bar.x = {place(plot.x.categories.size())};
    bar.low = {std::min(row.before, row.after)};
    bar.y = {std::max(row.before, row.after)};
    bar.ends = {kSigns[kind] + shown(Dimension::fraction, row.size)};
    bar.names = {bar.name + " " + bar.ends.front()};
    plot.x.categories.push_back(bar.name);
    plot.series.push_back(std::move(bar));
  }
  return plot;
}

PlotMarker memory_limit(const step::StageMemory& memory) {
  return {"memory of the GPU: " + qt(format_bytes_binary(memory.limit)), in_bytes(memory.limit),
          false};
}

}  // namespace

Plot step_ledger_plot(const report::Evaluation& evaluation) {
  return ledger_plot(
      "Step ledger", "Where the GPU time of one step goes",
      evaluation.step.given ? std::vector<report::LedgerRow>{} : step_ledger_rows(evaluation),
      in_seconds(to_seconds(evaluation.step.step_time)));
}

Plot run_ledger_plot(const report::Evaluation& evaluation) {
  return ledger_plot("Run ledger", "Where the GPU time of the run goes, spares included",
                     run_ledger_rows(evaluation));
}

Plot step_utilisation_plot(const report::Evaluation& evaluation) {
  return waterfall_plot("From peak to MFU", "What stands between the peak and the MFU of a step",
                        step_utilisation_rows(evaluation));
}

Plot run_utilisation_plot(const report::Evaluation& evaluation) {
  return waterfall_plot("MFU of the run", "What the run leaves of the MFU of a step",
                        run_utilisation_rows(evaluation));
}

Plot memory_plot(const report::Evaluation& evaluation) {
  Plot plot{.name = "Memory by stage",
            .title = "Memory of one GPU of each pipeline stage at its peak",
            .x = {.label = "pipeline stage"},
            .y = {.label = "memory", .dimension = Dimension::bytes},
            .stacked = true};
  const auto& stages = evaluation.step.memory;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    plot.x.categories.push_back(QString::number(stage));
    const auto terms = report::memory_terms(stages[stage]);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (stage == 0) {
        plot.series.push_back({.kind = PlotSeries::Kind::bars, .name = qt(terms[i].name)});
      }
      plot.series[i].x.push_back(place(stage));
      plot.series[i].y.push_back(in_bytes(terms[i].value));
    }
  }
  // What no stage needs has no place in the legend.
  std::erase_if(plot.series, [](const auto& one) { return std::ranges::max(one.y) <= 0.0; });
  if (!stages.empty()) {
    plot.markers.push_back(memory_limit(stages.front()));
  }
  return plot;
}

Plot memory_course_plot(const report::Evaluation& evaluation) {
  Plot plot{.name = "Memory over the step",
            .title = "Memory of one GPU of each pipeline stage in the course of a step",
            .x = {.label = "time of the step", .dimension = Dimension::time},
            .y = {.label = "memory", .dimension = Dimension::bytes},
            .ordered = true};
  const auto& stages = evaluation.step.memory;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    PlotSeries line{.kind = PlotSeries::Kind::steps, .name = QString("stage %1").arg(stage)};
    for (const report::MemorySample& sample :
         report::memory_over_time(evaluation, static_cast<std::int64_t>(stage))) {
      line.x.push_back(in_seconds(to_seconds(sample.from)));
      line.y.push_back(in_bytes(sample.memory));
    }
    if (!line.x.empty()) {
      line.x.push_back(in_seconds(to_seconds(evaluation.step.step_time)));
      line.y.push_back(line.y.back());
      plot.series.push_back(std::move(line));
    }
  }
  if (!plot.series.empty()) {
    plot.markers.push_back(memory_limit(stages.front()));
  }
  return plot;
}

Plot causes_plot(const report::Evaluation& evaluation) {
  constexpr std::size_t kMostCauses = 12;
  Plot plot{.name = "Causes of failure",
            .title = "How often each cause strikes in a run, and the GPU time that it takes",
            .y = {.label = "GPU-hours lost", .dimension = Dimension::count},
            .horizontal = true};
  PlotSeries bars{.kind = PlotSeries::Kind::bars, .name = "GPU-hours lost"};
  for (const report::CauseRow& cause : main_cause_rows(evaluation, kMostCauses)) {
    const double lost = in_hours(cause.gpu_time);
    const auto count = [](double value) { return shown(Dimension::count, value); };
    bars.x.push_back(place(plot.x.categories.size()));
    bars.y.push_back(lost);
    bars.ends.push_back(count(cause.events) + " times");
    bars.names.push_back(QString("%1: %2 times, %3 GPU-hours lost")
                             .arg(qt(cause.cause), count(cause.events), count(lost)));
    plot.x.categories.push_back(qt(cause.cause));
  }
  if (!bars.x.empty()) {
    plot.series = {std::move(bars)};
  }
  return plot;
}

Plot spread_plot(const report::Evaluation& evaluation, MetricId id) {
  constexpr int kBins = 32;
  const report::MetricInfo& info = report::info(id);
  const QString name = spoken(info.name);
  Plot plot{.name = "Spread: " + name,
            .title = name.left(1).toUpper() + name.mid(1) + " over the trials",
            .x = {.label = name, .dimension = info.dimension},
            .y = {.label = "share of the trials", .dimension = Dimension::fraction}};
  const report::MetricValue* metric = evaluation.metrics.find(id);
  if (metric == nullptr || !metric->trials || !report::varies(*metric->trials)) {
    return plot;
  }
  std::vector<report::HistogramBin> bins = report::histogram(*metric->trials, kBins);
  double low = metric->trials->quantile(report::kLowQuantile);
  double high = metric->trials->quantile(report::kHighQuantile);
  if (const auto band = report::metric_band(evaluation, id)) {
    plot.title = name.left(1).toUpper() + name.mid(1) + ": chance and the error of the model";
    plot.y.label = "share of the cases";
    plot.note = "Chance alone: 8 of 10 trials from " + range_shown(info.dimension, low, high) + ".";
    low = band->low;
    high = band->high;
    bins = band_histogram(evaluation, id, *band, kBins);
  }
  PlotSeries bars{.kind = PlotSeries::Kind::bars, .name = "cases"};
  for (const report::HistogramBin& bin : bins) {
    bars.x.push_back((bin.low + bin.high) / 2);  // middle of the drawn bar
    bars.y.push_back(bin.share);
    bars.width = bin.high - bin.low;
    bars.names.push_back(QString("%1: %2 to %3")
                             .arg(shown(Dimension::fraction, bin.share),
                                  shown(info.dimension, bin.low), shown(info.dimension, bin.high)));
  }
  plot.series.push_back(std::move(bars));
  plot.markers = {{"P10", low}, {"P50", metric->trials->quantile(report::kMedian)}, {"P90", high}};
  return plot;
}

std::vector<Plot> evaluation_plots(const report::Evaluation& evaluation) {
  std::vector<Plot> plots = {step_ledger_plot(evaluation),     step_utilisation_plot(evaluation),
                             operation_flame_plot(evaluation), layer_flame_plot(evaluation),
                             rollout_plot(evaluation),         communication_plot(evaluation),
                             fabric_plot(evaluation),          switches_map(evaluation),
                             links_plot(evaluation),           links_map(evaluation),
                             roofline_plot(evaluation),        memory_plot(evaluation),
                             memory_course_plot(evaluation),   run_ledger_plot(evaluation),
                             run_utilisation_plot(evaluation), causes_plot(evaluation),
                             failures_map(evaluation)};
  for (Plot& map : rank_maps(evaluation)) {
    plots.push_back(std::move(map));
  }
  for (const MetricId id :
       {MetricId::finish_date, MetricId::finish_time, MetricId::tokens_trained, MetricId::cost,
        MetricId::cost_per_million_tokens, MetricId::goodput, MetricId::failures}) {
    const bool twice =
        id == MetricId::finish_time && evaluation.metrics.find(MetricId::finish_date) != nullptr;
    if (!twice) {
      plots.push_back(spread_plot(evaluation, id));
    }
  }
  std::erase_if(plots,
                [](const Plot& plot) { return plot.series.empty() || plot.series[0].x.empty(); });
  return plots;
}

// Charts of the answers of sim/answer/sweep: fan, checkpoint interval, tornado.

namespace {

using report::Dimension;

// Columns of an answer by name; a cell without a number is not a number.
class Columns {
 public:
  explicit Columns(const sweep::Answer& answer) : answer_(answer) {}

  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    const auto at = std::ranges::find(answer_.columns, name, [](const auto& c) { return c.name; });
    return at == answer_.columns.end() ? std::nullopt
                                       : std::optional<std::size_t>(at - answer_.columns.begin());
  }

  [[nodiscard]] std::vector<double> numbers(std::string_view name) const {
    return cells<double>(name, std::nan(""));
  }

  [[nodiscard]] std::vector<QString> texts(std::string_view name) const {
    std::vector<QString> values;
    for (const std::string& text : cells<std::string>(name, {})) {
      values.push_back(qt(text));
    }
    return values;
  }

  [[nodiscard]] std::optional<double> fact(std::string_view name) const {
    for (const sweep::Fact& fact : answer_.facts) {
      const auto* number = std::get_if<double>(&fact.value);
      if (fact.name == name && number != nullptr) {
        return *number;
      }
    }
    return std::nullopt;
  }

 private:
  template <typename Value>
  [[nodiscard]] std::vector<Value> cells(std::string_view name, const Value& without) const {
    std::vector<Value> values;
    if (const auto column = find(name)) {
      for (const auto& row : answer_.rows) {
        const auto* value = std::get_if<Value>(&row[*column]);
        values.push_back(value != nullptr ? *value : without);
      }
    }
    return values;
  }

  const sweep::Answer& answer_;
};

void fill_fan(const Columns& columns, Plot& plot) {
  const bool dated = columns.find("date_unix_s").has_value();
  plot.title = "How far the training is at every date";
  plot.x = {.label = dated ? "date" : "time after the start",
            .dimension = dated ? Dimension::date : Dimension::time};
  plot.y = {.label = "tokens trained and kept", .dimension = Dimension::count};
  const std::vector<double> x = columns.numbers(dated ? "date_unix_s" : "time_s");
  const std::pair<int, int> bands[] = {{5, 95}, {10, 90}, {25, 75}};
  for (const auto& [low, high] : bands) {
    plot.series.push_back({.kind = PlotSeries::Kind::band,
                           .name = QString("P%1 to P%2").arg(low).arg(high),
                           .x = x,
                           .y = columns.numbers("tokens_p" + std::to_string(high)),
                           .low = columns.numbers("tokens_p" + std::to_string(low))});
  }
  plot.series.push_back({.name = "median", .x = x, .y = columns.numbers("tokens_p50")});
}

void fill_interval(const Columns& columns, Plot& plot) {
  plot.title = "Goodput against the time between two checkpoints";
  plot.x = {
      .label = "time between two checkpoints", .dimension = Dimension::time, .logarithmic = true};
  plot.y = {.label = "goodput", .dimension = Dimension::fraction};
  const std::vector<double> x = columns.numbers("checkpoint_interval_s");
  plot.series.push_back({.kind = PlotSeries::Kind::band,
                         .name = "95 % interval",
                         .x = x,
                         .y = columns.numbers("goodput_ci95_high"),
                         .low = columns.numbers("goodput_ci95_low")});
  plot.series.push_back(
      {.name = "goodput", .x = x, .y = columns.numbers("goodput"), .marked = true});
  if (const auto best = columns.fact("best_interval_s")) {
    plot.markers.push_back({"best: " + shown(Dimension::time, *best), *best});
  }
}

void fill_tornado(const Columns& columns, Plot& plot) {
  constexpr std::size_t kMost = 12;
  const bool priced = columns.find("cost_low_usd").has_value();
  plot.title = priced ? "What moves the cost most, one thing at a time"
                      : "What moves the end most, one thing at a time";
  plot.horizontal = true;
  plot.y = {.label = priced ? "change of the cost" : "change of the end",
            .dimension = priced ? Dimension::dollars : Dimension::time};
  plot.x.categories = columns.texts("what");
  const std::size_t count = std::min(plot.x.categories.size(), kMost);
  plot.x.categories.resize(count);
  for (const bool high : {false, true}) {
    PlotSeries bars{.kind = PlotSeries::Kind::bars, .name = high ? "high value" : "low value"};
    bars.y = columns.numbers(priced ? (high ? "cost_high_usd" : "cost_low_usd")
                                    : (high ? "finish_high_s" : "finish_low_s"));
    bars.y.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      bars.x.push_back(place(i));
    }
    plot.series.push_back(std::move(bars));
  }
}

}  // namespace

const std::vector<AnswerChart>& answer_charts() {
  static const std::vector<AnswerChart> charts = {{"fan", "Progress by date"},
                                                  {"checkpoint-interval", "Checkpoint interval"},
                                                  {"sensitivity", "Sensitivity"}};
  return charts;
}

Plot answer_plot(const sweep::Answer& answer) {
  Plot plot;
  for (const AnswerChart& chart : answer_charts()) {
    plot.name = chart.answer == answer.name ? chart.name : plot.name;
  }
  const Columns columns(answer);
  if (answer.name == "fan") {
    fill_fan(columns, plot);
  } else if (answer.name == "checkpoint-interval") {
    fill_interval(columns, plot);
  } else if (answer.name == "sensitivity") {
    fill_tornado(columns, plot);
  }
  return plot;
}

}  // namespace orrery::gui
