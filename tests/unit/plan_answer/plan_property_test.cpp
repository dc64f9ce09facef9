// A wrong plan costs millions: whatever is asked, no plan breaks a constraint, and none needs more
// memory in the full simulation than the GPU has.

#include <fmt/core.h>

#include <algorithm>

#include "sim/answer/plan/simulate.hpp"
#include "sim/base/random.hpp"
#include "tests/unit/plan_answer/plan_answer_fixture.hpp"

namespace orrery::plan::test {
namespace {

struct Drawn {
  std::string text;
  PlanQuestion asked;
};

template <typename T>
const T& one_of(RandomStream& random, const std::vector<T>& values) {
  return values[random.uniform_int(values.size())];
}

PlanQuestion draw(RandomStream& random) {
  const auto model = one_of<std::string>(random, {"llama2-7b", "llama2-13b", "mixtral-8x7b"});
  const auto gpu = one_of<std::string>(random, {"h100-sxm-80gb", "a100-sxm-80gb"});
  const auto nodes = one_of<std::string>(random, {"1", "2", "3", "4"});
  const auto batch = one_of<std::string>(random, {"48", "64", "96"});
  std::string text = small_text();
  text = replaced(text, "llama2-7b", model);
  text = replaced(text, "h100-sxm-80gb", gpu);
  text = replaced(text, "nodes: 2", "nodes: " + nodes);
  text = replaced(text, "global: 64", "global: " + batch);
  text = replaced(text, "tensor: 2, sequence_parallel: true, sharding: zero1", "tensor: 1");
  text = replaced(text, "trials: 20", "trials: 10");
  PlanQuestion asked = question(text);
  PlanSpec& spec = asked.spec;
  spec.finalists = 3;
  spec.objective = one_of<Objective>(
      random, {Objective::step_time, Objective::finish_time, Objective::cost, Objective::energy});
  const auto list = [&spec](Axis axis, std::vector<std::string> values) {
    spec[axis] = {AxisChoice::Mode::listed, std::move(values), {}, {}};
  };
  list(Axis::pipeline, {"1", "2"});
  list(Axis::tensor, {"1", "2", "8", "16"});
  list(Axis::micro, {"1", "2"});
  list(Axis::recompute, {"none", "full"});
  list(Axis::sharding, {"none", "zero1", "zero3"});
  list(Axis::context, {"1"});
  list(Axis::expert, {"1", "8"});
  if (random.uniform_int(2) == 0) {
    list(Axis::nodes, {"1", nodes});
  }
  spec.constraints.memory_headroom = gibibytes(static_cast<double>(random.uniform_int(20)));
  spec.constraints.tensor_within_nvlink = random.uniform_int(2) == 0;
  if (random.uniform_int(2) == 0) {
    spec.constraints.most_gpus = 8;
  }
  if (random.uniform_int(3) == 0) {
    spec.constraints.budget = dollars(5'000.0 * static_cast<double>(1 + random.uniform_int(8)));
  }
  if (random.uniform_int(3) == 0) {
    spec.deadline = days(static_cast<double>(1 + random.uniform_int(10)));
  }
  return asked;
}

double share_below(const run::Distribution& trials, double bound) {
  const auto& values = trials.sorted();
  const auto at = std::upper_bound(values.begin(), values.end(), bound) - values.begin();
  return static_cast<double>(at) / static_cast<double>(values.size());
}

void expect_kept(const Finalist& finalist, const PlanSpec& spec) {
  const report::Evaluation& evaluation = finalist.evaluation;
  EXPECT_TRUE(evaluation.feasible);
  for (const step::StageMemory& stage : evaluation.step.memory) {
    EXPECT_LE(in_bytes(stage.peak() + spec.constraints.memory_headroom.value()),
              in_bytes(stage.limit));
  }
  if (spec.constraints.tensor_within_nvlink) {
    EXPECT_LE(evaluation.echo.layout.tensor, finalist.facts.nvlink_domain);
  }
  if (spec.constraints.most_gpus) {
    EXPECT_LE(evaluation.step.gpus, *spec.constraints.most_gpus);
  }
  if (spec.constraints.budget) {
    EXPECT_GE(share_below(evaluation.run->cost, in_dollars(*spec.constraints.budget)), kKeptShare);
  }
  if (spec.deadline) {
    EXPECT_GE(share_below(evaluation.run->wall, in_seconds(*spec.deadline)), kKeptShare);
  }
  EXPECT_EQ(evaluation.run->finished, evaluation.run->trials);
}

TEST(PlanProperty, NoPlanBreaksAConstraintOrNeedsMoreMemoryThanThereIs) {
  constexpr std::uint64_t kSeed = 2026;
  RandomStream random(kSeed, 0, Purpose::property_test);
  std::size_t plans = 0;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", kSeed, round));
    PlanQuestion asked = draw(random);
    asked.stability = false;
    asked.fronts = false;
    asked.neighbours = false;
    const Plan plan = plan_of(asked);
    for (const Finalist& finalist : plan.finalists) {
      expect_kept(finalist, asked.spec);
      ++plans;
    }
  }
  EXPECT_GT(plans, 6U);
}

}  // namespace
}  // namespace orrery::plan::test
