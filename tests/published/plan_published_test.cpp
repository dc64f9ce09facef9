// Ranks of the layouts of published runs among all layouts of their cluster.
//
// The axes are searched as far as the team could choose: what their stack did not have yet, or
// their recipe fixed, is listed beside each case. Ranks are by estimated step time.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/answer/plan/search/search.hpp"
#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"

namespace orrery::plan::test {
namespace {

struct Standing {
  Ranked best = {};
  Estimate own = {};
  Candidate candidate = {};
  std::int64_t rank = 0;  // 1: none is faster
  std::int64_t layouts = 0;
};

AxisChoice listed(std::vector<std::string> values) {
  return {.mode = AxisChoice::Mode::listed, .values = std::move(values), .key = "plan.search"};
}

Standing stand(const std::string& file, const PlanSpec& spec) {
  Diagnostics diagnostics;
  const std::string folder = std::string(kSourceDir) + "/scenarios/";
  const auto scenario = scenario::load_file(folder + file, diagnostics);
  const auto bench = make_workbench(scenario.value(), spec,
                                    hardware::ProfileSearch{{folder + "profiles"}}, diagnostics);
  const auto space = make_space(bench.value(), spec, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << to_string(diagnostics);
  const SearchResult found = search(*bench, space.value(), spec, {.keep = 64});
  Standing standing{.best = found.best.front(), .candidate = *candidate_of(bench->base, *bench)};
  standing.own = Estimator(*bench).estimate(standing.candidate);
  standing.layouts = found.counts.layouts;
  standing.rank = 1 + std::count_if(found.best.begin(), found.best.end(), [&](const Ranked& other) {
                    return other.estimate.step_time < standing.own.step_time;
                  });
  fmt::print("{}: rank {} of {} layouts, {:.2f} s; best {:.2f} s, {}\n", file, standing.rank,
             standing.layouts, in_seconds(to_seconds(standing.own.step_time)),
             in_seconds(to_seconds(standing.best.estimate.step_time)),
             tag(standing.best.candidate, *bench));
  return standing;
}

double behind(const Standing& standing) {
  return static_cast<double>(standing.own.step_time.ns) /
             static_cast<double>(standing.best.estimate.step_time.ns) -
         1.0;
}

// 8,192 tokens: Meta used no context parallelism before the long-context stage, and kept tensor
// parallelism inside the node. The paper prints TP 8, PP 16, DP 128 and no virtual stages: 8 are
// those of the validated rows, with which the published degrees are the best of the whole space.
TEST(PlanPublished, Llama3OnSixteenThousandGpusIsTheBest) {
  PlanSpec spec;
  spec.constraints.memory_headroom = Bytes{};  // the published layout leaves 1.6 GiB
  spec.constraints.tensor_within_nvlink = true;
  spec[Axis::context] = listed({"1"});
  const Standing standing = stand("llama3-405b-16k.yaml", spec);
  const Candidate& best = standing.best.candidate;
  EXPECT_EQ(best.tensor, 8);
  EXPECT_EQ(best.pipeline, 16);
  EXPECT_EQ(best.data, 128);
  EXPECT_LE(standing.rank, 3);
  EXPECT_LE(behind(standing), 0.08);
}

// The recipe fixes what is recomputed and how experts exchange tokens; experts are not cut;
// schedules: 1F1B, interleaved, DualPipe.
TEST(PlanPublished, DeepSeekV3IsTheBest) {
  PlanSpec spec;
  spec.any_stack = true;
  spec.constraints.memory_headroom = Bytes{};
  spec[Axis::context] = listed({"1"});
  spec[Axis::expert_tensor] = listed({"1"});
  spec[Axis::expert_dispatcher].mode = AxisChoice::Mode::fixed;
  spec[Axis::expert_overlap].mode = AxisChoice::Mode::fixed;
  spec[Axis::micro] = listed({"1", "2", "4"});
  spec[Axis::recompute].mode = AxisChoice::Mode::fixed;
  const Standing standing = stand("deepseek-v3-2048h800.yaml", spec);
  EXPECT_GE(standing.layouts, 10'000);
  EXPECT_LE(standing.rank, 2);
}

// Megatron-DeepSpeed in early 2022, as BLOOM ran it: full recomputation, no sequence parallelism,
// 1F1B, ZeRO-1. What is predicted to be faster has data parallelism of 16 or a pipeline of 24: in
// the measured sweep these stand 1 % and 7 % behind TP 4 PP 12 DP 8, so that the few per cent
// between them are within what the prediction knows. Outside the recipe the plan finds far more:
// selective recomputation (which came months later) 20 %, none at all with PP 24 and one sequence
// 16 %, both with memory to spare by this account, which is 8 % below BLOOM's readings.
TEST(PlanPublished, BloomIsAmongTheBestOfItsRecipe) {
  PlanSpec spec;
  spec.constraints.memory_headroom = gibibytes(8.0);
  spec[Axis::context] = listed({"1"});
  spec[Axis::recompute].mode = AxisChoice::Mode::fixed;
  spec[Axis::sequence_parallel] = listed({"false"});
  spec[Axis::schedule] = listed({"none", "1f1b"});
  spec[Axis::sharding] = listed({"none", "zero1"});
  const Standing standing = stand("bloom-176b.yaml", spec);
  EXPECT_LE(standing.rank, 5);
  EXPECT_LE(behind(standing), 0.05);
}

}  // namespace
}  // namespace orrery::plan::test
