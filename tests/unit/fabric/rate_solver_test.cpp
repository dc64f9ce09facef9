#include "sim/step/fabric/rate_solver.hpp"

#include <gtest/gtest.h>

#include "sim/base/random.hpp"
#include "tests/progressive_filling.hpp"

namespace orrery::fabric {
namespace {

using Links = std::vector<int>;

std::vector<Hop> over(const Links& links) {
  std::vector<Hop> hops;
  for (const int link : links) {
    hops.push_back({.link = {link}});
  }
  return hops;
}

std::vector<BytesPerSecond> capacities_of(const std::vector<double>& values) {
  std::vector<BytesPerSecond> capacities;
  for (const double value : values) {
    capacities.push_back(bytes_per_second(value));
  }
  return capacities;
}

void expect_rates(const std::vector<double>& capacities, const std::vector<Links>& flows,
                  const std::vector<double>& wanted) {
  RateSolver solver(capacities_of(capacities), compare_with_full_solve);
  std::vector<FlowId> ids;
  for (const Links& links : flows) {
    ids.push_back(solver.add(over(links)));
    solver.solve();  // one after the other: each start is a solve of its own
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_NEAR(in_bytes_per_second(solver.rate(ids[i])), wanted[i], 1e-12) << "flow " << i;
  }
}

TEST(RateSolver, TwoFlowsHaveHalfALinkEach) { expect_rates({1.0}, {{0}, {0}}, {0.5, 0.5}); }

TEST(RateSolver, AParkingLotGivesEveryoneHalf) {
  expect_rates({1.0, 1.0, 1.0}, {{0, 1, 2}, {0}, {1}, {2}}, {0.5, 0.5, 0.5, 0.5});
}

TEST(RateSolver, WhatASlowFlowLeavesGoesToTheOthers) {
  expect_rates({1.0, 2.0}, {{0}, {0, 1}, {1}}, {0.5, 0.5, 1.5});
}

// c: (4 - 1/2 - 1) / 2.
TEST(RateSolver, ThreeLinksFillOneAfterTheOther) {
  expect_rates({1.0, 2.0, 4.0}, {{0, 1, 2}, {0, 1}, {1, 2}, {2}, {2}}, {0.5, 0.5, 1.0, 1.25, 1.25});
}

TEST(RateSolver, ADumbbellHoldsOnlyThoseWhoCrossItsNarrowEnd) {
  expect_rates({1.0, 0.25, 1.0}, {{0, 1}, {0, 2}, {0, 2}}, {0.25, 0.375, 0.375});
}

// Three senders to one receiver, and a victim that leaves the first sender for another one.
TEST(RateSolver, IncastLeavesTheVictimTwoThirds) {
  const double third = 1.0 / 3.0;
  expect_rates({1.0, 1.0, 1.0, 1.0, 1.0}, {{0, 3}, {1, 3}, {2, 3}, {0, 4}},
               {third, third, third, 2.0 * third});
}

TEST(RateSolver, SevenNicsShareATaperedUplink) {
  std::vector<Links> flows;
  for (int nic = 0; nic < 7; ++nic) {
    flows.push_back({nic, 7});
  }
  flows.push_back({8});
  std::vector<double> rates(7, 1.0 / 7.0);
  rates.push_back(1.0);
  expect_rates(std::vector<double>(9, 1.0), flows, rates);
}

TEST(RateSolver, ATriangleGivesEveryoneHalf) {
  expect_rates({1.0, 1.0, 1.0}, {{0, 1}, {1, 2}, {2, 0}}, {0.5, 0.5, 0.5});
}

// Loads 2, 1, 1, 0 on four uplinks: a collective moves at the pace of the fullest.
TEST(RateSolver, HashedUplinksGiveTheirLoads) {
  expect_rates({1.0, 1.0, 1.0, 1.0}, {{0}, {0}, {1}, {2}}, {0.5, 0.5, 1.0, 1.0});
}

TEST(RateSolver, ADegradedLinkLeavesTheRestToItsNeighbour) {
  expect_rates({0.5, 1.0}, {{0, 1}, {1}}, {0.5, 0.5});
}

// Ring A over NICs 0..7, B over 0..6, NIC 7 slow. At a quarter, A has a quarter on all its NICs;
// flows of their own would have given it half on seven of them.
TEST(RateSolver, ARingMovesAtThePaceOfItsSlowestNic) {
  const Links b = {0, 1, 2, 3, 4, 5, 6};
  Links a = b;
  a.push_back(7);
  std::vector<double> nics(8, 1.0);
  nics[7] = 0.5;
  expect_rates(nics, {a, b}, {0.5, 0.5});
  nics[7] = 0.25;
  expect_rates(nics, {a, b}, {0.25, 0.75});
}

// r + 2 s = 1 with r = s, and a bound that frees what it leaves.
TEST(RateSolver, WeightsAndBoundsCount) {
  RateSolver solver(capacities_of({1.0}), compare_with_full_solve);
  const FlowId single = solver.add(over({0}));
  const FlowId twice = solver.add(over({0, 0}));
  solver.solve();
  EXPECT_NEAR(in_bytes_per_second(solver.rate(single)), 1.0 / 3.0, 1e-15);
  EXPECT_NEAR(in_bytes_per_second(solver.rate(twice)), 1.0 / 3.0, 1e-15);
  EXPECT_EQ(solver.bottleneck(twice), LinkId{0});
  solver.remove(twice);
  const FlowId bounded = solver.add(over({0, 0}), bytes_per_second(0.125));
  solver.solve();
  EXPECT_NEAR(in_bytes_per_second(solver.rate(single)), 0.75, 1e-15);
  EXPECT_EQ(in_bytes_per_second(solver.rate(bounded)), 0.125);
  EXPECT_EQ(solver.bottleneck(bounded), kNoLink);
}

// A random history: links, and starts, ends and changes in batches of a few.
struct History {
  std::vector<BytesPerSecond> capacities;
  std::vector<FlowPath> living;
  std::vector<FlowId> ids;
};

double random_capacity(RandomStream& random) {
  return random.uniform_int(12) == 0 ? 0.0 : 0.5 + static_cast<double>(random.uniform_int(16)) / 2;
}

FlowPath random_path(RandomStream& random, std::size_t links) {
  FlowPath path;
  const std::size_t hops = 1 + random.uniform_int(4);
  for (std::size_t i = 0; i < hops; ++i) {
    path.hops.push_back({.link = {static_cast<std::int32_t>(random.uniform_int(links))},
                         .weight = random.uniform_int(3) == 0 ? 0.5 : 1.0});
  }
  if (random.uniform_int(4) == 0) {
    path.bound = bytes_per_second(0.25 + random.uniform01());
  }
  return path;
}

void change(RandomStream& random, RateSolver& solver, History& history) {
  const std::uint64_t kind = random.uniform_int(5);
  if (kind < 2 && !history.ids.empty()) {
    const std::size_t gone = random.uniform_int(history.ids.size());
    solver.remove(history.ids[gone]);
    history.ids.erase(history.ids.begin() + static_cast<std::ptrdiff_t>(gone));
    history.living.erase(history.living.begin() + static_cast<std::ptrdiff_t>(gone));
  } else if (kind == 2) {
    const std::size_t link = random.uniform_int(history.capacities.size());
    history.capacities[link] = bytes_per_second(random_capacity(random));
    solver.set_capacity({static_cast<std::int32_t>(link)}, history.capacities[link]);
  } else {
    history.living.push_back(random_path(random, history.capacities.size()));
    history.ids.push_back(solver.add(history.living.back().hops, history.living.back().bound));
  }
}

// The worst relative distance of a rate from that of the full solve, over one history.
double worst_distance(RandomStream& random, std::size_t links, int batches) {
  History history;
  for (std::size_t i = 0; i < links; ++i) {
    history.capacities.push_back(bytes_per_second(random_capacity(random)));
  }
  RateSolver solver(history.capacities);
  double worst = 0.0;
  for (int batch = 0; batch < batches; ++batch) {
    for (std::uint64_t changes = 1 + random.uniform_int(4); changes > 0; --changes) {
      change(random, solver, history);
    }
    solver.solve();
    const std::vector<BytesPerSecond> full =
        progressive_filling(history.capacities, history.living);
    for (std::size_t i = 0; i < full.size(); ++i) {
      const double wanted = in_bytes_per_second(full[i]);
      const double got = in_bytes_per_second(solver.rate(history.ids[i]));
      worst = std::max(worst, got == wanted ? 0.0 : std::abs(got - wanted) / wanted);
    }
  }
  return worst;
}

constexpr std::uint64_t kSeed = 20261124;

// 10,000 histories of ten solves each.
TEST(RateSolver, TheLocalSolveIsTheFullOne) {
  for (std::uint32_t trial = 0; trial < 10'000; ++trial) {
    RandomStream random(kSeed, trial, Purpose::property_test);
    const std::size_t links = 1 + random.uniform_int(10);
    ASSERT_LE(worst_distance(random, links, 10), 1e-12) << "seed " << kSeed << " trial " << trial;
  }
}

// Chains of bottlenecks are longer where there are more links.
TEST(RateSolver, TheLocalSolveIsTheFullOneOnLargerFabrics) {
  for (std::uint32_t trial = 0; trial < 20; ++trial) {
    RandomStream random(kSeed + 1, trial, Purpose::property_test);
    ASSERT_LE(worst_distance(random, 60, 200), 1e-12) << "seed " << kSeed << " trial " << trial;
  }
}

// Twice the capacity is twice the rate, and a link that nobody uses changes no bit.
TEST(RateSolver, ScalesAndIgnoresUnusedLinks) {
  for (std::uint32_t trial = 0; trial < 500; ++trial) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << " trial " << trial);
    RandomStream random(kSeed + 2, trial, Purpose::property_test);
    std::vector<BytesPerSecond> capacities;
    for (int i = 0; i < 8; ++i) {
      capacities.push_back(bytes_per_second(random_capacity(random)));
    }
    std::vector<BytesPerSecond> doubled;
    for (const BytesPerSecond capacity : capacities) {
      doubled.push_back(2.0 * capacity);
    }
    std::vector<BytesPerSecond> more = capacities;
    more.push_back(bytes_per_second(1.0));
    RateSolver solver(capacities);
    RateSolver wide(doubled);
    RateSolver spare(more);
    std::vector<FlowId> ids;
    for (int i = 0; i < 12; ++i) {
      const FlowPath path = random_path(random, capacities.size());
      ids.push_back(solver.add(path.hops, path.bound));
      wide.add(path.hops, 2.0 * path.bound);
      spare.add(path.hops, path.bound);
    }
    solver.solve();
    wide.solve();
    spare.solve();
    for (const FlowId id : ids) {
      EXPECT_EQ(wide.rate(id), 2.0 * solver.rate(id));
      EXPECT_EQ(spare.rate(id), solver.rate(id));
    }
  }
}

// The order in which flows and links are named moves a rate by rounding only.
TEST(RateSolver, NamesDoNotMatter) {
  for (std::uint32_t trial = 0; trial < 500; ++trial) {
    RandomStream random(kSeed + 3, trial, Purpose::property_test);
    constexpr std::int32_t kLinks = 8;
    std::vector<BytesPerSecond> capacities;
    for (int i = 0; i < kLinks; ++i) {
      capacities.push_back(bytes_per_second(random_capacity(random)));
    }
    std::vector<FlowPath> paths;
    for (int i = 0; i < 12; ++i) {
      paths.push_back(random_path(random, capacities.size()));
    }
    RateSolver solver(capacities);
    std::reverse(capacities.begin(), capacities.end());
    RateSolver mirrored(capacities);
    std::vector<FlowId> ids;
    std::vector<FlowId> others(paths.size());
    for (const FlowPath& path : paths) {
      ids.push_back(solver.add(path.hops, path.bound));
    }
    for (std::size_t i = paths.size(); i-- > 0;) {
      for (Hop& hop : paths[i].hops) {
        hop.link = {kLinks - 1 - hop.link.value};
      }
      others[i] = mirrored.add(paths[i].hops, paths[i].bound);
    }
    solver.solve();
    mirrored.solve();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_NEAR(in_bytes_per_second(mirrored.rate(others[i])),
                  in_bytes_per_second(solver.rate(ids[i])), 1e-12)
          << "seed " << kSeed << " trial " << trial;
    }
  }
}

}  // namespace
}  // namespace orrery::fabric
