// Charts of the answers of sim/answer/sweep: fan, checkpoint interval, tornado.

#include <algorithm>
#include <cmath>

#include "gui/models/plots/evaluation_plots.hpp"
#include "gui/models/tables/text.hpp"

namespace orrery::gui {

namespace {

using report::Dimension;

// Columns of an answer by name; a cell without a number is not a number.
class Columns {
 public:
  explicit Columns(const sweep::Answer& answer) : answer_(answer) {}

  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    for (std::size_t i = 0; i < answer_.columns.size(); ++i) {
      if (answer_.columns[i].name == name) {
        return i;
      }
    }
    return std::nullopt;
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
      bars.x.push_back(static_cast<double>(i));
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
