// Checks the choices of the plan against measurements: sweeps of layouts that were really run.
//
// BLOOM: 64 runs of the topology sweep on up to 384 A100 (BigScience, chronicles of the 176B
// training; measured-runs data set), single iterations that repeat to about 3 %: repeats of one
// configuration are averaged. InternEvo: 7B on 8 to 1,024 A100, ZeRO-1 over all ranks or inside
// groups (InternEvo documentation). Every row is estimated as a candidate of its own scenario.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/answer/plan/search/search.hpp"
#include "sim/scenario/load.hpp"
#include "sim/validate/measured/layout_groups.hpp"
#include "tests/checkout.hpp"
#include "tests/published/layout_sweeps.hpp"

namespace orrery::plan::test {
namespace {

std::string bloom_text(const Sweep& sweep) {
  return fmt::format(R"(format: orrery/1
name: BLOOM topology sweep
model: {{preset: bloom-176b, sequence_length: 2048, num_layers: {}, hidden_size: {},
        num_attention_heads: {}, num_query_groups: {}, head_dim: {}, ffn_hidden_size: {},
        vocab_size: 250680}}
cluster: {{gpu: a100-sxm-80gb, nodes: {}, gpus_per_node: 8, network: {{preset: omnipath-100g-4}}}}
layout: {{tensor: 8, pipeline: {}, schedule: 1f1b, sharding: zero1}}
batch: {{global: {}, micro: 1}}
precision: {}
recompute: full
overlap: {{data: false}}
software: megatron-deepspeed
)",
                     sweep.layers, sweep.hidden, sweep.heads, sweep.heads,
                     sweep.hidden / sweep.heads, 4 * sweep.hidden, sweep.nodes,
                     sweep.nodes == 1 ? 1 : 2, sweep.batch, sweep.precision);
}

Workbench bench_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(text, "sweep.yaml", diagnostics);
  EXPECT_TRUE(scenario) << to_string(diagnostics);
  PlanSpec spec;
  auto bench = make_workbench(
      scenario.value(), spec,
      hardware::ProfileSearch{{std::string(kSourceDir) + "/scenarios/profiles"}}, diagnostics);
  EXPECT_TRUE(bench) << to_string(diagnostics);
  return std::move(bench).value();
}

struct Point {
  std::string name;
  double predicted = 0.0;
  double measured = 0.0;
  Bytes headroom;
};

std::vector<Point> estimate(const Sweep& sweep) {
  const Workbench bench = bench_of(bloom_text(sweep));
  Estimator estimator(bench);
  std::vector<Point> points;
  for (const Row& row : sweep.rows) {
    Candidate candidate = *candidate_of(bench.base, bench);
    candidate.tensor = row.tensor;
    candidate.pipeline = row.pipeline;
    candidate.micro = row.micro;
    candidate.expert_tensor = row.tensor;
    candidate.data = candidate.nodes * 8 / (row.tensor * row.pipeline);
    candidate.sharding = candidate.data > 1 ? layout::Sharding::zero1 : layout::Sharding::none;
    candidate.shard_group = candidate.data;
    const Estimate found = estimator.estimate(candidate);
    EXPECT_NE(found.verdict, Verdict::breaks_rule) << found.message;
    points.push_back({fmt::format("{} layers of {}, {} heads: {}", sweep.layers, sweep.hidden,
                                  sweep.heads, tag(candidate, bench)),
                      in_seconds(to_seconds(found.step_time)), row.mean(), found.headroom});
  }
  return points;
}

// Of predicted and measured times.
double rank_correlation(const std::vector<Point>& points) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const Point& point : points) {
    predicted.push_back(point.predicted);
    measured.push_back(point.measured);
  }
  return validate::rank_correlation(predicted, measured);
}

// How much longer the layout with the least predicted time took than the fastest that was measured.
double regret(const std::vector<Point>& points) {
  const auto chosen =
      std::min_element(points.begin(), points.end(),
                       [](const Point& a, const Point& b) { return a.predicted < b.predicted; });
  const auto best =
      std::min_element(points.begin(), points.end(),
                       [](const Point& a, const Point& b) { return a.measured < b.measured; });
  fmt::print(
      "{} layouts: rank correlation {:.3f}, chosen {} ({:.2f} s predicted, {:.2f} s measured, "
      "best {:.2f} s), {:.1f} % slower\n",
      points.size(), rank_correlation(points), chosen->name, chosen->predicted, chosen->measured,
      best->measured, (chosen->measured / best->measured - 1.0) * 100.0);
  return chosen->measured / best->measured - 1.0;
}

std::vector<Point> with_headroom(std::vector<Point> points, Bytes headroom) {
  std::erase_if(points, [headroom](const Point& point) { return point.headroom < headroom; });
  return points;
}

constexpr double kRankBar = 0.9;
constexpr double kRegretBar = 0.03;
constexpr double kRegretOfFullGpus = 0.055;

TEST(PlanQuality, RanksTheWholeBloomTopologySweep) {
  std::vector<Point> all;
  for (const Sweep& sweep : kBloomSweeps) {
    const std::vector<Point> points = estimate(sweep);
    all.insert(all.end(), points.begin(), points.end());
  }
  EXPECT_GE(all.size(), 50U);
  EXPECT_LE(regret(all), kRegretBar);
  EXPECT_GE(rank_correlation(all), kRankBar);
}

// The layout that the sweep ended with, among all that ran the full batch on 384 GPUs.
TEST(PlanQuality, ChoosesTheTopologyThatBloomWasTrainedWith) {
  std::vector<Point> all;
  for (const Sweep& sweep : kBloomSweeps) {
    if (sweep.batch == 2048 && sweep.nodes == 48) {
      const std::vector<Point> points = estimate(sweep);
      all.insert(all.end(), points.begin(), points.end());
    }
  }
  EXPECT_LE(regret(all), kRegretBar);
}

// One model, one batch, thirteen layouts. Two of them are predicted alike to 0.1 %, and the one
// that leaves least memory was measured 5 % slower: perhaps the caching allocator of a GPU that is
// nearly full gives blocks back and takes them again, which the model does not know. A tenth of the
// memory kept free rules that layout out; what a plan keeps by this stack's error of memory
// (6.7 GiB) does not.
TEST(PlanQuality, ChoosesAmongTheLayoutsOfOneBloomModel) {
  for (const Sweep& sweep : kBloomSweeps) {
    if (sweep.rows.size() < 10) {
      continue;
    }
    const std::vector<Point> points = estimate(sweep);
    EXPECT_GE(rank_correlation(points), kRankBar);
    EXPECT_LE(regret(points), kRegretOfFullGpus);
    EXPECT_LE(regret(with_headroom(points, gibibytes(8.0))), kRegretBar);
  }
}

// --- InternEvo -----------------------------------------------------------------------------------

std::string internevo_text(int gpus) {
  return fmt::format(R"(format: orrery/1
name: InternEvo 7B
model: {{num_layers: 32, hidden_size: 4096, num_attention_heads: 32, num_query_groups: 32,
        ffn_hidden_size: 11008, gated_mlp: true, vocab_size: 103168, sequence_length: 2048}}
cluster: {{gpu: a100-sxm-80gb, nodes: {}, gpus_per_node: 8,
          network: {{nic_rate: 100Gbps, nics_per_node: 4, fabric: roce}}}}
layout: {{sharding: zero1}}
batch: {{global: {}, micro: 2}}
precision: bf16
overlap: {{data: true}}
software: internevo
)",
                     gpus / 8, 8 * gpus);
}

// Sharding over all ranks or inside groups, tensor 1 or 2: what is chosen at each size, and the
// order of all.
TEST(PlanQuality, ChoosesTheShardGroupsOfInternEvo) {
  std::vector<Point> all;
  for (const auto& [gpus, rows] : kInternEvoRows) {
    const Workbench bench = bench_of(internevo_text(gpus));
    Estimator estimator(bench);
    std::vector<Point> points;
    for (const ShardRow& row : rows) {
      Candidate candidate = *candidate_of(bench.base, bench);
      candidate.tensor = row.tensor;
      candidate.expert_tensor = row.tensor;
      candidate.data = gpus / row.tensor;
      candidate.micro = row.micro;
      candidate.shard_group = row.shard_group;
      const Estimate found = estimator.estimate(candidate);
      EXPECT_NE(found.verdict, Verdict::breaks_rule) << found.message;
      points.push_back({tag(candidate, bench), in_seconds(to_seconds(found.step_time)), row.seconds,
                        found.headroom});
    }
    EXPECT_LE(regret(points), kRegretBar);
    all.insert(all.end(), points.begin(), points.end());
  }
  EXPECT_GE(rank_correlation(all), kRankBar);
}

}  // namespace
}  // namespace orrery::plan::test
