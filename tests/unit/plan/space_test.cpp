// The space holds the layouts whose rules hold, each once, and no other.

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <variant>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "tests/unit/plan/plan_fixture.hpp"

namespace orrery::plan::test {
namespace {

// Whether layout and schedule accept what the keys say, asked of those stages themselves.
bool is_valid(const Candidate& candidate, const Workbench& bench) {
  scenario::Scenario scenario = bench.base;
  apply(candidate, bench, scenario);
  const layout::ClusterShape shape = hardware::cluster_shape(
      scenario.cluster, bench.machines[candidate.gpu].gpu.nvlink.has_value());
  const auto resolved =
      layout::resolve_layout(scenario.layout, scenario.batch, scenario.model, shape,
                             schedule::traits_of(candidate.schedule).placement);
  const auto* layout = std::get_if<layout::Layout>(&resolved);
  if (layout == nullptr) {
    return false;
  }
  return std::holds_alternative<schedule::Schedule>(
      schedule::generate({.kind = candidate.schedule,
                          .devices = candidate.pipeline,
                          .chunks = candidate.virtual_stages,
                          .micro_batches = static_cast<int>(layout->micro_batches)}));
}

PlanSpec small_space() {
  PlanSpec spec;
  spec[Axis::pipeline] = listed({"1", "2", "3", "4"});
  spec[Axis::virtual_stages] = listed({"1", "2", "3"});
  spec[Axis::schedule] = listed({"none", "1f1b", "interleaved", "zb-v", "looped_bfs"});
  spec[Axis::tensor] = listed({"1", "2", "3", "4", "16"});
  spec[Axis::context] = listed({"1", "2", "3"});
  spec[Axis::expert] = listed({"1", "2", "3", "8"});
  spec[Axis::expert_tensor] = listed({"1", "2", "4"});
  spec[Axis::expert_dispatcher] = listed({"alltoall"});
  spec[Axis::expert_overlap] = fixed();
  spec[Axis::sequence_parallel] = listed({"true"});
  spec[Axis::micro] = listed({"1", "2", "3", "8"});
  spec[Axis::recompute] = listed({"none"});
  spec[Axis::sharding] = listed({"zero1"});
  spec[Axis::shard_group] = listed({"2", "3", "4"});
  return spec;
}

// Chunks that a schedule takes, by the scenario's own rule.
bool takes_chunks(schedule::ScheduleKind kind, std::int64_t chunks) {
  switch (kind) {
    case schedule::ScheduleKind::interleaved:
      return chunks >= 2;
    case schedule::ScheduleKind::zb_v:
      return chunks == 2;
    case schedule::ScheduleKind::looped_bfs:
      return true;
    default:
      return chunks == 1;
  }
}

// All combinations of the listed values against the rules of the stages that own them.
TEST(Space, HoldsExactlyWhatLayoutAndScheduleAccept) {
  const Bench bench = make_bench(mixture_text(), small_space());
  std::set<std::string> found;
  for (const Candidate& candidate : layouts(bench.space, bench.bench)) {
    EXPECT_TRUE(found.insert(tag(candidate, bench.bench)).second) << "twice";
    EXPECT_TRUE(is_valid(candidate, bench.bench)) << tag(candidate, bench.bench);
  }
  std::set<std::string> expected;
  const Space& space = bench.space;
  Candidate candidate = *candidate_of(bench.bench.base, bench.bench);
  const std::int64_t gpus = gpus_of(candidate, bench.bench);
  candidate.recompute = 0;
  candidate.sharding = layout::Sharding::zero1;
  const auto each = [&space](Axis axis, auto visit) {
    for (const std::int64_t value : space[axis]) {
      visit(static_cast<std::int32_t>(value));
    }
  };
  const auto check_leaf = [&] {
    const bool pipes =
        (candidate.schedule == schedule::ScheduleKind::none) == (candidate.pipeline == 1);
    const bool alone =
        candidate.pipeline == 1 && candidate.schedule != schedule::ScheduleKind::none;
    const bool shards = std::int64_t{candidate.data} * candidate.context > 1;
    if ((pipes || alone) && takes_chunks(candidate.schedule, candidate.virtual_stages) && shards &&
        is_valid(candidate, bench.bench)) {
      expected.insert(tag(candidate, bench.bench));
    }
  };
  each(Axis::pipeline, [&](std::int32_t p) {
    each(Axis::schedule, [&](std::int32_t kind) {
      each(Axis::virtual_stages, [&](std::int32_t v) {
        each(Axis::tensor, [&](std::int32_t t) {
          each(Axis::context, [&](std::int32_t c) {
            if (gpus % (std::int64_t{p} * t * c) != 0) {
              return;
            }
            candidate.pipeline = p;
            candidate.schedule = static_cast<schedule::ScheduleKind>(kind);
            candidate.virtual_stages = v;
            candidate.tensor = t;
            candidate.context = c;
            candidate.data = static_cast<std::int32_t>(gpus / (p * t * c));
            candidate.sequence_parallel = t > 1;
            each(Axis::expert, [&](std::int32_t e) {
              each(Axis::expert_tensor, [&](std::int32_t et) {
                each(Axis::micro, [&](std::int32_t micro) {
                  each(Axis::shard_group, [&](std::int32_t group) {
                    candidate.expert = e;
                    candidate.expert_tensor = et;
                    candidate.micro = micro;
                    candidate.shard_group = group;
                    check_leaf();
                  });
                });
              });
            });
          });
        });
      });
    });
  });
  std::set<std::string> sharded;
  for (const std::string& name : found) {
    if (name.find("zero1") != std::string::npos) {
      sharded.insert(name);
    }
  }
  EXPECT_EQ(sharded, expected);
  EXPECT_GT(expected.size(), 500U);
}

TEST(Space, KeepsFixedAxesAsTheScenarioHasThem) {
  PlanSpec spec;
  for (const Axis axis :
       {Axis::tensor, Axis::pipeline, Axis::schedule, Axis::sharding, Axis::sequence_parallel,
        Axis::recompute, Axis::context, Axis::micro, Axis::virtual_stages, Axis::shard_group}) {
    spec[axis] = fixed();
  }
  const Bench bench = make_bench(dense_text(), spec);
  const auto all = layouts(bench.space, bench.bench);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front(), candidate_of(bench.bench.base, bench.bench));
}

TEST(Space, OfAutomaticAxesHoldsTheScenario) {
  for (const std::string& text : {dense_text(), mixture_text()}) {
    const Bench bench = make_bench(text);
    const auto all = layouts(bench.space, bench.bench);
    const auto own = candidate_of(bench.bench.base, bench.bench);
    EXPECT_NE(std::find(all.begin(), all.end(), *own), all.end());
    EXPECT_GE(bench.space.grid(), static_cast<double>(all.size()));
  }
}

template <typename Counts>
std::vector<Candidate> those_of(const std::vector<Candidate>& all, Counts counts) {
  std::vector<Candidate> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), counts);
  return some;
}

TEST(Space, NearALayoutHasThoseThatDifferInOneAxis) {
  for (const std::string& text : {dense_text(), mixture_text()}) {
    const Bench bench = make_bench(text);
    const auto all = layouts(bench.space, bench.bench);
    for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 20) {
      const auto near = those_of(all, [&own = all[i]](const Candidate& one) {
        return one == own || difference(own, one).axes <= 1;
      });
      EXPECT_EQ(layouts_near(all[i], bench.space, bench.bench), near) << tag(all[i], bench.bench);
    }
  }
}

TEST(Space, HoldsAllThatChangesAsFewKeysAsAllowed) {
  for (const std::string& text : {dense_text(), mixture_text()}) {
    Bench bench = make_bench(text);
    const auto all = layouts(bench.space, bench.bench);
    const auto own = candidate_of(bench.bench.base, bench.bench);
    EXPECT_EQ(changes_of(*own, bench.bench), 0);
    for (const std::int64_t most : {1, 2, 3}) {
      const auto few =
          those_of(all, [&](const Candidate& one) { return changes_of(one, bench.bench) <= most; });
      ASSERT_GT(few.size(), 1U);
      bench.bench.most_changes = most;
      EXPECT_EQ(layouts(bench.space, bench.bench), few);
      bench.bench.most_changes.reset();
    }
  }
}

TEST(Space, OfKeptReplicasHasNoOthers) {
  Bench bench = make_bench(dense_text());
  const auto few = those_of(layouts(bench.space, bench.bench),
                            [](const Candidate& one) { return one.data == 4; });
  bench.bench.data = 4;
  EXPECT_EQ(layouts(bench.space, bench.bench), few);
}

TEST(Space, StaysInsideTheNvlinkDomainAndTheGpusAllowed) {
  PlanSpec spec;
  spec.constraints.tensor_within_nvlink = true;
  spec.constraints.most_gpus = 16;
  spec[Axis::nodes] = listed({"1", "2", "4"});
  const Bench bench = make_bench(dense_text(), spec);
  const auto all = layouts(bench.space, bench.bench);
  ASSERT_FALSE(all.empty());
  for (const Candidate& candidate : all) {
    EXPECT_LE(candidate.tensor, 8);
    EXPECT_LE(gpus_of(candidate, bench.bench), 16);
  }
}

struct BadValue {
  Axis axis;
  std::string text;
  std::string message;
};

TEST(Space, RefusesValuesThatNoScenarioTakes) {
  const std::vector<BadValue> cases = {
      {Axis::tensor, "0", "`0` is no value of tensor (whole numbers from 1, or auto)"},
      {Axis::micro, "two", "`two` is no value of micro (whole numbers from 1, or auto)"},
      {Axis::sequence_parallel, "yes", "`yes` is no value of sequence_parallel (true, false)"},
      {Axis::sharding, "zero4",
       "`zero4` is no value of sharding (none, zero1, zero2, zero3, hsdp)"},
      {Axis::recompute, "{layers: 0}",
       "`{layers: 0}` is no recomputation (none, selective, selective_operations, full, {layers: "
       "N}, {modules: [...]}, {memory_budget: 0.5})"},
      {Axis::offload, "disk",
       "`disk` is nothing to offload (none, or optimizer, parameters and activations or the names "
       "of modules joined by +)"},
      {Axis::offload, "activations+moe_act",
       "`activations+moe_act` is nothing to offload (none, or optimizer, parameters and "
       "activations or the names of modules joined by +)"},
  };
  for (const BadValue& bad : cases) {
    PlanSpec spec;
    spec[bad.axis] = listed({bad.text});
    Diagnostics diagnostics;
    EXPECT_FALSE(try_bench(dense_text(), spec, diagnostics));
    EXPECT_EQ(to_string(diagnostics), "error: plan.search.axis: " + bad.message + "\n");
  }
}

TEST(Space, HasNothingToSearchWhereTheStepTimeIsStated) {
  Diagnostics diagnostics;
  EXPECT_FALSE(try_bench(dense_text() + "step: {time: 3s}\n", {}, diagnostics));
  EXPECT_NE(to_string(diagnostics).find("a stated step time leaves no layout to search"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::plan::test
