// Repairs against queueing theory: M/M/c with crews, M/G/infinity without.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sim/run/capacity/node_pool.hpp"

namespace orrery::run {
namespace {

// Mean number of customers that wait in an M/M/c queue (Erlang C), a = arrival rate * mean service:
//   p_wait = B / (1 - a/c (1 - B)),  B(0) = 1, B(k) = a B(k-1) / (k + a B(k-1))   (Erlang B)
//   L_q    = p_wait * a / (c - a)
double erlang_waiting(double a, int c) {
  double blocked = 1.0;
  for (int k = 1; k <= c; ++k) {
    blocked = a * blocked / (k + a * blocked);
  }
  const double waits = blocked / (1.0 - a / c * (1.0 - blocked));
  return waits * a / (c - a);
}

struct Averages {
  double waiting = 0.0;  // nodes in the queue, over time
  double nodes = 0.0;    // nodes in repair, over time
  double returned = 0.0;
  double bad = 0.0;
  double retired = 0.0;
};

// Good (or bad) nodes come in at rate 1 / gap for `arrivals` nodes.
Averages run_shop(const PlannedRepair& plan, Seconds gap, int arrivals, std::int32_t strikes) {
  RepairShop shop(plan, 1);
  shop.reset(0);
  RandomStream stream(1, 0, Purpose::property_test);
  Averages sums;
  SimTime now;
  SimTime arrival = to_sim_time(stream.exponential(gap));
  for (int i = 0; i < arrivals;) {
    const SimTime next = std::min(arrival, shop.next());
    const double length = in_minutes(to_seconds(next - now));
    sums.waiting += length * static_cast<double>(shop.waiting());
    sums.nodes += length * static_cast<double>(shop.nodes());
    now = next;
    if (shop.next() == now) {
      const RepairShop::Event event = shop.take(now);
      const bool returned = event.outcome == RepairShop::Outcome::returned;
      sums.returned += returned ? 1.0 : 0.0;
      sums.bad += returned && event.strikes != RepairShop::kGoodNode ? 1.0 : 0.0;
      sums.retired += event.outcome == RepairShop::Outcome::retired ? 1.0 : 0.0;
    } else {
      shop.submit(now, strikes);
      arrival = now + to_sim_time(stream.exponential(gap));
      ++i;
    }
  }
  const double all = in_minutes(to_seconds(now));
  sums.waiting /= all;
  sums.nodes /= all;
  return sums;
}

TEST(RepairShop, CrewsMakeTheQueueOfErlang) {
  PlannedRepair plan;
  plan.first = ExponentialLaw{minutes(1.0)};
  for (const int crews : {1, 2, 4, 8}) {
    plan.crews = crews;
    const double load = 0.75 * crews;  // arrivals a minute times one minute
    const Averages found = run_shop(plan, minutes(1.0 / load), 400'000, RepairShop::kGoodNode);
    EXPECT_NEAR(found.waiting / erlang_waiting(load, crews), 1.0, 0.04) << crews << " crews";
    EXPECT_NEAR(found.nodes / (erlang_waiting(load, crews) + load), 1.0, 0.03) << crews << " crews";
  }
}

TEST(RepairShop, TheManualStageQueuesForCrewsAndTheFirstDoesNot) {
  // Departures of M/G/infinity are a Poisson process, and a random half of it is one, too: the
  // manual stage is M/M/2 at half the rate.
  PlannedRepair plan;
  plan.first = LognormalLaw{minutes(0.125), 1.0};
  plan.escalates = 0.5;
  plan.manual = ExponentialLaw{minutes(1.0)};
  plan.crews = 2;
  const Averages found = run_shop(plan, minutes(1.0 / 3.0), 400'000, RepairShop::kGoodNode);
  const double waiting = erlang_waiting(1.5, 2);
  EXPECT_NEAR(found.waiting / waiting, 1.0, 0.04);
  const double first = 3.0 * in_minutes(mean(plan.first));
  EXPECT_NEAR(found.nodes / (first + 1.5 + waiting), 1.0, 0.03);
}

TEST(RepairShop, WithoutCrewsOccupancyIsPoissonForAnyLaw) {
  // M/G/infinity: Poisson(rate * mean), so the variance over time equals the mean.
  for (const Duration& law : std::vector<Duration>{
           fixed(minutes(2.0)), ExponentialLaw{minutes(2.0)}, LognormalLaw{minutes(0.75), 1.4}}) {
    PlannedRepair plan;
    plan.first = law;
    RepairShop shop(plan, 3);
    shop.reset(0);
    RandomStream stream(3, 0, Purpose::property_test);
    const Seconds gap = minutes(0.4);
    const double expected = mean(law) / gap;
    double time = 0.0;
    double first = 0.0;
    double second = 0.0;
    SimTime now;
    SimTime arrival;
    for (int i = 0; i < 400'000;) {
      const SimTime next = std::min(arrival, shop.next());
      const double length = i < 1000 ? 0.0 : in_minutes(to_seconds(next - now));
      const auto nodes = static_cast<double>(shop.nodes());
      time += length;
      first += length * nodes;
      second += length * nodes * nodes;
      now = next;
      if (shop.next() == now) {
        static_cast<void>(shop.take(now));
      } else {
        shop.submit(now, RepairShop::kGoodNode);
        arrival = now + to_sim_time(stream.exponential(gap));
        ++i;
      }
    }
    const double average = first / time;
    EXPECT_NEAR(average / expected, 1.0, 0.02);
    EXPECT_NEAR((second / time - average * average) / expected, 1.0, 0.05);
  }
}

TEST(RepairShop, RepairsThatFailReturnBadNodesInTheirShare) {
  PlannedRepair plan;
  plan.first = ExponentialLaw{hours(2.0)};
  plan.first_fails = 0.4;
  plan.escalates = 0.8;
  plan.manual = ExponentialLaw{days(2.0)};
  plan.manual_fails = 0.2;
  const Averages found = run_shop(plan, hours(1.0), 200'000, 3);
  // 0.2 * 0.4 + 0.8 * 0.2 = 0.24; four standard errors of 200,000 draws are 0.004.
  EXPECT_NEAR(found.bad / found.returned, 0.24, 0.004);
  EXPECT_NEAR(run_shop(plan, hours(1.0), 1'000, RepairShop::kGoodNode).bad, 0.0, 0.0);
  plan.retire = 0.1;
  const Averages retiring = run_shop(plan, hours(1.0), 200'000, RepairShop::kGoodNode);
  EXPECT_NEAR(retiring.retired / (retiring.retired + retiring.returned), 0.1, 0.003);
}

TEST(RepairShop, ARetiredNodeIsReplacedByAGoodOne) {
  PlannedRepair plan;
  plan.first = fixed(hours(1.0));
  plan.retire = 1.0;
  plan.replacement = fixed(days(14.0));
  RepairShop shop(plan, 1);
  shop.reset(0);
  shop.submit(SimTime{}, 0);
  const SimTime repaired = to_sim_time(hours(1.0));
  EXPECT_EQ(shop.next(), repaired);
  EXPECT_EQ(shop.take(repaired).outcome, RepairShop::Outcome::replaceable);
  EXPECT_EQ(shop.nodes(), 0);
  const SimTime arrival = repaired + to_sim_time(days(14.0));
  EXPECT_EQ(shop.next(), arrival);
  const RepairShop::Event event = shop.take(arrival);
  EXPECT_EQ(event.outcome, RepairShop::Outcome::replaced);
  EXPECT_EQ(event.strikes, RepairShop::kGoodNode);
  EXPECT_EQ(shop.next(), kForever);
}

TEST(RepairShop, FirstComeFirstServed) {
  PlannedRepair plan;
  plan.first = fixed(hours(10.0));
  plan.crews = 1;
  RepairShop shop(plan, 1);
  shop.reset(0);
  shop.submit(SimTime{}, RepairShop::kGoodNode);
  shop.submit(to_sim_time(hours(1.0)), RepairShop::kGoodNode);
  shop.submit(to_sim_time(hours(2.0)), RepairShop::kGoodNode);
  EXPECT_EQ(shop.waiting(), 2);
  for (const double at : {10.0, 20.0, 30.0}) {
    ASSERT_EQ(shop.next(), to_sim_time(hours(at)));
    EXPECT_EQ(shop.take(shop.next()).outcome, RepairShop::Outcome::returned);
  }
  EXPECT_EQ(shop.nodes(), 0);
}

}  // namespace
}  // namespace orrery::run
