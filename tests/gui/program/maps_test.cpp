// Maps of ranks, stops and links: every cell is a figure of the answer.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "gui/charts/chart_view.hpp"
#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/plots/evaluation_plots.hpp"
#include "gui/models/tables/table.hpp"
#include "sim/answer/report/export/run_trace.hpp"
#include "sim/answer/report/picture/fabric_reach.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"
#include "sim/step/simulate/shared_links/step_network.hpp"
#include "tests/checkout.hpp"
#include "tests/gui/program/samples.hpp"

namespace orrery::gui {
namespace {

using step::StepCategory;
using testing::read_text;
using testing::run_scenario;

OutcomePtr evaluated(const std::string& text) {
  return evaluate_text({.text = text, .file_name = std::string(kSourceDir) + "/scenarios/x.yaml"});
}

OutcomePtr shipped(const char* name) {
  return evaluated(read_text(QString("%1/scenarios/%2.yaml").arg(kSourceDir, name)));
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

TEST(Maps, OfAlikeRanksHaveTheFiguresOfTheirStages) {
  const OutcomePtr outcome = evaluated(run_scenario());
  const step::StepResult& step = outcome->evaluation->step;
  const std::vector<Plot> maps = rank_maps(*outcome->evaluation);
  ASSERT_EQ(maps.size(), 2U) << "no speeds are drawn";
  const PlotSeries& memory = maps[0].series[0];
  const PlotSeries& waiting = maps[1].series[0];
  ASSERT_EQ(memory.x.size(), 64U);
  EXPECT_EQ(memory.low.front(), in_bytes(step.memory[0].peak()));
  EXPECT_EQ(memory.tell(0),
            "rank 0, node 0, stage 0: " + shown(report::Dimension::bytes, memory.low[0]));
  EXPECT_EQ(memory.targets[17].at, 17);
  const double per_rank = sum_of(waiting.low) / 64.0;
  const double expected =
      in_seconds(to_seconds(step.step_time)) *
      (step.ledger.share(StepCategory::bubble) + step.ledger.share(StepCategory::stage_imbalance) +
       step.ledger.share(StepCategory::idle));
  EXPECT_NEAR(per_rank, expected, 1e-9 * expected);
}

TEST(Maps, OfUnequalRanksNameTheSlowestWhichWaitsLeast) {
  const OutcomePtr outcome = evaluated(
      run_scenario() +
      "variation: {gpu_sigma: 0.02, slow_share: 0.02, slow_factor: 1.5, draws: 5, seed: 3}\n");
  ASSERT_NE(outcome->evaluation, nullptr);
  const std::vector<Plot> maps = rank_maps(*outcome->evaluation);
  ASSERT_EQ(maps.size(), 3U);
  const auto& times = outcome->evaluation->step.operation_timeline->gpu_times;
  EXPECT_EQ(maps[2].series[0].low, times);
  const auto slowest = std::max_element(times.begin(), times.end()) - times.begin();
  EXPECT_TRUE(maps[2].note.startsWith(QString("The slowest is rank %L1, ").arg(slowest)));
  EXPECT_TRUE(maps[1].note.startsWith("Stage ")) << maps[1].note.toStdString();
  EXPECT_TRUE(maps[1].note.endsWith(maps[2].note)) << "whoever looks at waits is told for whom";
  const PlotSeries& waiting = maps[1].series[0];
  const auto rank = static_cast<std::size_t>(slowest);
  for (std::size_t other = 0; other < times.size(); ++other) {
    const bool same_stage = waiting.tell(other).section(',', 1).section(':', 0, 0) ==
                            waiting.tell(rank).section(',', 1).section(':', 0, 0);
    EXPECT_TRUE(!same_stage || waiting.low[other] >= waiting.low[rank]) << other;
  }
}

TEST(Maps, OfFailuresHaveEveryNodeThatIsHitAndLeadToItsStop) {
  const OutcomePtr outcome = evaluated(run_scenario());
  const report::Evaluation& evaluation = *outcome->evaluation;
  const std::vector<report::Stop> stops = stops_of(evaluation);
  const Plot map = failures_map(evaluation);
  ASSERT_FALSE(evaluation.timeline.hits().empty());
  std::size_t hit = 0;
  std::size_t unhit = 0;
  for (const PlotSeries& cause : map.series) {
    for (std::size_t i = 0; i < cause.x.size(); ++i) {
      (cause.y[i] < 0.0 ? unhit : hit) += 1;
      const PlotTarget target = cause.targets[i];
      EXPECT_EQ(target.kind, PlotTarget::Kind::event);
      EXPECT_TRUE(std::ranges::any_of(stops, [&](const report::Stop& stop) {
        return stop.begin.ns == target.at && stop.stopped.ns == target.length;
      })) << cause.names[i].toStdString();
    }
  }
  EXPECT_EQ(hit, evaluation.timeline.hits().size());
  EXPECT_EQ(hit + unhit, report::failures_of(evaluation).size()) << "one node a failure here";
  EXPECT_TRUE(map.note.contains("nodes are hit")) << map.note.toStdString();
}

TEST(Maps, OfLinksHaveTheirMeanLoadAndAllThatWasLost) {
  const OutcomePtr outcome = shipped("tensor-and-data-on-one-wire");
  const step::StepNetwork& network = *outcome->evaluation->step.network;
  const Plot map = links_map(*outcome->evaluation);
  const PlotSeries& cells = map.series[0];
  ASSERT_FALSE(map.x.categories.empty());
  const std::size_t columns = cells.low.size() / map.x.categories.size();
  const double first = std::accumulate(
      cells.low.begin(), cells.low.begin() + static_cast<std::ptrdiff_t>(columns), 0.0);
  EXPECT_NEAR(first / static_cast<double>(columns), network.links[0].load, 1e-3);
  double lost = 0.0;
  for (const PlotSeries& bars : links_plot(*outcome->evaluation).series) {
    lost += bars.y[0];
  }
  EXPECT_NEAR(lost, in_seconds(network.links[0].total()), 1e-9);
}

TEST(Maps, OfTheFabricHaveWhatAGpuSends) {
  const OutcomePtr outcome = shipped("llama3-405b-16k");
  const auto places = report::fabric_reach(*outcome->evaluation);
  const Plot plot = fabric_plot(*outcome->evaluation);
  ASSERT_EQ(plot.x.categories.size(), places.size());
  ASSERT_GT(places.size(), 2U);
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const PlotSeries& one : plot.series) {
      const auto traffic = static_cast<std::size_t>(one.hue - plot.series.front().hue);
      ASSERT_EQ(one.name, qt(report::traffic_name(traffic)));
      EXPECT_EQ(one.y[i], in_bytes(places[i].sent[traffic]));
    }
  }
  EXPECT_EQ(places.front().sent[4], Bytes{}) << "replicas of a stage are in different nodes";
  EXPECT_EQ(plot.series.size(), 3U) << "no context, no experts";
  EXPECT_EQ(plot.note, "Data communication crosses uplinks of 1:7.");
}

// From the outermost switches to the nodes; what goes as far and no farther is its colour.
TEST(Maps, OfSwitchesHaveTheNodesUnderEach) {
  const OutcomePtr outcome = shipped("llama3-405b-16k");
  const Plot plot = switches_map(*outcome->evaluation);
  ASSERT_EQ(plot.x.categories.size(), 4U);
  ASSERT_EQ(plot.series.size(), 4U) << "tensor in nodes, nothing in racks, messages in pods, data";
  constexpr std::array<std::size_t, 4> kBlocks = {512, 6, 1, 512};
  constexpr std::array<double, 4> kRows = {3, 1, 0, 2};
  for (std::size_t i = 0; i < 4; ++i) {
    const PlotSeries& bars = plot.series[i];
    EXPECT_EQ(bars.x.size(), kBlocks[i]);
    EXPECT_EQ(bars.x.front(), kRows[i]);
    EXPECT_EQ(bars.low.front(), 0.0);
    EXPECT_EQ(bars.y.back(), 2048.0);
  }
  EXPECT_EQ(plot.series[1].names.back().toStdString(),
            "nodes 1,920 to 2,047: a GPU sends 7.94 GiB of pipeline messages within it");
}

TEST(Maps, OfARolloutHaveItsPhases) {
  const OutcomePtr outcome = shipped("grpo-qwen3-32b-64h100");
  const run::RolloutResult& rollout = *outcome->evaluation->rollout;
  const Plot plot = rollout_plot(*outcome->evaluation);
  ASSERT_EQ(plot.x.categories.size(), rollout.phases.size());
  EXPECT_EQ(plot.series[0].y[0], in_seconds(rollout.phases[0].time));
  EXPECT_EQ(plot.markers[0].at, in_seconds(rollout.step));
}

TEST(Maps, AreReadCellByCell) {
  Plot plot{.name = "Map", .horizontal = true};
  plot.scale = PlotAxis{.dimension = report::Dimension::time};
  PlotSeries cells{.kind = PlotSeries::Kind::map};
  for (int cell = 0; cell < 10; ++cell) {  // the last row has two of four
    cells.x.push_back(cell / 4 * 4.0);
    cells.y.push_back(cell % 4);
    cells.low.push_back(cell);
  }
  plot.series = {cells};
  ChartView chart;
  chart.resize(500, 400);
  chart.show();
  chart.show_plot(plot);
  chart.replot();
  for (std::size_t cell = 0; cell < 10; ++cell) {
    EXPECT_EQ(chart.point_at(chart.position_of({0, cell})), (PlotPoint{0, cell}));
  }
  EXPECT_EQ(next_point(plot, {0, 5}, Way::down), (PlotPoint{0, 9}));
  EXPECT_EQ(next_point(plot, {0, 5}, Way::left), (PlotPoint{0, 4}));
  chart.show_plot({.name = "Lines", .series = {{.x = {0, 1}, .y = {0, 1}}}});
  EXPECT_EQ(chart.plottableCount(), 1);
}

}  // namespace
}  // namespace orrery::gui
