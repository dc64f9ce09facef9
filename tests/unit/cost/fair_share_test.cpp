#include "sim/cost/fair_share.hpp"

#include <gtest/gtest.h>

#include <random>

namespace orrery::cost {
namespace {

using Links = std::vector<std::size_t>;

std::vector<double> rates(const std::vector<Links>& links, const std::vector<double>& capacity) {
  std::vector<Flow> flows;
  for (const Links& crossed : links) {
    flows.push_back({.links = crossed});
  }
  std::vector<BytesPerSecond> carried;
  for (const double link : capacity) {
    carried.push_back(gigabytes_per_second(link));
  }
  std::vector<double> result;
  for (const BytesPerSecond rate : max_min_rates(flows, carried)) {
    result.push_back(in_gigabytes_per_second(rate));
  }
  return result;
}

void expect_rates(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_DOUBLE_EQ(got[i], wanted[i]) << "flow " << i;
  }
}

TEST(FairShare, TwoFlowsOnOneLinkHaveHalfEach) {
  expect_rates(rates({{0}, {0}}, {10.0}), {5.0, 5.0});
}

// f1 on A, f2 on B, f3 on both: both links are full at C/2.
TEST(FairShare, AFlowOverTwoLinksHoldsBothBack) {
  expect_rates(rates({{0}, {1}, {0, 1}}, {10.0, 10.0}), {5.0, 5.0, 5.0});
}

// A = 1, B = 2: A fills first at 0.5 for f1 and f2; f3 takes what f2 leaves on B, 1.5.
TEST(FairShare, WhatASlowFlowLeavesGoesToTheOthers) {
  expect_rates(rates({{0}, {0, 1}, {1}}, {1.0, 2.0}), {0.5, 0.5, 1.5});
}

// 7:1 taper: 7 GPUs of a pod with NICs of 1 on an uplink of 1; each has 1/7, and alone min(1, 1).
TEST(FairShare, ATaperedPodSharesItsUplink) {
  std::vector<Links> flows;
  std::vector<double> capacity(8, 1.0);  // link 7 is the uplink
  for (std::size_t gpu = 0; gpu < 7; ++gpu) {
    flows.push_back({gpu, 7});
  }
  expect_rates(rates(flows, capacity), std::vector<double>(7, 1.0 / 7.0));
  expect_rates(rates({{0, 7}}, capacity), {1.0});
}

// No link above its capacity, and no flow that could have more without another one having less:
// every flow crosses a full link on which nobody is faster.
TEST(FairShare, RandomFlowsAreMaxMinFair) {
  constexpr unsigned kSeed = 20261121;
  std::mt19937 random(kSeed);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << " trial " << trial);
    const std::size_t links = 1 + random() % 6;
    std::vector<double> capacity;
    for (std::size_t i = 0; i < links; ++i) {
      capacity.push_back(1.0 + static_cast<double>(random() % 9));
    }
    std::vector<Links> flows(1 + random() % 8);
    for (Links& crossed : flows) {
      crossed.push_back(random() % links);
      const std::size_t other = random() % links;
      if (other != crossed.front()) {
        crossed.push_back(other);
      }
    }
    const std::vector<double> got = rates(flows, capacity);
    std::vector<double> load(links, 0.0);
    std::vector<double> fastest(links, 0.0);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      for (const std::size_t link : flows[i]) {
        load[link] += got[i];
        fastest[link] = std::max(fastest[link], got[i]);
      }
    }
    for (std::size_t link = 0; link < links; ++link) {
      EXPECT_LE(load[link], capacity[link] * (1.0 + 1e-9));
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      bool bound = false;
      for (const std::size_t link : flows[i]) {
        bound = bound || (load[link] > capacity[link] * (1.0 - 1e-9) &&
                          got[i] > fastest[link] * (1.0 - 1e-9));
      }
      EXPECT_TRUE(bound) << "flow " << i;
    }
  }
}

// 10 GB from 0 s and 2 GB from 1 s on a link of 1 GB/s: the second has 0.5 GB/s until 5 s; by then
// the first has sent 1 + 2 GB, and the rest takes 7 s more.
TEST(FairShare, RatesChangeWhenAFlowStartsOrEnds) {
  const std::vector<Flow> flows = {{.links = {0}, .bytes = gigabytes(10.0)},
                                   {.links = {0}, .bytes = gigabytes(2.0), .start = seconds(1.0)}};
  const std::vector<BytesPerSecond> capacity = {gigabytes_per_second(1.0)};
  const std::vector<Seconds> ends = flow_ends(flows, capacity);
  EXPECT_NEAR(in_seconds(ends[0]), 12.0, 1e-9);
  EXPECT_NEAR(in_seconds(ends[1]), 5.0, 1e-9);
}

// A flow of 100 s beside messages that alone keep the link busy for 40 s and come early: the solver
// gives what stretch_beside() says.
TEST(FairShare, TheStretchBesideMessagesIsThatOfTheSolver) {
  constexpr int kMessages = 40;
  constexpr double kBusy = 1.0;
  std::vector<Flow> flows = {{.links = {0}, .bytes = gigabytes(100.0)}};
  for (int i = 0; i < kMessages; ++i) {
    flows.push_back({.links = {0}, .bytes = gigabytes(kBusy), .start = seconds(0.5 * i)});
  }
  const std::vector<BytesPerSecond> capacity = {gigabytes_per_second(1.0)};
  EXPECT_NEAR(in_seconds(flow_ends(flows, capacity)[0]) / 100.0,
              stretch_beside(seconds(100.0), seconds(40.0)),
              0.001);
  EXPECT_DOUBLE_EQ(stretch_beside(seconds(1.0), Seconds{}), 1.0);
  EXPECT_DOUBLE_EQ(stretch_beside(seconds(1.0), seconds(9.0)), 2.0);
}

// Exact values; 4 flows on 4 links: P(max = 1) = 24/256, and so on.
TEST(HashCollisions, TheFullestLinkCarriesMoreThanItsShare) {
  EXPECT_NEAR(expected_worst_load(4, 4), 2.125, 0.0005);
  EXPECT_NEAR(expected_worst_load(8, 8), 2.597, 0.0005);
  EXPECT_NEAR(expected_worst_load(16, 16), 3.078, 0.0005);
  EXPECT_NEAR(expected_worst_load(32, 32), 3.533, 0.0005);
  EXPECT_NEAR(expected_worst_load(8, 16), 2.063, 0.0005);
  EXPECT_NEAR(expected_worst_load(16, 8), 4.201, 0.0005);
  EXPECT_NEAR(expected_worst_load(32, 16), 4.830, 0.0005);
  EXPECT_DOUBLE_EQ(expected_worst_load(5, 1), 5.0);
  EXPECT_DOUBLE_EQ(expected_worst_load(1, 9), 1.0);
}

TEST(HashCollisions, TheFormulaForManyFlowsJoinsTheExactOne) {
  const double exact = expected_worst_load(64, 64);
  const double many = expected_worst_load(65, 65);
  EXPECT_NEAR(many / exact, 1.0, 0.03);
}

}  // namespace
}  // namespace orrery::cost
