// A search tries by itself only what the training stack offers, and says what it leaves out.

#include "sim/answer/plan/space/stack_offers.hpp"

#include <algorithm>

#include "sim/step/hardware/profile_reader.hpp"
#include "tests/unit/plan/plan_fixture.hpp"

namespace orrery::plan::test {
namespace {

using layout::Sharding;
using schedule::ScheduleKind;

std::optional<StackOffer> offer_of(const std::string& stack) {
  Diagnostics diagnostics;
  const auto profile = hardware::load_software_profile(stack, hardware::default_search({}), {},
                                                       "software", diagnostics);
  return profile && profile->offers ? std::optional(StackOffer{*profile->offers}) : std::nullopt;
}

std::string deepspeed_text() { return dense_text() + "software: megatron-deepspeed\n"; }

TEST(StackOffers, AreKnownOfEveryShippedStackButTheGeneric) {
  for (const std::string& name : hardware::list_software_profiles(hardware::default_search({}))) {
    const auto offer = offer_of(name);
    EXPECT_EQ(offer.has_value(), name != "generic") << name;
    if (offer) {
      EXPECT_FALSE(offer->source.empty()) << name;
      EXPECT_FALSE(offer->shardings.empty()) << name;
    }
  }
}

TEST(StackOffers, KeepZero3AwayFromTheStagesOfDeepSpeed) {
  const StackOffer offer = offer_of("megatron-deepspeed").value();
  EXPECT_TRUE(offer.offers(Sharding::zero3, false));
  EXPECT_FALSE(offer.offers(Sharding::zero3, true));
  EXPECT_TRUE(offer.offers(Sharding::zero1, true));
  EXPECT_TRUE(offer.offers(ScheduleKind::one_f_one_b));
  EXPECT_FALSE(offer.offers(ScheduleKind::interleaved));
  EXPECT_EQ(
      lacks_of(offer, {}, false),
      (std::vector<std::string>{"sequence parallelism", "context parallelism",
                                "interleaved schedules", "hsdp", "zero2, zero3 beside a pipeline",
                                "selective recomputation", "recomputation of some layers"}));
  PlanSpec listed_sharding;
  listed_sharding[Axis::sharding] = listed({"zero3"});
  EXPECT_EQ(lacks_of(offer, listed_sharding, false).size(), 5U);
  EXPECT_EQ(lacks_of(offer, listed_sharding, true).size(), 7U);  // and the exchange of experts
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

// BLOOM's fork of early 2022 and the Megatron-LM of the two papers; what came later is not tried.
TEST(StackOffers, SplitSequencesOnlyWhereTheStackDoes) {
  struct Row {
    const char* stack;
    bool sequence;
    bool context;
  };

  for (const Row& row : {Row{"megatron-deepspeed", false, false}, Row{"megatron-lm", true, false},
                         Row{"megatron-core", true, true}, Row{"llm-foundry-fsdp", false, false}}) {
    const std::string plain =
        replaced(dense_text(), "tensor: 2, sequence_parallel: true", "tensor: 1");
    const Bench bench = make_bench(plain + "software: " + row.stack + "\n");
    bool sequence = false;
    bool context = false;
    bool tensor = false;
    for (const Candidate& candidate : layouts(bench.space, bench.bench)) {
      sequence = sequence || candidate.sequence_parallel;
      context = context || candidate.context > 1;
      tensor = tensor || candidate.tensor > 1;
    }
    EXPECT_EQ(sequence, row.sequence) << row.stack;
    EXPECT_EQ(context, row.context) << row.stack;
    EXPECT_EQ(tensor, std::string_view(row.stack) != "llm-foundry-fsdp") << row.stack;
  }
}

// How tokens reach their experts, and whether that hides behind compute, are choices of Megatron
// Core; MoE layers of other stacks keep what the scenario says.
TEST(StackOffers, LetMegatronCoreChooseHowExpertsExchange) {
  for (const char* stack : {"megatron-core", "torchtitan-fsdp2"}) {
    const bool offered = std::string_view(stack) == "megatron-core";
    const Bench bench = make_bench(mixture_text() + "software: " + stack + "\n");
    bool hierarchical = false;
    bool hidden = false;
    for (const Candidate& candidate : layouts(bench.space, bench.bench)) {
      const bool changed =
          candidate.dispatcher == hardware::ExpertDispatcher::deepep || candidate.hides_exchange;
      hierarchical = hierarchical || candidate.dispatcher == hardware::ExpertDispatcher::deepep;
      hidden = hidden || candidate.hides_exchange;
      EXPECT_TRUE(candidate.expert > 1 || !changed) << tag(candidate, bench.bench);
      // Megatron Core hides it behind other micro-batches of several chunks, not beside `full`.
      EXPECT_TRUE(!candidate.hides_exchange || candidate.pipeline == 1 ||
                  candidate.virtual_stages > 1)
          << tag(candidate, bench.bench);
    }
    EXPECT_EQ(hierarchical, offered) << stack;
    EXPECT_EQ(hidden, offered) << stack;
  }
}

// A scenario without a pipeline that states ZeRO-3 says nothing about ZeRO-3 beside one.
TEST(StackOffers, KeepTheScenariosOwnShardingAwayFromPipelines) {
  const std::string text =
      replaced(deepspeed_text(), "pipeline: 2, schedule: 1f1b, sharding: zero1", "sharding: zero3");
  const Bench bench = make_bench(text);
  bool alone = false;
  for (const Candidate& candidate : layouts(bench.space, bench.bench)) {
    alone = alone || candidate.sharding == Sharding::zero3;
    EXPECT_TRUE(candidate.sharding != Sharding::zero3 || candidate.pipeline == 1)
        << tag(candidate, bench.bench);
  }
  EXPECT_TRUE(alone);
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
