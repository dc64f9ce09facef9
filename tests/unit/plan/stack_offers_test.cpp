// A search tries by itself only what the training stack offers, and says what it leaves out.

#include "sim/plan/stack_offers.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/unit/plan/plan_fixture.hpp"

namespace orrery::plan::test {
namespace {

using layout::Sharding;
using schedule::ScheduleKind;

std::string deepspeed_text() {
  return dense_text() + "software: megatron-deepspeed\n";
}

TEST(StackOffers, AreKnownOfEveryShippedStackButTheGeneric) {
  const std::filesystem::path folder =
      std::filesystem::path(ORRERY_SOURCE_DIR) / "scenarios/profiles/software";
  std::set<std::string_view> used;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().stem().string();
    const StackOffer* offer = offer_of(name);
    EXPECT_EQ(offer == nullptr, name == "generic") << name;
    if (offer != nullptr) {
      used.insert(offer->stack);
      EXPECT_FALSE(offer->source.empty()) << name;
      EXPECT_FALSE(offer->shardings.empty()) << name;
    }
  }
  constexpr std::size_t kRows = 14;
  EXPECT_EQ(used.size(), kRows);
}

TEST(StackOffers, TakeTheLongestNameThatFits) {
  EXPECT_EQ(offer_of("megatron-deepspeed-vtrain")->stack, "megatron-deepspeed");
  EXPECT_EQ(offer_of("megatron-core-no-overlap")->stack, "megatron-core");
  EXPECT_EQ(offer_of("our-own-stack"), nullptr);
}

TEST(StackOffers, KeepZero3AwayFromTheStagesOfDeepSpeed) {
  const StackOffer& offer = *offer_of("megatron-deepspeed");
  EXPECT_TRUE(offer.offers(Sharding::zero3, false));
  EXPECT_FALSE(offer.offers(Sharding::zero3, true));
  EXPECT_TRUE(offer.offers(Sharding::zero1, true));
  EXPECT_TRUE(offer.offers(ScheduleKind::one_f_one_b));
  EXPECT_FALSE(offer.offers(ScheduleKind::interleaved));
  EXPECT_EQ(lacks_of(offer, {}),
            (std::vector<std::string>{"interleaved schedules",
                                      "hsdp",
                                      "zero2, zero3 beside a pipeline",
                                      "selective recomputation",
                                      "recomputation of some layers"}));
  PlanSpec listed_sharding;
  listed_sharding[Axis::sharding] = listed({"zero3"});
  EXPECT_EQ(lacks_of(offer, listed_sharding).size(), 3U);
}

TEST(StackOffers, LimitWhatASearchTriesByItself) {
  const Bench bench = make_bench(deepspeed_text());
  const std::vector<Candidate> all = layouts(bench.space, bench.bench);
  ASSERT_FALSE(all.empty());
  for (const Candidate& candidate : all) {
    EXPECT_NE(candidate.schedule, ScheduleKind::interleaved);
    EXPECT_NE(candidate.sharding, Sharding::hsdp);
    EXPECT_TRUE(candidate.pipeline == 1 || candidate.sharding < Sharding::zero2);
    // `selective` is what the scenario itself states.
    EXPECT_FALSE(bench.bench.recomputes[candidate.recompute].spec.layers);
  }
}

TEST(StackOffers, DoNotLimitWhatIsAskedFor) {
  PlanSpec every;
  every.any_stack = true;
  PlanSpec asked;
  asked[Axis::sharding] = listed({"zero3"});
  asked[Axis::schedule] = listed({"interleaved"});
  asked[Axis::recompute] = listed({"{layers: 2}"});
  for (const PlanSpec& spec : {every, asked}) {
    const Bench bench = make_bench(deepspeed_text(), spec);
    const std::vector<Candidate> all = layouts(bench.space, bench.bench);
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&bench](const Candidate& candidate) {
      return candidate.schedule == ScheduleKind::interleaved &&
             candidate.sharding == Sharding::zero3 && candidate.pipeline > 1 &&
             bench.bench.recomputes[candidate.recompute].spec.layers.has_value();
    }));
  }
}

}  // namespace
}  // namespace orrery::plan::test
