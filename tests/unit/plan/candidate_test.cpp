// A candidate and the keys that say it mean the same scenario.

#include <set>

#include "tests/unit/plan/plan_fixture.hpp"

namespace orrery::plan::test {
namespace {

TEST(Candidate, TheScenarioItselfIsACandidateWithoutKeys) {
  for (const std::string& text : {dense_text(), mixture_text()}) {
    const Bench bench = make_bench(text);
    const auto own = candidate_of(bench.bench.base, bench.bench);
    ASSERT_TRUE(own);
    EXPECT_EQ(text_of(key_values(*own, bench.bench)), "");
  }
}

TEST(Candidate, IsWhatItsKeysMakeOfTheScenario) {
  for (const std::string& text : {dense_text(), mixture_text()}) {
    const Bench bench = make_bench(text);
    const std::vector<Candidate> all = layouts(bench.space, bench.bench);
    ASSERT_GT(all.size(), 1000U);
    for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 200) {
      Diagnostics diagnostics;
      const auto keys = key_values(all[i], bench.bench);
      const auto scenario = bench.base.with(keys, diagnostics);
      ASSERT_TRUE(scenario) << tag(all[i], bench.bench) << '\n' << to_string(diagnostics);
      EXPECT_EQ(candidate_of(*scenario, bench.bench), all[i])
          << tag(all[i], bench.bench) << ": " << text_of(keys);
    }
  }
}

// FSDP alone is usually another stack's: what a plan of megatron-core proposes says so.
TEST(Candidate, NamesTheStackOfThePlanWhereItsLayoutIsUsuallyRunByAnother) {
  const Bench bench = make_bench(dense_text());
  std::size_t named = 0;
  for (const Candidate& candidate : layouts(bench.space, bench.bench)) {
    if (candidate.pipeline > 1 || candidate.sharding != layout::Sharding::zero3) {
      continue;
    }
    Diagnostics diagnostics;
    const auto scenario = bench.base.with(key_values(candidate, bench.bench), diagnostics);
    ASSERT_TRUE(scenario) << to_string(diagnostics);
    ASSERT_EQ(scenario->software, bench.bench.base.software);
    ASSERT_TRUE(scenario->locations.contains("software"));
    ++named;
  }
  EXPECT_GT(named, 0U);
}

TEST(Candidate, HasATagOfItsOwn) {
  const Bench bench = make_bench(mixture_text());
  std::set<std::string> tags;
  const std::vector<Candidate> all = layouts(bench.space, bench.bench);
  for (const Candidate& candidate : all) {
    tags.insert(tag(candidate, bench.bench));
  }
  EXPECT_EQ(tags.size(), all.size());
}

TEST(Candidate, StatedStagesStayWithTheirDegreesAndGoWithOthers) {
  std::string text = dense_text();
  text.replace(text.find("sharding: zero1"), 15, "sharding: zero1, stage_layers: [15, 17]");
  const Bench bench = make_bench(text);
  Candidate candidate = *candidate_of(bench.bench.base, bench.bench);
  candidate.micro = 2;
  EXPECT_EQ(text_of(key_values(candidate, bench.bench)), "batch.micro=2 ");
  candidate.pipeline = 4;
  candidate.data = 2;
  candidate.shard_group = 2;
  EXPECT_EQ(text_of(key_values(candidate, bench.bench)),
            "batch.micro=2 layout.pipeline=4 layout.stage_layers=auto ");
  scenario::Scenario scenario = bench.bench.base;
  apply(candidate, bench.bench, scenario);
  EXPECT_FALSE(scenario.layout.stage_layers);
}

TEST(Candidate, SaysGpusWhereTheScenarioDoes) {
  std::string text = dense_text();
  text.replace(text.find("nodes: 2"), 8, "gpus: 16");
  PlanSpec spec;
  spec[Axis::nodes] = listed({"4"});
  const Bench bench = make_bench(text, spec);
  const auto all = layouts(bench.space, bench.bench);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(key_values(all.front(), bench.bench).front().key, "cluster.gpus");
  EXPECT_EQ(key_values(all.front(), bench.bench).front().value, "32");
}

}  // namespace
}  // namespace orrery::plan::test
