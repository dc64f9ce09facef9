#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "gui/models/plots/evaluation_plots.hpp"
#include "gui/models/tables/table.hpp"
#include "sim/answer/report/export/run_trace.hpp"
#include "sim/answer/report/picture/fabric_reach.hpp"
#include "sim/answer/report/picture/rank_values.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/simulate/shared_links/step_network.hpp"

namespace orrery::gui {

namespace {

using report::Dimension;

double seconds_of(SimTime time) { return in_seconds(to_seconds(time)); }

Plot map_of(const QString& name, const QString& title, MapHue hue, Dimension dimension) {
  Plot plot{.name = name, .title = title, .horizontal = true};
  plot.scale = PlotAxis{.label = {}, .dimension = dimension};
  plot.series.push_back({.kind = PlotSeries::Kind::map, .hue = static_cast<int>(hue)});
  return plot;
}

class RankMaps {
 public:
  explicit RankMaps(const report::Evaluation& evaluation)
      : evaluation_(evaluation),
        ranks_(std::make_shared<report::RankValues>(rank_values(evaluation))) {}

  [[nodiscard]] std::vector<Plot> all() const {
    const std::vector<double>& paces = ranks_->paces;
    std::vector<Plot> plots;
    if (!ranks_->memory.empty()) {
      plots.push_back(grid("memory", "Peak memory of every rank", MapHue::memory, Dimension::bytes,
                           ranks_->memory, "holds"));
    }
    if (!ranks_->waits.empty()) {
      plots.push_back(grid("waiting", "How long every rank waits for others in a step",
                           MapHue::waiting, Dimension::time, ranks_->waits, "waits"));
    }
    if (!paces.empty()) {
      plots.push_back(grid("speed", "Time that compute takes on every rank, against the nominal",
                           MapHue::speed, Dimension::fraction, paces));
      const auto rank = static_cast<std::size_t>(std::ranges::max_element(paces) - paces.begin());
      const double waits = seconds_of(evaluation_.step.step_time) *
                           evaluation_.step.ledger.share(step::StepCategory::idle);
      const QString slowest =
          QString(
              "The slowest is %1 of the nominal time; the others wait %2 "
              "of a step for slower GPUs.")
              .arg(plots.back().series[0].tell(rank), shown(Dimension::time, waits));
      for (Plot& plot : plots) {
        plot.marked = rank;
        plot.note = (plot.note + " " + slowest).trimmed();
      }
    }
    return plots;
  }

 private:
  // Says which stages do that most and least.
  [[nodiscard]] Plot grid(const char* what, const QString& title, MapHue hue, Dimension dimension,
                          const std::vector<double>& values, const char* does = nullptr) const {
    Plot plot = map_of(QString("Ranks: ") + what, title, hue, dimension);
    if (does != nullptr) {
      plot.note = qt(report::extremes_sentence(*ranks_, does, dimension, values));
    }
    PlotSeries& cells = plot.series.front();
    // As wide as it is high, in whole nodes.
    const std::int64_t node = evaluation_.echo.gpus_per_node;
    const double nodes =
        std::sqrt(static_cast<double>(evaluation_.step.gpus)) / static_cast<double>(node);
    const std::int64_t width = node * static_cast<std::int64_t>(std::ceil(nodes));
    plot.x = {.label = "rank, the first of its row"};
    plot.y = {.label = "ranks after it"};
    cells.low = values;
    for (std::int64_t rank = 0; rank < evaluation_.step.gpus; ++rank) {
      cells.x.push_back(static_cast<double>(rank / width * width));
      cells.y.push_back(static_cast<double>(rank % width));
      cells.targets.push_back({PlotTarget::Kind::rank, rank});
    }
    cells.tell = [ranks = ranks_, values, dimension,
                  node = static_cast<std::size_t>(node)](std::size_t rank) {
      return QString("rank %L1, node %L2, stage %3: %4")
          .arg(rank)
          .arg(rank / node)
          .arg(ranks->stages[rank])
          .arg(shown(dimension, values[rank]));
    };
    return plot;
  }

  const report::Evaluation& evaluation_;
  std::shared_ptr<const report::RankValues> ranks_;
};

QString times_alike(const step::SharedLink& link) {
  return link.alike > 1 ? QString("%1 (x%L2)").arg(qt(link.name)).arg(link.alike) : qt(link.name);
}

constexpr std::size_t kMostRows = 16;
constexpr double kBelowAll = -0.04;  // of the nodes: where failures that hit none are drawn

// A series for each category of causes, in a colour that it has in every scenario.
void add_failures(const report::Evaluation& evaluation, Plot& plot) {
  for (std::size_t i = 0; i < run::kFailureCategoryCount; ++i) {
    plot.series.push_back({.kind = PlotSeries::Kind::points,
                           .name = qt(report::category_word(static_cast<run::FailureCategory>(i))),
                           .mark = PlotMark::dot,
                           .hue = static_cast<int>(i)});
  }
  const std::vector<report::Stop> stops = stops_of(evaluation);
  for (const report::Failure& failure : failures_of(evaluation)) {
    const auto* cause = failure.cause < 0
                            ? nullptr
                            : &evaluation.plan->causes[static_cast<std::size_t>(failure.cause)];
    PlotSeries& points = plot.series[static_cast<std::size_t>(
        cause == nullptr ? run::FailureCategory::unknown : cause->category)];
    const auto stop = std::ranges::lower_bound(stops, failure.at, {}, &report::Stop::begin);
    const bool found = stop != stops.end() && stop->begin == failure.at;
    for (std::size_t i = 0; i < std::max<std::size_t>(failure.nodes.size(), 1); ++i) {
      const auto hit = failure.nodes.empty() ? failure.nodes : failure.nodes.subspan(i, 1);
      QStringList told = {cause == nullptr ? QString("failure") : qt(cause->name),
                          qt(report::nodes_text(hit)),
                          "at " + shown(Dimension::time, seconds_of(failure.at))};
      if (found) {
        told << shown(Dimension::time, seconds_of(stop->together())) + " lost";
      }
      told.removeAll(QString());
      points.x.push_back(seconds_of(failure.at));
      points.y.push_back(hit.empty() ? kBelowAll * static_cast<double>(evaluation.timeline.nodes())
                                     : static_cast<double>(hit.front().node));
      points.names.push_back(told.join(", "));
      points.targets.push_back(
          {PlotTarget::Kind::event, failure.at.ns, found ? stop->stopped.ns : 0});
      plot.y.label = hit.empty() ? "node; below 0: none" : plot.y.label;
    }
  }
  std::erase_if(plot.series, [](const PlotSeries& points) { return points.x.empty(); });
}

// A series for each kind of communication, in the colour that it has in the timeline.
std::vector<PlotSeries> traffic_series() {
  using timeline::Category;
  constexpr std::array kHues = {Category::tensor, Category::context, Category::expert,
                                Category::pipeline, Category::data_reduce};
  std::vector<PlotSeries> series;
  for (std::size_t i = 0; i < report::kFabricTraffic; ++i) {
    series.push_back({.kind = PlotSeries::Kind::bars,
                      .name = qt(report::traffic_name(i)),
                      .hue = hue_of(kHues[i])});
  }
  return series;
}

}  // namespace

std::vector<Plot> rank_maps(const report::Evaluation& evaluation) {
  constexpr std::int64_t kMostRanks = 1 << 20;
  const std::int64_t ranks = evaluation.step.gpus;
  return evaluation.step.given || ranks < 2 || ranks > kMostRanks ? std::vector<Plot>{}
                                                                  : RankMaps(evaluation).all();
}

Plot failures_map(const report::Evaluation& evaluation) {
  Plot plot{.name = "Failures by node and time",
            .title = "Which nodes fail when in the run of the timeline, by kind of cause",
            .x = {.label = "time of the run", .dimension = Dimension::time},
            .y = {.label = "node"}};
  if (!evaluation.plan || evaluation.timeline.nodes() < 2) {
    return plot;
  }
  add_failures(evaluation, plot);
  plot.note = qt(hits_sentence(evaluation));
  plot.markers.push_back(
      {"spares", static_cast<double>(evaluation.plan->capacity.most_nodes), false});
  return plot;
}

Plot fabric_plot(const report::Evaluation& evaluation) {
  Plot plot{.name = "Fabric: who sends how far",
            .title = "How far what a GPU sends in a step goes",
            .y = {.label = "bytes that a GPU sends in a step", .dimension = Dimension::bytes},
            .horizontal = true,
            .stacked = true,
            .named = true};
  const std::vector<report::FabricPlace> places = fabric_reach(evaluation);
  plot.note = qt(fabric_sentence(places));
  plot.series = traffic_series();
  for (const report::FabricPlace& place : places) {
    const auto at = static_cast<double>(plot.x.categories.size());
    plot.x.categories.push_back(qt(place.name));
    for (std::size_t i = 0; i < report::kFabricTraffic; ++i) {
      plot.series[i].x.push_back(at);
      plot.series[i].y.push_back(in_bytes(place.sent[i]));
    }
  }
  std::erase_if(plot.series,
                [](const auto& one) { return one.y.empty() || std::ranges::max(one.y) <= 0.0; });
  return plot;
}

Plot switches_map(const report::Evaluation& evaluation) {
  Plot plot{.name = "Fabric: switches",
            .title = "Which communication meets under which switches",
            .y = {.label = "node"},
            .horizontal = true,
            .named = true};
  const std::vector<report::FabricPlace> places = fabric_reach(evaluation);
  const std::int64_t nodes = evaluation.echo.nodes;
  plot.series = traffic_series();
  plot.series.push_back({.kind = PlotSeries::Kind::bars,
                         .name = "nothing",
                         .hue = hue_of(timeline::Category::other)});
  plot.note = qt(fabric_sentence(places));
  for (std::size_t row = 0; row < places.size() && nodes > 1; ++row) {
    const report::FabricPlace& place = places[places.size() - 1 - row];
    const auto most = std::ranges::max_element(place.sent);
    const bool any = *most > Bytes{};
    PlotSeries& bars =
        any ? plot.series[static_cast<std::size_t>(most - place.sent.begin())] : plot.series.back();
    bars.width = 0.96;
    bars.written = bars.written || place.nodes * 4 > nodes;
    plot.x.categories.push_back(qt(place.name));
    const QString told = any ? "a GPU sends " + shown(Dimension::bytes, in_bytes(*most)) + " of " +
                                   bars.name + " within it"
                             : QString("nothing goes as far and no farther");
    for (const report::FabricBlock& block : fabric_blocks(place, nodes)) {
      bars.x.push_back(static_cast<double>(row));
      bars.low.push_back(static_cast<double>(block.begin));
      bars.y.push_back(static_cast<double>(block.end));
      bars.names.push_back(qt(block.name) + ": " + told);
    }
  }
  std::erase_if(plot.series, [](const auto& one) { return one.x.empty(); });
  return plot;
}

Plot links_map(const report::Evaluation& evaluation) {
  constexpr std::int64_t kColumns = 200;
  Plot plot =
      map_of("Links: load over the step", "How much of their rate the links that cost most carry",
             MapHue::waiting, Dimension::fraction);
  plot.y = {.label = "time of the step", .dimension = Dimension::time};
  const step::StepNetwork* network = evaluation.step.network.get();
  const SimTime time = evaluation.step.step_time;
  for (std::size_t i = 0; network != nullptr && i < network->links.size(); ++i) {
    const step::SharedLink& link = network->links[i];
    if (link.over_time.empty() || plot.x.categories.size() == kMostRows) {
      continue;
    }
    PlotSeries& cells = plot.series.front();
    plot.x.categories.push_back(times_alike(link));
    for (std::int64_t column = 0; column < kColumns; ++column) {
      const SimTime begin{time.ns * column / kColumns};
      const SimTime end{time.ns * (column + 1) / kColumns};
      cells.x.push_back(static_cast<double>(plot.x.categories.size() - 1));
      cells.y.push_back((seconds_of(begin) + seconds_of(end)) / 2);
      cells.low.push_back(report::mean_load(link, begin, end));
      cells.names.push_back(plot.x.categories.back() + " at " +
                            shown(Dimension::time, cells.y.back()) + ": " +
                            shown(Dimension::fraction, cells.low.back()) + " of its rate");
    }
  }
  return plot;
}

Plot links_plot(const report::Evaluation& evaluation) {
  Plot plot{.name = "Links: time lost",
            .title = "What flows lose on the links that they share, by whose flows",
            .horizontal = true,
            .stacked = true,
            .named = true};
  plot.y = {.label = "time of flows on all stages", .dimension = Dimension::time};
  const step::StepNetwork* network = evaluation.step.network.get();
  if (network == nullptr || network->links.empty()) {
    return plot;
  }
  for (std::size_t t = 0; t < step::kTraffics; ++t) {
    plot.series.push_back({.kind = PlotSeries::Kind::bars, .name = qt(step::kTrafficNames[t])});
  }
  for (std::size_t i = 0; i < std::min(network->links.size(), kMostRows); ++i) {
    const step::SharedLink& link = network->links[i];
    plot.x.categories.push_back(times_alike(link));
    for (std::size_t t = 0; t < step::kTraffics; ++t) {
      PlotSeries& bars = plot.series[t];
      bars.x.push_back(static_cast<double>(i));
      bars.y.push_back(in_seconds(link.lost[t]));
      bars.names.push_back(QString("%1, %2 busy: %3 lost by %4")
                               .arg(plot.x.categories.back(), shown(Dimension::fraction, link.load),
                                    shown(Dimension::time, bars.y.back()), bars.name));
    }
  }
  plot.note = QString(
                  "%L1 flows; links that they share cost the step %2. Much of what flows lose "
                  "is hidden.")
                  .arg(network->flows)
                  .arg(shown(Dimension::time, seconds_of(network->sharing)));
  return plot;
}

Plot rollout_plot(const report::Evaluation& evaluation) {
  Plot plot{.name = "Rollout",
            .title = "What a step of reinforcement learning consists of",
            .horizontal = true};
  if (!evaluation.rollout) {
    return plot;
  }
  const run::RolloutResult& rollout = *evaluation.rollout;
  plot.y = {.label = "time; phases of two pools overlap", .dimension = Dimension::time};
  PlotSeries bars{.kind = PlotSeries::Kind::bars, .name = "phases"};
  for (const run::RolloutPhase& phase : rollout.phases) {
    bars.x.push_back(static_cast<double>(plot.x.categories.size()));
    bars.y.push_back(in_seconds(phase.time));
    plot.x.categories.push_back(qt(phase.name));
    bars.ends.push_back(shown(Dimension::time, in_seconds(phase.time)));
    bars.names.push_back(QString("%1: %2, %3 of the step")
                             .arg(plot.x.categories.back(), bars.ends.back(),
                                  shown(Dimension::fraction, phase.time / rollout.step)));
  }
  plot.series.push_back(std::move(bars));
  plot.markers.push_back({"update to update", in_seconds(rollout.step)});
  plot.note = QString("%1 from update to update, %L2 answers.")
                  .arg(shown(Dimension::time, in_seconds(rollout.step)))
                  .arg(rollout.answers);
  return plot;
}

}  // namespace orrery::gui
