#include "gui/models/plot.hpp"

#include <algorithm>
#include <utility>

#include "gui/models/text.hpp"
#include "sim/report/histogram.hpp"
#include "sim/report/ledger_rows.hpp"

namespace orrery::gui {

namespace {

using report::Dimension;
using report::MetricId;

QString csv_number(double value) {
  constexpr int kAllDigits = 17;
  return QString::number(value, 'g', kAllDigits);
}

// A bar for every category that begins where the one before it ends: they add up to all.
Plot ledger_plot(const QString& name,
                 const QString& title,
                 const std::vector<report::LedgerRow>& rows) {
  Plot plot;
  plot.name = name;
  plot.title = title;
  plot.horizontal = true;
  plot.y = {.label = "share of the GPU time", .dimension = Dimension::fraction};
  double before = 0.0;
  for (const report::LedgerRow& row : rows) {
    if (row.gpu_time <= Seconds{}) {
      continue;
    }
    PlotSeries bar{.kind = PlotSeries::Kind::bars, .name = qt(row.label)};
    bar.x = {static_cast<double>(plot.x.categories.size())};
    bar.low = {before};
    before += row.share;
    bar.y = {before};
    plot.x.categories.push_back(qt(row.label) + "  " + shown(Dimension::fraction, row.share));
    plot.series.push_back(std::move(bar));
  }
  return plot;
}

}  // namespace

QString to_csv(const Plot& plot) {
  QString csv = "series,x,y,low\n";
  for (const PlotSeries& series : plot.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      QString name = series.name;
      csv += '"' + name.replace('"', "\"\"") + "\"," + csv_number(series.x[i]) + ',' +
             csv_number(series.y[i]) + ',' +
             (i < series.low.size() ? csv_number(series.low[i]) : QString()) + '\n';
    }
  }
  return csv;
}

Plot step_ledger_plot(const report::Evaluation& evaluation) {
  return ledger_plot(
      "Step ledger",
      "Where the GPU time of one step goes",
      evaluation.step.given ? std::vector<report::LedgerRow>{} : step_ledger_rows(evaluation));
}

Plot run_ledger_plot(const report::Evaluation& evaluation) {
  return ledger_plot("Run ledger",
                     "Where the GPU time of the run goes, spares included",
                     run_ledger_rows(evaluation));
}

Plot memory_plot(const report::Evaluation& evaluation) {
  Plot plot;
  plot.name = "Memory by stage";
  plot.title = "Memory of one GPU of each pipeline stage at its peak";
  plot.x = {.label = "pipeline stage"};
  plot.y = {.label = "memory", .dimension = Dimension::bytes};
  plot.stacked = true;
  const auto& stages = evaluation.step.memory;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    plot.x.categories.push_back(QString::number(stage));
    const auto terms = report::memory_terms(stages[stage]);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (stage == 0) {
        plot.series.push_back({.kind = PlotSeries::Kind::bars, .name = qt(terms[i].name)});
      }
      plot.series[i].x.push_back(static_cast<double>(stage));
      plot.series[i].y.push_back(in_bytes(terms[i].value));
    }
  }
  // What no stage needs has no place in the legend.
  std::erase_if(plot.series, [](const PlotSeries& series) {
    return std::all_of(series.y.begin(), series.y.end(), [](double y) { return y <= 0.0; });
  });
  if (!stages.empty()) {
    plot.markers.push_back({"memory of the GPU", in_bytes(stages.front().limit), false});
  }
  return plot;
}

Plot spread_plot(const report::Evaluation& evaluation, MetricId id) {
  constexpr int kBins = 32;
  const report::MetricInfo& info = report::info(id);
  Plot plot;
  QString name = spoken(info.name);
  name[0] = name[0].toUpper();
  plot.name = "Spread: " + spoken(info.name);
  plot.title = name + " over the trials";
  plot.x = {.label = spoken(info.name), .dimension = info.dimension};
  plot.y = {.label = "share of the trials", .dimension = Dimension::fraction};
  const report::MetricValue* metric = evaluation.metrics.find(id);
  const bool varies = metric != nullptr && metric->trials &&
                      metric->trials->quantile(0.0) < metric->trials->quantile(1.0);
  if (!varies) {
    return plot;
  }
  PlotSeries bars{.kind = PlotSeries::Kind::bars, .name = "trials"};
  for (const report::HistogramBin& bin : report::histogram(*metric->trials, kBins)) {
    bars.x.push_back((bin.low + bin.high) / 2);  // middle of the drawn bar
    bars.y.push_back(bin.share);
    bars.width = bin.high - bin.low;
  }
  plot.series.push_back(std::move(bars));
  for (const auto& [label, q] : {std::pair{"P10", 0.1}, {"P50", 0.5}, {"P90", 0.9}}) {
    plot.markers.push_back({label, metric->trials->quantile(q)});
  }
  return plot;
}

std::vector<Plot> evaluation_plots(const report::Evaluation& evaluation) {
  std::vector<Plot> plots = {
      step_ledger_plot(evaluation), memory_plot(evaluation), run_ledger_plot(evaluation)};
  for (const MetricId id : {MetricId::finish_date,
                            MetricId::finish_time,
                            MetricId::tokens_trained,
                            MetricId::cost,
                            MetricId::cost_per_million_tokens,
                            MetricId::goodput,
                            MetricId::failures}) {
    const bool twice =
        id == MetricId::finish_time && evaluation.metrics.find(MetricId::finish_date) != nullptr;
    if (!twice) {
      plots.push_back(spread_plot(evaluation, id));
    }
  }
  std::erase_if(plots, [](const Plot& plot) { return plot.series.empty(); });
  return plots;
}

}  // namespace orrery::gui
