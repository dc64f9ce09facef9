// Checks the choices that predictions make against measurements: layouts of one question that were
// really run, as the published rows have them.
//
// BLOOM: 64 runs of the topology sweep on up to 384 A100 (BigScience, chronicles of the 176B
// training), single iterations that repeat to about 3 %. InternEvo: 7B on 8 to 1,024 A100, ZeRO-1
// over all ranks or inside groups. What a plan estimates is what a run simulates, to the bit
// (estimate_test.cpp).

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "sim/validate/measured/layout_groups.hpp"
#include "sim/validate/measured/measured_runs.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "tests/checkout.hpp"

namespace orrery::validate {
namespace {

struct Point {
  scenario::Scenario scenario;
  double predicted = 0.0;
  std::vector<double> readings;  // of one layout
  Bytes headroom;

  [[nodiscard]] double measured() const {
    double sum = 0.0;
    for (const double reading : readings) {
      sum += reading / static_cast<double>(readings.size());
    }
    return sum;
  }
};

// The rows whose names begin so. Readings of one layout have one prediction.
std::vector<Point> points_of(std::string_view prefix) {
  const std::string folder = std::string(kSourceDir) + "/scenarios/";
  const std::string file = folder + "published/measured_runs.yaml";
  Diagnostics diagnostics;
  const auto document = yaml::parse_file(file, data_limits(), diagnostics);
  EXPECT_TRUE(document) << to_string(diagnostics);
  ProfileShelf shelf(hardware::ProfileSearch{{folder + "profiles"}});
  std::map<SimTime, Point> points;
  for (const MeasuredRun& run : read_measured_runs(*document, file, false, shelf, diagnostics)) {
    if (!run.id.starts_with(prefix) || !run.step_time) {
      continue;
    }
    const auto simulated =
        simulate_run(run.run, {.timeline = false, .operations = false, .ledger = false});
    const auto* result = std::get_if<SimulatedRun>(&simulated);
    if (result == nullptr) {
      ADD_FAILURE() << run.id << ": " << std::get<std::string>(simulated);
      continue;
    }
    Point& point = points[result->step.step_time];
    point.scenario = run.run.scenario;
    point.predicted = in_seconds(to_seconds(result->step.step_time));
    point.readings.push_back(in_seconds(*run.step_time));
    point.headroom = result->step.feasibility.headroom;
  }
  std::vector<Point> all;
  for (auto& [time, point] : points) {
    all.push_back(std::move(point));
  }
  return all;
}

template <typename Keep>
std::vector<Point> only(std::vector<Point> points, const Keep& keep) {
  std::erase_if(points, [&keep](const Point& point) { return !keep(point); });
  return points;
}

double correlation(const std::vector<Point>& points) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const Point& point : points) {
    predicted.push_back(point.predicted);
    measured.push_back(point.measured());
  }
  return rank_correlation(predicted, measured);
}

// How much longer the layout with the least predicted time took than the fastest that was measured.
double regret(const std::vector<Point>& points) {
  double best = points.front().measured();
  for (const Point& point : points) {
    best = std::min(best, point.measured());
  }
  const double chosen = points.front().measured();  // they are in the order of predicted times
  fmt::print("{} layouts: rank correlation {:.3f}, chosen {:.2f} s, best {:.2f} s\n", points.size(),
             points.size() > 1 ? correlation(points) : 1.0, chosen, best);
  return chosen / best - 1.0;
}

constexpr double kRankBar = 0.9;
constexpr double kRegretBar = 0.03;
constexpr double kRegretOfFullGpus = 0.055;

bool is_full_job(const Point& point) {
  return point.scenario.batch.global == 2048 && point.scenario.cluster.nodes == 48;
}

// The layout that the sweep ended with is among all that ran the full batch on 384 GPUs.
TEST(PlanQuality, RanksTheBloomTopologySweepAndChoosesWhatBloomWasTrainedWith) {
  const std::vector<Point> all = points_of("bloom-topo-");
  EXPECT_GE(all.size(), 50U);
  EXPECT_LE(regret(all), kRegretBar);
  EXPECT_GE(correlation(all), kRankBar);
  const std::vector<Point> full = only(all, is_full_job);
  EXPECT_GE(full.size(), 40U);
  EXPECT_LE(regret(full), kRegretBar);
}

// One model, one batch, thirteen layouts. Two of them are predicted alike to 0.1 %, and the one
// that leaves least memory was measured 5 % slower: perhaps the caching allocator of a GPU that is
// nearly full gives blocks back and takes them again, which the model does not know. A fifth of the
// memory kept free rules that layout out; what a plan keeps by this stack's error of memory
// (6.7 GiB) does not.
TEST(PlanQuality, ChoosesAmongTheLayoutsOfOneBloomModel) {
  const std::vector<Point> points = only(points_of("bloom-topo-"), [](const Point& point) {
    const model::ModelSpec& model = point.scenario.model;
    return is_full_job(point) && model.hidden_size == 14336 && model.num_layers == 72 &&
           model.num_attention_heads == 64;
  });
  EXPECT_EQ(points.size(), 13U);
  EXPECT_GE(correlation(points), kRankBar);
  EXPECT_LE(regret(points), kRegretOfFullGpus);
  EXPECT_LE(regret(only(points, [](const Point& p) { return p.headroom >= gibibytes(16.0); })),
            kRegretBar);
}

// Sharding over all ranks or inside groups, tensor 1 or 2: what is chosen at each size, and the
// order of all.
TEST(PlanQuality, ChoosesTheShardGroupsOfInternEvo) {
  const std::vector<Point> all = points_of("internevo-7b-tp");
  EXPECT_GE(correlation(all), kRankBar);
  int sizes = 0;
  for (std::int64_t nodes = 1; nodes <= 128; nodes *= 2) {
    SCOPED_TRACE(nodes);
    const auto some =
        only(all, [nodes](const Point& point) { return point.scenario.cluster.nodes == nodes; });
    ASSERT_FALSE(some.empty());
    EXPECT_LE(regret(some), kRegretBar);
    ++sizes;
  }
  EXPECT_EQ(sizes, 8);
}

}  // namespace
}  // namespace orrery::validate
