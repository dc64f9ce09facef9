#include <array>
#include <utility>

#include "gui/models/plots/evaluation_plots.hpp"
#include "gui/models/plots/plot.hpp"
#include "gui/models/tables/table.hpp"
#include "sim/answer/report/picture/roofline.hpp"
#include "sim/answer/report/picture/step_flame.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

using report::Dimension;
using step::OperationKind;

constexpr auto kByOperation = "Flame by operation";
constexpr auto kByLayer = "Flame by layer";

QString time_text(SimTime time) { return qt(format_time(to_seconds(time))); }

QString words_of(const report::FlameBar& bar) {
  QString words = QString("%1: %2, %3 of the step")
                      .arg(qt(bar.name), time_text(bar.until - bar.from),
                           shown(Dimension::fraction, bar.share));
  if (bar.runs > 0.0) {
    words += QString(", %1 runs").arg(qt(format_count(bar.runs)));
  }
  if (bar.hidden > SimTime{}) {
    words += QString("; %1 more beside compute").arg(time_text(bar.hidden));
  }
  return words;
}

// A series for each category of the ledger, so that they have its colours.
void add_bars(const report::Evaluation& evaluation, const std::vector<report::FlameBar>& bars,
              Plot& plot) {
  constexpr double kTouching = 0.96;
  const std::vector<report::LedgerRow> rows = step_ledger_rows(evaluation);
  for (std::size_t c = 0; c < rows.size(); ++c) {
    const auto category = static_cast<step::StepCategory>(c);
    PlotSeries series{
        .kind = PlotSeries::Kind::bars,
        .name = qt(rows[c].label).remove(" communication"),  // room for what it explains
        .width = kTouching,
        .written = true,
        .hue = step_hue(category)};
    for (const report::FlameBar& bar : bars) {
      if (bar.category == category) {
        series.x.push_back(static_cast<double>(bar.depth));
        series.low.push_back(in_seconds(to_seconds(bar.from)));
        series.y.push_back(in_seconds(to_seconds(bar.until)));
        series.names.push_back(words_of(bar));
      }
    }
    if (!series.x.empty()) {
      plot.series.push_back(std::move(series));
    }
  }
}

Plot flame(const QString& name, const QString& title, std::vector<QString> levels) {
  Plot plot{.name = name,
            .title = title,
            .y = {.label = "time of one step of a GPU", .dimension = Dimension::time},
            .horizontal = true,
            .named = true};
  plot.x.categories = std::move(levels);
  return plot;
}

}  // namespace

Plot operation_flame_plot(const report::Evaluation& evaluation, std::optional<std::int64_t> stage) {
  Plot plot = flame(kByOperation,
                    stage ? QString("What takes the time of a step on stage %1").arg(*stage)
                          : QString("What takes the time of a step, mean of all stages"),
                    {"step", "account", "operation"});
  add_bars(evaluation, flame_by_operation(evaluation, stage), plot);
  return plot;
}

Plot layer_flame_plot(const report::Evaluation& evaluation, std::optional<std::int64_t> stage) {
  const std::int64_t busiest = busiest_device(evaluation);
  const std::int64_t shown = stage.value_or(busiest);
  Plot plot = flame(kByLayer,
                    QString("Where stage %1 spends its step%2")
                        .arg(shown)
                        .arg(shown == busiest ? ", which waits least" : ""),
                    {"stage", "chunk", "layer", "operation"});
  add_bars(evaluation, flame_by_layer(evaluation, shown), plot);
  return plot;
}

QStringList flame_choices(const report::Evaluation& evaluation, const QString& chart) {
  const std::int64_t stages = stage_count(evaluation);
  if ((chart != kByOperation && chart != kByLayer) || stages < 2) {
    return {};
  }
  QStringList choices = {chart == kByLayer
                             ? QString("stage %1, waits least").arg(busiest_device(evaluation))
                             : QString("mean of all stages")};
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    choices << QString("stage %1").arg(stage);
  }
  return choices;
}

Plot flame_plot(const report::Evaluation& evaluation, const QString& chart, int choice) {
  const auto stage = choice > 0 ? std::optional<std::int64_t>(choice - 1) : std::nullopt;
  return chart == kByLayer ? layer_flame_plot(evaluation, stage)
                           : operation_flame_plot(evaluation, stage);
}

Plot communication_plot(const report::Evaluation& evaluation) {
  Plot plot{.name = "Communication",
            .title = "Communication of a step: what compute waits for",
            .y = {.label = "time per step, mean of all stages", .dimension = Dimension::time},
            .horizontal = true,
            .stacked = true};
  constexpr int kRed = 5;
  constexpr int kSky = 4;
  PlotSeries exposed{.kind = PlotSeries::Kind::bars, .name = "exposed", .hue = kRed};
  PlotSeries hidden{.kind = PlotSeries::Kind::bars, .name = "beside compute", .hue = kSky};
  for (const report::CommunicationRow& row : communication_rows(evaluation)) {
    const auto at = static_cast<double>(plot.x.categories.size());
    plot.x.categories.push_back(qt(row.name));
    const QString words = QString("%1: %2 exposed, %3 beside compute, %4 runs")
                              .arg(qt(row.name), time_text(row.exposed), time_text(row.hidden),
                                   qt(format_count(row.runs)));
    for (const auto& [series, time] :
         {std::pair{&exposed, row.exposed}, std::pair{&hidden, row.hidden}}) {
      series->x.push_back(at);
      series->y.push_back(in_seconds(to_seconds(time)));
      series->names.push_back(words);
    }
  }
  if (!plot.x.categories.empty()) {
    plot.series = {std::move(exposed), std::move(hidden)};
  }
  return plot;
}

Plot roofline_plot(const report::Evaluation& evaluation) {
  Plot plot{.name = "Roofline",
            .title = "Operations of a step below the roofs of the GPU",
            .x = {.label = "arithmetic intensity, FLOP per byte of memory traffic",
                  .dimension = Dimension::count,
                  .logarithmic = true},
            .y = {.label = "achieved", .dimension = Dimension::flop_rate, .logarithmic = true}};
  const report::Roofline roofs = report::roofline(evaluation);
  constexpr std::array<std::pair<OperationKind, const char*>, 3> kKinds = {
      {{OperationKind::gemm, "GEMM"},
       {OperationKind::attention, "attention"},
       {OperationKind::memory, "other kernels"}}};
  constexpr int kFirstRoof = 7;  // grey, then others
  int roof_hue = kFirstRoof;
  for (const report::RooflineRoof& roof : roofs.roofs) {
    PlotSeries line{.name = qt(roof.name), .x = roof.intensity, .hue = roof_hue};
    roof_hue = 1;
    for (const FlopPerSecond rate : roof.rate) {
      line.y.push_back(in_flop_per_second(rate));
    }
    plot.series.push_back(std::move(line));
  }
  int hue = 0;
  for (const auto& [kind, name] : kKinds) {
    PlotSeries points{.kind = PlotSeries::Kind::points, .name = name, .hue = hue};
    hue = hue == 0 ? 5 : 2;
    for (const report::RooflinePoint& point : roofs.points) {
      if (point.kind == kind) {
        points.x.push_back(point.intensity);
        points.y.push_back(in_flop_per_second(point.achieved));
        points.names.push_back(QString("%1: %2 FLOP/byte, %3, %4 of the step")
                                   .arg(qt(point.name), qt(format_count(point.intensity)),
                                        qt(format_flop_rate(point.achieved)),
                                        shown(Dimension::fraction, point.share)));
      }
    }
    if (!points.x.empty()) {
      plot.series.push_back(std::move(points));
    }
  }
  if (roofs.points.empty()) {
    plot.series.clear();
  }
  return plot;
}

}  // namespace orrery::gui
