// What is said of a family of layouts holds for every one of its members.

#include "sim/answer/plan/search/families.hpp"

#include <fmt/core.h>

#include <random>

#include "tests/unit/plan/plan_fixture.hpp"

namespace orrery::plan::test {
namespace {

// Every sharding and group, experts spread in several ways, states on the host and not.
PlanSpec shared_in_many_ways() {
  PlanSpec spec;
  spec.any_stack = true;
  spec[Axis::schedule] =
      listed({"none", "1f1b", "gpipe", "interleaved", "looped_bfs", "zb-h1", "zb-v", "dualpipe"});
  spec[Axis::recompute] = listed({"none", "selective", "full", "{layers: 2}"});
  spec[Axis::offload] = listed({"none", "optimizer", "optimizer+parameters", "activations"});
  return spec;
}

void expect_that_families_bound_their_members(const std::string& text, std::uint32_t seed) {
  constexpr int kTried = 25;
  constexpr std::size_t kEstimated = 3;
  std::mt19937 random(seed);
  PlanSpec spec = shared_in_many_ways();
  spec.constraints.memory_headroom = gibibytes(random() % 2 == 0 ? 0.0 : 40.0);
  const Bench bench = make_bench(text, spec);
  const std::vector<Candidate> all = layouts(bench.space, bench.bench);
  const std::vector<Family> families = plan::families(all);
  const bool mixture = bench.bench.base.model.moe.has_value();
  Estimator estimator(bench.bench);
  for (int i = 0; i < kTried; ++i) {
    Family family = families[random() % families.size()];
    family.least = estimator.least_of_family(all[family.first]);
    const std::vector<Member> members = bound_members(family, all, mixture, estimator);
    ASSERT_EQ(members.size(), static_cast<std::size_t>(family.size()));
    for (std::size_t m = 0; m < members.size(); ++m) {
      const Member& member = members[m];
      const std::string name = tag(all[member.index], bench.bench);
      ASSERT_EQ(member.index, family.first + m) << name;
      const Bound own = estimator.bound(all[member.index]);
      EXPECT_LE(family.least, own.least) << name;
      EXPECT_EQ(own.verdict, member.bound.verdict) << name;
      if (member.implied) {
        EXPECT_LE(own.headroom, member.bound.headroom) << name;
      } else {
        EXPECT_EQ(own.headroom, member.bound.headroom) << name;
        EXPECT_EQ(own.least, member.bound.least) << name;
      }
    }
    for (std::size_t n = 0; n < kEstimated; ++n) {
      const Candidate& candidate = all[family.first + random() % members.size()];
      const Estimate estimate = estimator.estimate(candidate);
      if (estimate.verdict != Verdict::breaks_rule) {
        EXPECT_LE(family.least, estimate.step_time) << tag(candidate, bench.bench);
        EXPECT_LE(estimator.bound(candidate).least, estimate.step_time)
            << tag(candidate, bench.bench);
      }
    }
  }
}

TEST(Families, AreNeverFasterAndNeverHoldLessThanTheirBounds) {
  for (const std::string software :
       {"megatron-core", "megatron-lm", "torchtitan-fsdp2", "megatron-deepspeed", "hai-llm"}) {
    for (const std::string& text : {dense_text(), mixture_text()}) {
      constexpr std::uint32_t kSeed = 23;
      SCOPED_TRACE(fmt::format("{}, seed {}", software, kSeed));
      expect_that_families_bound_their_members(text + "software: " + software + "\n", kSeed);
    }
  }
}

// The bound of a step on unequal GPUs is that of the median draw, whichever device has the slowest.
TEST(Families, AreNeverFasterThanTheirBoundsOnUnequalGpus) {
  for (const std::string variation :
       {"{gpu_sigma: 0.02, slow_share: 0.01, slow_factor: 1.5, draws: 7}",
        "{gpu_sigma: 0.1, node_sigma: 0.05, draws: 4}",
        "{slow_gpus: [{node: 1, gpu: 3, factor: 1.4}]}"}) {
    for (const std::string& text : {dense_text(), mixture_text()}) {
      constexpr std::uint32_t kSeed = 29;
      SCOPED_TRACE(fmt::format("{}, seed {}", variation, kSeed));
      expect_that_families_bound_their_members(text + "variation: " + variation + "\n", kSeed);
    }
  }
}

// Recomputation adds to what a pass takes.
TEST(Families, AreNoFasterThanTheirClanWithoutRecomputation) {
  constexpr int kTried = 60;
  for (const std::string& text : {dense_text(), mixture_text()}) {
    const Bench bench = make_bench(text, shared_in_many_ways());
    const std::vector<Candidate> all = layouts(bench.space, bench.bench);
    const std::vector<Family> found = clans(all, std::uint8_t{0});  // none is listed first
    std::size_t families_in_all = 0;
    std::size_t next = 0;
    for (const Family& clan : found) {
      ASSERT_EQ(clan.first, next);
      next = clan.last;
      families_in_all += families_of(clan, all).size();
    }
    EXPECT_EQ(next, all.size());
    EXPECT_EQ(families_in_all, families(all).size());
    Estimator estimator(bench.bench);
    std::mt19937 random(7);
    for (int i = 0; i < kTried; ++i) {
      const Family& clan = found[random() % found.size()];
      SimTime least = kForever;
      for (const Candidate& one : fastest_of(clan, all, std::uint8_t{0})) {
        least = std::min(least, estimator.least_of_family(one));
      }
      for (const Family& family : families_of(clan, all)) {
        EXPECT_LE(least, estimator.least_of_family(all[family.first]))
            << tag(all[family.first], bench.bench);
      }
    }
    EXPECT_EQ(clans(all, std::nullopt).size(), families(all).size());
  }
}

TEST(Families, HoldEveryLayoutOnceAndDifferInMoreThanSharing) {
  const Bench bench = make_bench(mixture_text(), shared_in_many_ways());
  const std::vector<Candidate> all = layouts(bench.space, bench.bench);
  const auto gathers = [](const Candidate& one) {
    return one.sharding == layout::Sharding::zero3 || one.sharding == layout::Sharding::hsdp;
  };
  std::size_t next = 0;
  for (const Family& family : families(all)) {
    ASSERT_EQ(family.first, next);
    ASSERT_GT(family.last, family.first);
    next = family.last;
    for (std::size_t i = family.first; i < family.last; ++i) {
      EXPECT_EQ(gathers(all[i]), gathers(all[family.first]));
      EXPECT_EQ(all[i].micro, all[family.first].micro);
      EXPECT_EQ(all[i].recompute, all[family.first].recompute);
      EXPECT_EQ(all[i].tensor, all[family.first].tensor);
    }
  }
  EXPECT_EQ(next, all.size());
}

// With a mixture, 6 of 12 ranks need not hold less of the experts than 4 of 12 do.
TEST(Families, OrderPartsOfAGroupOnlyWhereEverythingIsSharedAlike) {
  Candidate four;
  four.data = 12;
  four.sharding = layout::Sharding::hsdp;
  four.shard_group = 4;
  Candidate six = four;
  six.shard_group = 6;
  Candidate whole = four;
  whole.sharding = layout::Sharding::zero3;
  whole.shard_group = 12;
  Candidate none = four;
  none.sharding = layout::Sharding::none;
  Candidate zero1 = four;
  zero1.sharding = layout::Sharding::zero1;
  EXPECT_TRUE(holds_no_more(six, four, false));
  EXPECT_FALSE(holds_no_more(four, six, false));
  EXPECT_FALSE(holds_no_more(six, four, true));
  EXPECT_TRUE(holds_no_more(whole, four, true));
  EXPECT_FALSE(holds_no_more(four, whole, true));
  EXPECT_TRUE(holds_no_more(zero1, none, true));
  EXPECT_FALSE(holds_no_more(none, zero1, false));
  Candidate elsewhere = zero1;
  elsewhere.offload = 1;
  EXPECT_FALSE(holds_no_more(elsewhere, none, false));
}

}  // namespace
}  // namespace orrery::plan::test
