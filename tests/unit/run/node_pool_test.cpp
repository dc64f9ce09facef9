// Nodes move between job, spares and repair, and none is ever lost or invented.

#include "sim/run/capacity/node_pool.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/run/capacity_fixture.hpp"

namespace orrery::run {
namespace {

TEST(NodePool, ASpareTakesThePlaceOfABrokenNodeAndTheRepairedOneBecomesTheSpare) {
  const RunPlan plan = plan_of_nodes(4, 1, fixed(days(2.0)));
  NodePool pool(plan);
  pool.reset(0);
  EXPECT_EQ(pool.job_nodes(), 4);
  EXPECT_EQ(pool.allocated_nodes(), 5);
  RunLedger ledger;
  pool.settle(at(1), ledger);
  pool.lose(at(1), 1, 0);
  EXPECT_EQ(pool.job_nodes(), 3);
  EXPECT_EQ(pool.ready_nodes(), 1);
  EXPECT_EQ(pool.fill(at(1), 4), SimTime{});
  EXPECT_EQ(pool.job_nodes(), 4);
  EXPECT_EQ(pool.held(), (HeldNodes{.fixed = 4, .spare = 0, .repair = 1}));
  ASSERT_EQ(pool.next(), at(49));
  pool.settle(at(49), ledger);
  EXPECT_EQ(pool.take(at(49)).kind, PoolEventKind::returned);
  EXPECT_EQ(pool.spare_nodes(), (NodeMix{1, 0}));
  pool.settle(at(50), ledger);
  EXPECT_EQ(ledger.gpu_nanoseconds(RunCategory::spare_idle), static_cast<Int128>(8) * at(2).ns);
  EXPECT_EQ(ledger.gpu_nanoseconds(RunCategory::repair), static_cast<Int128>(8) * at(48).ns);
}

TEST(NodePool, SparesAreTakenTheSoonestFirstAndTheSlowestCounts) {
  RunPlan plan = plan_of_nodes(10, 1, fixed(days(2.0)));
  plan.capacity.spares.push_back({"warm", 2, fixed(minutes(3.0)), true});
  plan.capacity.spares.push_back({"cold", 5, fixed(hours(1.0)), false});
  NodePool pool(plan);
  pool.reset(0);
  EXPECT_EQ(pool.allocated_nodes(), 13);  // cold ones belong to others
  pool.lose(at(0), 1, 0);
  EXPECT_EQ(pool.fill(at(0), 10), SimTime{});
  pool.lose(at(1), 2, 0);
  EXPECT_EQ(pool.fill(at(1), 10), to_sim_time(minutes(3.0)));
  pool.lose(at(2), 1, 0);
  EXPECT_EQ(pool.fill(at(2), 10), to_sim_time(hours(1.0)));
  EXPECT_EQ(pool.allocated_nodes(), 14);
  pool.lose(at(3), 6, 0);
  EXPECT_EQ(pool.fill(at(3), 10), to_sim_time(hours(1.0)));
  EXPECT_EQ(pool.job_nodes(), 8);  // four cold ones were left
  EXPECT_EQ(pool.ready_nodes(), 0);
  // Repaired nodes fill the hot level before the others.
  static_cast<void>(pool.take(pool.next()));
  EXPECT_EQ(pool.fill(at(48), 10), SimTime{});
}

TEST(NodePool, ReleasedNodesFillTheSparesAndTheRestIsGivenUpUntilALargerPhase) {
  RunPlan plan = plan_of_nodes(10, 2, fixed(days(2.0)));
  plan.capacity.first_nodes = 4;
  NodePool pool(plan);
  pool.reset(0);
  EXPECT_EQ(pool.job_nodes(), 4);
  EXPECT_EQ(pool.allocated_nodes(), 6);
  EXPECT_EQ(pool.parked_nodes(), 6);
  pool.lose(at(1), 1, 0);
  static_cast<void>(pool.fill(at(1), 4));
  EXPECT_EQ(pool.parked_nodes(), 6);  // no replacements for broken nodes
  EXPECT_EQ(pool.fill(at(2), 10), SimTime{});
  EXPECT_EQ(pool.job_nodes(), 10);
  EXPECT_EQ(pool.parked_nodes(), 0);
  pool.release(at(3), 5);
  EXPECT_EQ(pool.job_nodes(), 5);
  EXPECT_EQ(pool.spare_nodes(), (NodeMix{2, 0}));
  EXPECT_EQ(pool.parked_nodes(), 4);
}

TEST(NodePool, LemonsAreDrawnNodeByNode) {
  RunPlan plan = plan_of_nodes(1000, 200, fixed(days(2.0)));
  plan.capacity.bad_share = 0.15;
  NodePool pool(plan);
  double sum = 0.0;
  double squares = 0.0;
  double spares = 0.0;
  constexpr int kTrials = 400;
  for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
    pool.reset(trial);
    const auto bad = static_cast<double>(pool.job().bad);
    EXPECT_EQ(pool.job().total(), 1000);
    EXPECT_EQ(pool.spare_nodes().total(), 200);
    sum += bad;
    squares += bad * bad;
    spares += static_cast<double>(pool.spare_nodes().bad);
  }
  // Binomial(1000, 0.15): mean 150, variance 127.5; of 400 trials the mean has a standard error of
  // 0.56 and the variance one of 9.0.
  const double mean = sum / kTrials;
  EXPECT_NEAR(mean, 150.0, 2.3);
  EXPECT_NEAR(squares / kTrials - mean * mean, 127.5, 36.0);
  EXPECT_NEAR(spares / kTrials, 30.0, 1.1);
}

TEST(NodePool, ALemonIsRetiredAfterItsLastStrike) {
  RunPlan plan = plan_of_nodes(1, 0, fixed(hours(1.0)));
  plan.capacity.bad_share = 1.0;
  plan.capacity.repair.first_fails = 1.0;
  plan.capacity.repair.remove_after = 3;
  plan.capacity.repair.replacement = fixed(days(7.0));
  NodePool pool(plan);
  pool.reset(0);
  for (int strike = 1; strike <= 2; ++strike) {
    const SimTime now = at(10.0 * strike);
    ASSERT_EQ(pool.job(), (NodeMix{0, 1}));
    pool.lose(now, 1, 1);
    EXPECT_EQ(pool.take(pool.next()).kind, PoolEventKind::returned);
    static_cast<void>(pool.fill(now + at(1), 1));
  }
  pool.lose(at(30), 1, 1);
  EXPECT_EQ(pool.retired_nodes(), 1);
  EXPECT_EQ(pool.nodes_in_repair(), 0);
  ASSERT_EQ(pool.next(), at(30) + to_sim_time(days(7.0)));
  EXPECT_EQ(pool.take(pool.next()).kind, PoolEventKind::returned);
  static_cast<void>(pool.fill(at(30) + to_sim_time(days(7.0)), 1));
  EXPECT_EQ(pool.job(), (NodeMix{1, 0}));
}

TEST(NodePool, PreemptedNodesLeaveAfterTheirNotice) {
  RunPlan plan = plan_of_nodes(4, 0, fixed(days(2.0)));
  PlannedSpot spot;
  spot.nodes = 3;
  spot.notice = to_sim_time(minutes(2.0));
  spot.random_start = false;
  spot.traces.push_back(
      {"a",
       {{SimTime{}, 3, std::nullopt}, {at(5), 1, std::nullopt}, {at(7), 9, std::nullopt}},
       at(100)});
  plan.capacity.spot = spot;
  NodePool pool(plan);
  pool.reset(0);
  EXPECT_EQ(pool.job_nodes(), 4);
  EXPECT_EQ(pool.held().spot, 3);
  const SimTime warned = at(5) - to_sim_time(minutes(2.0));
  ASSERT_EQ(pool.next(), warned);
  EXPECT_EQ(pool.take(warned), (PoolEvent{PoolEventKind::notice, 2, at(5)}));
  EXPECT_EQ(pool.job_nodes(), 4);
  ASSERT_EQ(pool.next(), at(5));
  EXPECT_EQ(pool.take(at(5)), (PoolEvent{PoolEventKind::preempted, 2, at(5)}));
  EXPECT_EQ(pool.job_nodes(), 2);
  EXPECT_EQ(pool.allocated_nodes(), 2);
  ASSERT_EQ(pool.next(), at(7));
  EXPECT_EQ(pool.take(at(7)).kind, PoolEventKind::available);
  static_cast<void>(pool.fill(at(7), 4));
  EXPECT_EQ(pool.job_nodes(), 4);
}

TEST(NodePool, TheJobMovesToTheZoneThatCanHoldIt) {
  RunPlan plan = plan_of_nodes(4, 0, fixed(days(2.0)));
  PlannedSpot spot;
  spot.nodes = 4;
  spot.random_start = false;
  spot.migration = fixed(minutes(10.0));
  spot.traces.push_back({"a", {{SimTime{}, 4, std::nullopt}, {at(5), 1, std::nullopt}}, at(100)});
  spot.traces.push_back({"b", {{SimTime{}, 2, std::nullopt}, {at(3), 4, std::nullopt}}, at(100)});
  plan.capacity.spot = spot;
  NodePool pool(plan);
  pool.reset(0);
  EXPECT_EQ(pool.held().zone, 0);
  EXPECT_EQ(pool.take(at(3)).kind, PoolEventKind::nothing);  // nothing is missing
  EXPECT_EQ(pool.take(at(5)).nodes, 3);
  EXPECT_EQ(pool.ready_nodes(), 3);
  EXPECT_EQ(pool.fill(at(5), 4), to_sim_time(minutes(10.0)));
  EXPECT_EQ(pool.held(), (HeldNodes{.spot = 4, .zone = 1}));
}

// The rate of preemptions per held node, whatever the number held, and its returns.
TEST(NodePool, PreemptionsComeAtTheStatedRatePerNode) {
  RunPlan plan = plan_of_nodes(20, 0, fixed(days(2.0)));
  PlannedSpot spot;
  spot.nodes = 20;
  spot.mtbp = hours(10.0);
  spot.burst = 2;
  spot.returns = ExponentialLaw{hours(5.0)};
  plan.capacity.spot = spot;
  NodePool pool(plan);
  pool.reset(0);
  double held_hours = 0.0;
  double lost = 0.0;
  SimTime now;
  for (int i = 0; i < 200'000; ++i) {
    held_hours += in_hours(to_seconds(pool.next() - now)) * static_cast<double>(pool.job_nodes());
    now = pool.next();
    const PoolEvent event = pool.take(now);
    lost += event.kind == PoolEventKind::preempted ? static_cast<double>(event.nodes) : 0.0;
    static_cast<void>(pool.fill(now, 20));
  }
  // Every node is away for 5 h after 10 h on average: two thirds are held in the long run.
  EXPECT_NEAR(lost / held_hours, 0.1, 0.0015);
  EXPECT_NEAR(held_hours / in_hours(to_seconds(now)), 20.0 * 10.0 / 15.0, 0.2);
}

RunPlan random_plan(RandomStream& random) {
  const auto draw = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(random.uniform_int(bound));
  };
  RunPlan plan = plan_of_nodes(1 + draw(20), draw(4), ExponentialLaw{hours(6.0)});
  plan.simulation.seed = random.next_u64();
  CapacityPlan& capacity = plan.capacity;
  capacity.first_nodes = 1 + draw(static_cast<std::uint64_t>(plan.step.nodes));
  capacity.bad_share = draw(2) == 0 ? 0.0 : random.uniform01();
  capacity.spares.push_back({"warm", draw(4), ExponentialLaw{minutes(5.0)}, draw(2) == 0});
  capacity.repair.first_fails = random.uniform01();
  capacity.repair.escalates = draw(2) == 0 ? 0.0 : 0.5;
  capacity.repair.manual = LognormalLaw{hours(8.0), 1.0};
  capacity.repair.manual_fails = 0.3;
  if (draw(2) == 0) {
    capacity.repair.crews = 1 + draw(3);
  }
  capacity.repair.retire = draw(3) == 0 ? 0.1 : 0.0;
  if (draw(2) == 0) {
    capacity.repair.replacement = ExponentialLaw{days(3.0)};
  }
  if (draw(2) == 0) {
    capacity.repair.remove_after = 1 + draw(4);
  }
  if (draw(2) == 0) {
    PlannedSpot spot;
    spot.nodes = draw(static_cast<std::uint64_t>(plan.step.nodes) + 1);
    spot.notice = to_sim_time(minutes(2.0));
    if (draw(2) == 0) {
      spot.mtbp = hours(20.0);
      spot.burst = 1 + draw(3);
      spot.returns = ExponentialLaw{hours(3.0)};
    } else {
      for (int zone = 0; zone < 3; ++zone) {
        SpotTrace trace;
        for (int row = 0; row < 6; ++row) {
          trace.rows.push_back({to_sim_time(hours(3.0 * row)), draw(25), std::nullopt});
        }
        trace.length = to_sim_time(hours(18.0));
        spot.traces.push_back(trace);
      }
    }
    capacity.spot = spot;
  }
  return plan;
}

// Notices overlap when losses come faster than the notice is long: all of them stay known, in
// order, until their own nodes have gone.
TEST(NodePool, EveryAnnouncedLossIsKnownUntilItComes) {
  RunPlan plan = plan_of_nodes(8, 0, fixed(days(2.0)));
  PlannedSpot spot;
  spot.nodes = 8;
  spot.mtbp = hours(1.0);
  spot.returns = fixed(hours(1.0));
  spot.notice = to_sim_time(hours(1.0));
  plan.capacity.spot = spot;
  NodePool pool(plan);
  pool.reset(3);
  EXPECT_EQ(pool.departure_after(SimTime{}), kForever);
  std::vector<SimTime> announced;
  std::size_t gone = 0;
  int overlapping = 0;
  SimTime now;
  for (int i = 0; i < 400; ++i) {
    now = pool.next();
    const PoolEvent event = pool.take(now);
    if (event.kind == PoolEventKind::notice) {
      EXPECT_EQ(event.at, now + spot.notice);
      announced.push_back(event.at);
    } else if (event.kind == PoolEventKind::preempted) {
      ASSERT_LT(gone, announced.size());
      EXPECT_EQ(now, announced[gone++]);
    }
    static_cast<void>(pool.fill(now, 8));
    SimTime after;
    for (std::size_t k = gone; k < announced.size(); ++k) {
      ASSERT_EQ(pool.departure_after(after), announced[k]);
      after = announced[k];
    }
    ASSERT_EQ(pool.departure_after(after), kForever);
    overlapping += announced.size() - gone > 1 ? 1 : 0;
  }
  EXPECT_GT(overlapping, 100);
}

TEST(NodePool, NoNodeIsLostOrInventedUnderRandomOperations) {
  constexpr std::uint64_t kSeed = 20261121;
  for (std::uint32_t round = 0; round < 300; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " round " << round);
    RandomStream random(kSeed, round, Purpose::property_test);
    const RunPlan plan = random_plan(random);
    NodePool pool(plan);
    pool.reset(round);
    const auto fixed_nodes = [&] {
      return pool.job_nodes() - pool.held().spot + pool.spare_nodes().total() +
             pool.nodes_in_repair() + pool.retired_nodes() + pool.parked_nodes();
    };
    const std::int64_t all = fixed_nodes();
    std::int64_t wanted = plan.capacity.first_nodes;
    SimTime now;
    Int128 held_outside = 0;
    RunLedger ledger;
    for (int i = 0; i < 400; ++i) {
      const SimTime step = to_sim_time(random.exponential(hours(1.0)));
      const SimTime next = std::min(pool.next(), now + step);
      held_outside +=
          static_cast<Int128>(pool.allocated_nodes() - pool.job_nodes()) * 8 * (next - now).ns;
      now = next;
      pool.settle(now, ledger);
      if (pool.next() == now) {
        const std::int64_t before = pool.job_nodes();
        const PoolEvent event = pool.take(now);
        ASSERT_EQ(pool.job_nodes(),
                  before - (event.kind == PoolEventKind::preempted ? event.nodes : 0));
      } else if (random.uniform01() < 0.5 && pool.job_nodes() > 0) {
        const NodeMix job = pool.job();
        const auto bad =
            static_cast<std::int64_t>(random.uniform_int(static_cast<std::uint64_t>(job.bad) + 1));
        const auto good =
            static_cast<std::int64_t>(random.uniform_int(static_cast<std::uint64_t>(job.good) + 1));
        pool.lose(now, good + bad, bad);
      } else if (random.uniform01() < 0.2) {
        wanted = 1 + static_cast<std::int64_t>(
                         random.uniform_int(static_cast<std::uint64_t>(plan.step.nodes)));
        if (pool.job_nodes() > wanted) {
          pool.release(now, pool.job_nodes() - wanted);
        }
      } else {
        const std::int64_t expected =
            std::min(wanted, std::max(pool.job_nodes(), pool.job_nodes() + pool.ready_nodes()));
        static_cast<void>(pool.fill(now, wanted));
        ASSERT_GE(pool.job_nodes(), std::min(expected, wanted));
        ASSERT_LE(pool.job_nodes(), std::max(wanted, pool.job_nodes()));
      }
      ASSERT_EQ(fixed_nodes(), all);
      ASSERT_LE(pool.held().spot, pool.job().good);
      ASSERT_GE(pool.held().spot, 0);
      const HeldNodes held = pool.held();
      ASSERT_EQ(held.fixed + held.spot + held.spare + held.repair, pool.allocated_nodes());
      ASSERT_GE(pool.next(), now);
    }
    ASSERT_EQ(ledger.total(), held_outside);
  }
}

TEST(NodePool, ATrialIsTheSameWheneverItIsRun) {
  RandomStream random(7, 7, Purpose::property_test);
  RunPlan plan = random_plan(random);
  plan.capacity.bad_share = 0.3;
  const auto history = [&](NodePool& pool) {
    std::vector<std::int64_t> all;
    pool.reset(5);
    SimTime now;
    for (int i = 0; i < 200; ++i) {
      now += to_sim_time(hours(1.0));
      while (pool.next() <= now) {
        all.push_back(pool.next().ns);
        static_cast<void>(pool.take(pool.next()));
      }
      pool.lose(now, pool.job_nodes() > 0 ? 1 : 0, pool.job().good > 0 ? 0 : pool.job_nodes() > 0);
      static_cast<void>(pool.fill(now, plan.step.nodes));
      all.push_back(pool.job().good);
      all.push_back(pool.job().bad);
    }
    return all;
  };
  NodePool fresh(plan);
  NodePool used(plan);
  used.reset(9);
  used.lose(SimTime{}, 1, used.job().good > 0 ? 0 : 1);
  EXPECT_EQ(history(fresh), history(used));
}

}  // namespace
}  // namespace orrery::run
