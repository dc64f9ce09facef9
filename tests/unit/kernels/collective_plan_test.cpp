#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/collectives/collective.hpp"

namespace orrery::kernels {
namespace {

CollectivePlan plan_of(const std::string& text, int rank) {
  const ParsedCase parsed = parse_case(text);
  EXPECT_TRUE(parsed.kernel) << parsed.problem;
  const PlannedCollective planned = plan_collective(*parsed.kernel, rank, 4, 2);
  EXPECT_TRUE(planned.plan) << planned.problem;
  return planned.plan.value_or(CollectivePlan());
}

// What a collective does, done on the host: outputs of all ranks from inputs of all ranks.
double exchanged(const std::string& text, int rank, std::int64_t i) {
  const CollectivePlan plan = plan_of(text, rank);
  const auto input = [&](int from, std::int64_t at) {
    EXPECT_LT(at, plan.send_elements);
    return static_cast<double>(input_value(plan, from, at));
  };
  const std::int64_t c = plan.part;
  switch (plan.operation) {
    case Operation::all_reduce:
      return input(0, i) + input(1, i) + input(2, i) + input(3, i);
    case Operation::reduce_scatter:
      return input(0, rank * c + i) + input(1, rank * c + i) + input(2, rank * c + i) +
             input(3, rank * c + i);
    case Operation::all_gather:
      return input(static_cast<int>(i / c), i % c);
    case Operation::all_to_all:
      return input(static_cast<int>(i / c), rank * c + i % c);
    default:
      return input(rank == 0 ? 3 : rank - 1, i);
  }
}

TEST(CollectivePlan, ExpectsWhatEachOperationDelivers) {
  for (const char* name :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive"}) {
    const std::string text = std::string(name) + " fp32 ranks=4 nodes=2 bytes=4096 in_place=0";
    for (int rank = 0; rank < 4; ++rank) {
      const CollectivePlan plan = plan_of(text, rank);
      for (std::int64_t i = 0; i < plan.receive_elements; ++i) {
        ASSERT_EQ(expected_value(plan, i), exchanged(text, rank, i)) << text << " " << rank;
      }
    }
  }
}

TEST(CollectivePlan, BytesAreThoseOfTheLargestBuffer) {
  const auto all = [](const char* name) {
    return plan_of(std::string(name) + " bf16 ranks=4 nodes=2 bytes=1000 in_place=0", 1);
  };
  EXPECT_EQ(all("all_reduce").send_elements, 500);
  EXPECT_EQ(all("all_reduce").receive_elements, 500);
  EXPECT_EQ(all("all_gather").send_elements, 125);
  EXPECT_EQ(all("all_gather").receive_elements, 500);
  EXPECT_EQ(all("reduce_scatter").send_elements, 500);
  EXPECT_EQ(all("reduce_scatter").receive_elements, 125);
  EXPECT_EQ(all("all_to_all").part, 125);
  EXPECT_EQ(all("send_receive").send_elements, 500);
  // 1001 elements of fp32 do not divide by four ranks: 250 to a part, 4000 bytes.
  EXPECT_EQ(plan_of("all_gather fp32 ranks=4 nodes=2 bytes=4004 in_place=0", 0).bytes, 4000);
}

TEST(CollectivePlan, InPlaceBuffersOverlapAsNcclWantsThem) {
  const CollectivePlan gather = plan_of("all_gather fp32 ranks=4 nodes=2 bytes=4096 in_place=1", 3);
  EXPECT_EQ(gather.input_in_output(), 3 * 256);
  EXPECT_EQ(gather.output_in_input(), 0);
  const CollectivePlan scatter =
      plan_of("reduce_scatter fp32 ranks=4 nodes=2 bytes=4096 in_place=1", 3);
  EXPECT_EQ(scatter.input_in_output(), 0);
  EXPECT_EQ(scatter.output_in_input(), 3 * 256);
  const CollectivePlan reduce = plan_of("all_reduce fp32 ranks=4 nodes=2 bytes=4096 in_place=1", 3);
  EXPECT_EQ(reduce.input_in_output(), 0);
  EXPECT_EQ(reduce.output_in_input(), 0);
}

TEST(CollectivePlan, RefusesWhatTheGroupCannotRun) {
  const auto problem = [](const char* text) {
    return plan_collective(*parse_case(text).kernel, 0, 4, 2).problem;
  };
  EXPECT_EQ(problem("all_reduce fp32 ranks=8 nodes=2 bytes=4096 in_place=0"),
            "the case is for 8 ranks on 2 nodes, the group has 4 on 2");
  EXPECT_EQ(problem("all_reduce fp32 ranks=4 nodes=4 bytes=4096 in_place=0"),
            "the case is for 4 ranks on 4 nodes, the group has 4 on 2");
  EXPECT_EQ(problem("all_to_all fp32 ranks=4 nodes=2 bytes=4096 in_place=1"),
            "all_to_all is not defined in place");
  EXPECT_EQ(problem("send_receive fp32 ranks=4 nodes=2 bytes=4096 in_place=1"),
            "send_receive is not defined in place");
  EXPECT_EQ(problem("all_gather fp32 ranks=4 nodes=2 bytes=12 in_place=0"),
            "bytes=12 is less than one element for each of 4 ranks");
}

TEST(CollectivePlan, SumsOfThePatternAreExactInSixteenBits) {
  CollectivePlan plan;
  for (const int ranks : {1, 8, 64, 65, 256}) {
    plan.ranks = ranks;
    plan.part = 1000;
    for (std::int64_t i = 0; i < 50; ++i) {
      const auto sum = static_cast<float>(expected_value(plan, i));
      for (const Element element : {Element::bf16, Element::fp16, Element::fp32}) {
        EXPECT_EQ(decode(element, encode(element, sum)), sum) << ranks;
      }
    }
    EXPECT_EQ(allowed_error(plan, 1.0), 0.0);
  }
}

TEST(CollectivePlan, PatternsOfRanksAndPartsDiffer) {
  CollectivePlan plan;
  plan.ranks = 4;
  int same_rank = 0;
  int same_part = 0;
  for (std::int64_t i = 0; i < 400; ++i) {
    same_rank += input_value(plan, 0, i) == input_value(plan, 1, i) ? 1 : 0;
    same_part += input_value(plan, 0, i) == input_value(plan, 0, i + 65'536) ? 1 : 0;
  }
  EXPECT_NEAR(same_rank, 100, 45);  // one in four, five standard errors
  EXPECT_NEAR(same_part, 100, 45);
}

TEST(SampledElements, HoldBothEndsOfTheParts) {
  const CollectivePlan plan =
      plan_of("all_to_all bf16 ranks=4 nodes=2 bytes=1048576 in_place=0", 2);
  const auto elements = sampled_elements(plan);
  for (std::int64_t p = 0; p < 4; ++p) {
    EXPECT_TRUE(std::binary_search(elements.begin(), elements.end(), p * plan.part));
    EXPECT_TRUE(std::binary_search(elements.begin(), elements.end(), (p + 1) * plan.part - 1));
  }
  EXPECT_LT(elements.back(), plan.receive_elements);
  EXPECT_GE(elements.front(), 0);
}

}  // namespace
}  // namespace orrery::kernels
