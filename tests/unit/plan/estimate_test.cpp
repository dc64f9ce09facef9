// The estimate of a candidate is the answer of `orrery run` for its scenario, to the bit.

#include <fmt/core.h>

#include <random>

#include "sim/answer/evaluate/evaluate.hpp"
#include "tests/unit/plan/plan_fixture.hpp"

namespace orrery::plan::test {
namespace {

void expect_equal(const Bench& bench, Estimator& estimator, const Candidate& candidate) {
  const std::string name = tag(candidate, bench.bench);
  Diagnostics diagnostics;
  const auto scenario = bench.base.with(key_values(candidate, bench.bench), diagnostics);
  ASSERT_TRUE(scenario) << name << '\n' << to_string(diagnostics);
  const auto evaluation = evaluate::evaluate(
      *scenario, {.threads = 1, .levers = false, .search = shipped_profiles()}, diagnostics);
  const Estimate estimate = estimator.estimate(candidate);
  ASSERT_EQ(evaluation.has_value(), estimate.verdict != Verdict::breaks_rule)
      << name << '\n'
      << to_string(diagnostics) << estimate.message;
  if (!evaluation) {
    return;
  }
  const step::StepResult& step = evaluation->step;
  EXPECT_EQ(estimate.step_time, step.step_time) << name;
  EXPECT_EQ(estimate.headroom, step.feasibility.headroom) << name;
  EXPECT_EQ(estimate.worst_stage, step.feasibility.worst_stage) << name;
  EXPECT_EQ(estimate.peak_memory,
            step.memory[static_cast<std::size_t>(step.feasibility.worst_stage)].peak())
      << name;
  EXPECT_EQ(estimate.verdict == Verdict::fits, evaluation->feasible) << name;
  const auto* mfu = evaluation->metrics.find(report::MetricId::mfu);
  ASSERT_NE(mfu, nullptr);
  constexpr double kLastBits = 1e-14;
  EXPECT_NEAR(estimate.mfu, mfu->value, kLastBits) << name;
}

// Every candidate after another one: what is kept from the one before must not show.
void expect_equal_at_random(const std::string& text, const PlanSpec& spec, std::uint32_t seed) {
  constexpr int kTried = 12;
  const Bench bench = make_bench(text, spec);
  const std::vector<Candidate> all = layouts(bench.space, bench.bench);
  ASSERT_FALSE(all.empty());
  std::mt19937 random(seed);
  Estimator estimator(bench.bench);
  for (int i = 0; i < kTried; ++i) {
    expect_equal(bench, estimator, all[random() % all.size()]);
  }
}

PlanSpec wide() {
  PlanSpec spec;
  spec.any_stack = true;
  spec[Axis::nodes] = listed({"1", "3"});
  spec[Axis::global_batch] = listed({"48", "96"});
  spec.constraints.memory_headroom = Bytes{};  // fits as `orrery run` says it
  spec[Axis::gpu] = listed({"h100-sxm-80gb", "a100-sxm-80gb"});
  spec[Axis::schedule] =
      listed({"none", "1f1b", "gpipe", "interleaved", "looped_bfs", "zb-h1", "zb-h2", "zb-v",
              "dualpipe", "dualpipev", "eager_1f1b", "pipedream", "pipedream-2bw"});
  spec[Axis::recompute] =
      listed({"none", "selective", "full", "{layers: 3}", "{modules: [layernorm]}",
              "{modules: [core_attn, mlp], layers: 2}", "{memory_budget: 0.5}"});
  spec[Axis::offload] =
      listed({"none", "optimizer+parameters", "activations", "optimizer+core_attn+attn_proj"});
  return spec;
}

TEST(Estimate, OfADenseModelIsThatOfRunToTheBit) {
  for (const std::uint32_t seed : {1U, 2U}) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_equal_at_random(dense_text(), wide(), seed);
  }
}

TEST(Estimate, OfAMixtureOfExpertsIsThatOfRunToTheBit) {
  for (const std::uint32_t seed : {3U, 4U}) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_equal_at_random(mixture_text(), wide(), seed);
  }
}

// A bound never exceeds the step, and knows the memory.
void expect_bounded_at_random(const std::string& text, const PlanSpec& spec, std::uint32_t seed) {
  constexpr int kTried = 40;
  const Bench bench = make_bench(text, spec);
  const std::vector<Candidate> all = layouts(bench.space, bench.bench);
  std::mt19937 random(seed);
  Estimator estimator(bench.bench);
  double tightness = 0.0;
  int compared = 0;
  for (int i = 0; i < kTried; ++i) {
    const Candidate& candidate = all[random() % all.size()];
    const std::string name = tag(candidate, bench.bench);
    const Bound bound = estimator.bound(candidate);
    const Estimate estimate = estimator.estimate(candidate);
    if (estimate.verdict == Verdict::breaks_rule) {
      continue;  // a deadlock of the schedule shows in the graph only
    }
    EXPECT_LE(bound.least, estimate.step_time) << name;
    constexpr double kRounding = 1e-9;
    EXPECT_NEAR(bound.headroom / estimate.memory_limit, estimate.headroom / estimate.memory_limit,
                kRounding)
        << name;
    EXPECT_TRUE(bound.undecided || bound.verdict == estimate.verdict) << name;
    tightness += static_cast<double>(bound.least.ns) / static_cast<double>(estimate.step_time.ns);
    ++compared;
  }
  ASSERT_GT(compared, kTried / 2);
  EXPECT_GT(tightness / compared, 0.7);
}

TEST(Estimate, IsNeverBelowItsBound) {
  for (const std::string software :
       {"megatron-core", "megatron-lm", "torchtitan-fsdp2", "megatron-deepspeed", "hai-llm"}) {
    for (const std::string& text : {dense_text(), mixture_text()}) {
      constexpr std::uint32_t kSeed = 11;
      SCOPED_TRACE(fmt::format("{}, seed {}", software, kSeed));
      expect_bounded_at_random(text + "software: " + software + "\n", wide(), kSeed);
    }
  }
}

TEST(Estimate, HeadroomThatMustStayFreeTurnsAFittingLayoutDown) {
  const Bench bench = make_bench(dense_text());
  const Candidate own = *candidate_of(bench.bench.base, bench.bench);
  const Estimate before = Estimator(bench.bench).estimate(own);
  ASSERT_EQ(before.verdict, Verdict::fits);
  const auto verdict = [&own](Bytes headroom) {
    PlanSpec spec;
    spec.constraints.memory_headroom = headroom;
    const Bench asked = make_bench(dense_text(), spec);
    return Estimator(asked.bench).estimate(own).verdict;
  };
  EXPECT_EQ(verdict(before.headroom), Verdict::fits);
  EXPECT_EQ(verdict(before.headroom + bytes(1.0)), Verdict::over_memory);
}

// Peaks that are above their prediction by the stack's error still fit: limit / (1 + error).
TEST(Estimate, HeadroomIsTheMemoryErrorOfTheStackWhereNoneIsAskedFor) {
  for (const char* stack : {"generic", "megatron-deepspeed"}) {
    const Bench bench = make_bench(dense_text() + "software: " + stack + "\n");
    const Machine& machine = bench.bench.machines.front();
    const double error = bench.bench.software.memory_error.value();
    EXPECT_GE(error, 0.05) << stack;
    const Bytes limit = machine.gpu.memory.value();
    EXPECT_NEAR((limit - machine.headroom) * (1.0 + error) / limit, 1.0, 1e-12) << stack;
  }
  EXPECT_GT(make_bench(dense_text() + "software: megatron-deepspeed\n").bench.machines[0].headroom,
            make_bench(dense_text()).bench.machines[0].headroom);
  PlanSpec none;
  none.constraints.memory_headroom = Bytes{};
  EXPECT_EQ(make_bench(dense_text(), none).bench.machines[0].headroom, Bytes{});
}

}  // namespace
}  // namespace orrery::plan::test
