// The bill of held nodes, by hand.

#include "sim/run/prices/billing.hpp"

#include <gtest/gtest.h>

#include <string>

#include "sim/run/planning.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/unit/run/capacity_fixture.hpp"

namespace orrery::run {
namespace {

DollarsPerSecond per_hour(double amount) { return dollars_per_hour(amount); }

// The plan of `nodes` nodes of 8 GPUs with these prices; fails the test when they are refused.
RunPlan priced(const PriceSpec& prices, RunPlan plan = plan_of_nodes(10, 2, fixed(days(2.0)))) {
  RunSpec spec;
  spec.prices = prices;
  spec.training.start = 1'000'000;
  std::vector<RunProblem> problems;
  Findings findings(problems);
  plan_prices(spec, plan, findings);
  EXPECT_TRUE(findings.sound()) << (problems.empty() ? "" : problems.front().message);
  return plan;
}

std::string refusal(const PriceSpec& prices, std::optional<std::int64_t> start = std::nullopt) {
  RunSpec spec;
  spec.prices = prices;
  spec.training.start = start;
  RunPlan plan = plan_of_nodes(10, 2, fixed(days(2.0)));
  std::vector<RunProblem> problems;
  Findings findings(problems);
  plan_prices(spec, plan, findings);
  return problems.empty() ? "" : problems.front().key + ": " + problems.front().message;
}

// Ten nodes work, two are spares, for `end`.
RunLedger ledger_of(SimTime end) {
  RunLedger ledger;
  ledger.book(RunCategory::productive, 80, end);
  ledger.book(RunCategory::spare_idle, 16, end);
  return ledger;
}

Bill bill_of(const RunPlan& plan, SimTime end, const RunUse& use = {}) {
  Billing billing(plan);
  billing.reset(0, {.fixed = 10, .spare = 2});
  return billing.bill(end, ledger_of(end), use);
}

TEST(Billing, AFlatPriceIsPricetimesGpuTime) {
  PriceSpec prices;
  prices.gpu_hour = per_hour(2.5);
  EXPECT_DOUBLE_EQ(in_dollars(bill_of(priced(prices), at(100)).total()), 96 * 100 * 2.5);
  prices.bill_spares = false;
  const Bill bill = bill_of(priced(prices), at(100));
  EXPECT_DOUBLE_EQ(in_dollars(bill.of(CostCategory::nodes)), 80 * 100 * 2.5);
  EXPECT_DOUBLE_EQ(in_dollars(bill.of(CostCategory::spares)), 0.0);
}

TEST(Billing, PricesChangeInTheMiddleOfARun) {
  PriceSpec prices;
  prices.gpu_hour = per_hour(2.0);
  prices.changes.push_back({hours(10.0), std::nullopt, per_hour(3.0)});
  prices.changes.push_back({std::nullopt, 1'000'000 + 30 * 3600, per_hour(1.0)});
  // 10 h at $2, 20 h at $3, 70 h at $1.
  EXPECT_NEAR(in_dollars(bill_of(priced(prices), at(100)).total()), 96 * (20 + 60 + 70), 1e-6);
}

TEST(Billing, HeldNodesAreIntegratedOverTime) {
  PriceSpec prices;
  prices.gpu_hour = per_hour(1.0);
  prices.changes.push_back({hours(50.0), std::nullopt, per_hour(2.0)});
  const RunPlan plan = priced(prices);
  Billing billing(plan);
  billing.reset(0, {.fixed = 10, .spare = 2});
  billing.hold(at(20), {.fixed = 10, .spare = 1, .repair = 1});
  billing.hold(at(40), {.fixed = 9, .repair = 1});
  const Bill bill = billing.bill(at(60), {}, {});
  // nodes: 10 x 40 h + 9 x 10 h at $1 + 9 x 10 h at $2; spares: 2 x 20 + 1 x 20 h; 8 GPUs a node
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::nodes)), 8 * (400 + 90 + 180), 1e-6);
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::spares)), 8 * 60, 1e-6);
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::repair)), 8 * (30 + 20), 1e-6);
}

// 10 h at $2, 20 h at $3, then $1; two nodes leave for repair after 20 h. The timeline must tile
// the run, and its rate over time be the bill, with a flat price as well.
TEST(Billing, TheTimelineHoldsWhoHeldNodesAtWhichRate) {
  for (const bool changes : {true, false}) {
    PriceSpec prices;
    prices.gpu_hour = per_hour(2.0);
    if (changes) {
      prices.changes.push_back({hours(10.0), std::nullopt, per_hour(3.0)});
      prices.changes.push_back({hours(30.0), std::nullopt, per_hour(1.0)});
    }
    const RunPlan plan = priced(prices);
    Billing billing(plan);
    RunTimeline timeline;
    billing.reset(0, {.fixed = 10, .spare = 2}, &timeline);
    billing.hold(at(20), {.fixed = 10, .repair = 2});
    const Bill bill = billing.bill(at(100), ledger_of(at(100)), {});
    const std::vector<Holding>& held = timeline.holdings();
    ASSERT_EQ(held.size(), changes ? 4U : 2U);
    SimTime until;
    Dollars paid;
    for (const Holding& holding : held) {
      EXPECT_EQ(holding.begin, until);
      until = holding.end;
      paid += holding.rate * to_seconds(holding.end - holding.begin);
      EXPECT_EQ(holding.job, 10);
      EXPECT_EQ(holding.spares + holding.repair, 2);
    }
    EXPECT_EQ(until, at(100));
    EXPECT_NEAR(in_dollars(paid), in_dollars(bill.total()), 1e-6);
    EXPECT_NEAR(in_dollars_per_hour(held.front().rate), 12 * 8 * 2.0, 1e-9);
    EXPECT_EQ(held.back().repair, 2);
  }
}

TEST(Billing, AReservationIsPaidWhileItIsIdleAndAfterTheEnd) {
  PriceSpec prices;
  prices.gpu_hour = per_hour(3.0);
  prices.reserved = {.nodes = 11, .gpu_hour = per_hour(2.0), .commitment = hours(200.0)};
  // 10 nodes and one spare at $2, one spare at $3, and 100 h of 11 nodes for nothing.
  Bill bill = bill_of(priced(prices), at(100));
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::nodes)), 8 * 10 * 100 * 2, 1e-6);
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::spares)), 8 * 100 * (2 + 3), 1e-6);
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::reservation)), 8 * 11 * 100 * 2, 1e-6);
  prices.reserved = {.nodes = 15, .gpu_hour = per_hour(2.0), .commitment = std::nullopt};
  bill = bill_of(priced(prices), at(100));
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::reservation)), 8 * 3 * 100 * 2, 1e-6);
  // A commitment that ends within the run: list price from there on.
  prices.reserved = {.nodes = 15, .gpu_hour = per_hour(2.0), .commitment = hours(40.0)};
  bill = bill_of(priced(prices), at(100));
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::nodes)), 8 * 10 * (40 * 2 + 60 * 3), 1e-6);
}

TEST(Billing, OwnedNodesAreWrittenOff) {
  PriceSpec prices;
  prices.owned = OwnedSpec{dollars(36'500.0), days(4 * 365.0), 0.2, 0.05};
  // 36500 (0.8 / 4 + 0.05) a year: $25 a day for each GPU.
  EXPECT_NEAR(in_dollars(bill_of(priced(prices), to_sim_time(days(10.0))).total()),
              96 * 25.0 * 10.0, 1e-5);
}

TEST(Billing, EnergyIsCountedByWhatNodesDo) {
  PriceSpec prices;
  prices.energy = {.busy_watts = 10'200.0,
                   .idle_watts = 3'000.0,
                   .pue = 1.1,
                   .per_kilowatt_hour = dollars(0.08),
                   .kilograms_per_kilowatt_hour = 0.4};
  const Bill bill = bill_of(priced(prices), at(100));
  EXPECT_NEAR(bill.busy_kilowatt_hours, 10 * 10.2 * 1.1 * 100, 1e-6);
  EXPECT_NEAR(bill.idle_kilowatt_hours, 2 * 3.0 * 1.1 * 100, 1e-6);
  EXPECT_NEAR(bill.carbon_kilograms, 0.4 * (11'220.0 + 660.0), 1e-6);
  EXPECT_NEAR(in_dollars(bill.total()), 0.08 * 11'880.0, 1e-6);
}

TEST(Billing, StorageEgressAndPeople) {
  PriceSpec prices;
  prices.storage = {.per_gigabyte_month = dollars(0.02),
                    .data = terabytes(10.0),
                    .per_gigabyte_out = dollars(0.09),
                    .out = gigabytes(800.0)};
  prices.operators = {per_hour(150.0), minutes(30.0)};
  RunPlan plan = plan_of_nodes(10, 2, fixed(days(2.0)));
  plan.checkpoint.size = terabytes(1.0);
  plan.checkpoint.kept = 5;
  const Seconds month = days(365.0 / 12.0);
  const Bill bill =
      bill_of(priced(prices, plan), to_sim_time(month), {.checkpoints = 100, .failures = 7});
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::storage)), 0.02 * (10'000.0 + 5 * 1000.0), 1e-6);
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::egress)), 72.0, 1e-9);
  EXPECT_NEAR(in_dollars(bill.of(CostCategory::operators)), 7 * 75.0, 1e-9);
  EXPECT_NEAR(in_dollars(bill.total()), 300.0 + 72.0 + 525.0, 1e-6);
}

TEST(Billing, CheckpointsThatNobodyDeletesPileUp) {
  CheckpointPlan plan;
  EXPECT_DOUBLE_EQ(mean_checkpoints_kept(plan, 100), 50.0);
  plan.kept = 10;
  plan.kept_every = 9;
  EXPECT_DOUBLE_EQ(mean_checkpoints_kept(plan, 100), 10.0 + 0.5 * 90.0 / 9.0);
  // Of four copies, one is on the durable tier when that takes every third save.
  plan = {};
  plan.tiers.resize(2);
  plan.tiers.back().every_saves = 3;
  EXPECT_DOUBLE_EQ(mean_checkpoints_kept(plan, 100), 12.5);
}

TEST(Billing, SpotNodesHaveAPriceOfTheirOwn) {
  RunPlan plan = plan_of_nodes(10, 0, fixed(days(2.0)));
  plan.capacity.spot = PlannedSpot{};
  plan.capacity.spot->nodes = 6;
  PriceSpec prices;
  prices.gpu_hour = per_hour(4.0);
  prices.spot_gpu_hour = per_hour(1.5);
  const RunPlan flat = priced(prices, plan);
  Billing billing(flat);
  billing.reset(0, {.fixed = 4, .spot = 6});
  EXPECT_NEAR(in_dollars(billing.bill(at(10), {}, {}).total()), 80 * (4 * 4.0 + 6 * 1.5), 1e-6);

  // $1 for 5 h and $3 for 5 h, again and again.
  plan.capacity.spot->random_start = false;
  plan.capacity.spot->traces.push_back(
      {"a", {{SimTime{}, 9, per_hour(1.0)}, {at(5), 9, per_hour(3.0)}}, at(10)});
  const RunPlan traced = priced(prices, plan);
  Billing walking(traced);
  walking.reset(0, {.spot = 6});
  EXPECT_NEAR(in_dollars(walking.bill(at(25), {}, {}).total()), 48 * (15 * 1.0 + 10 * 3.0), 1e-6);
}

TEST(Prices, PresetsGiveWhatTheScenarioDoesNotState) {
  PriceSpec prices;
  prices.preset = shipped::prices("aws-p5-h100-2026");
  const RunPlan plan = priced(prices);
  EXPECT_NEAR(in_dollars(bill_of(plan, at(1)).total()), 12 * 55.04, 1e-9);
  EXPECT_EQ(plan.pricing.as_of, "2026-11-09");
  prices.gpu_hour = per_hour(2.0);
  EXPECT_NEAR(in_dollars(bill_of(priced(prices), at(1)).total()), 96 * 2.0, 1e-9);
}

TEST(Prices, ThePublishedSpotDiscountIsTheBreakEvenAtLessThanHalfTheGoodput) {
  // p5en: $3.36 against $7.91, 57 % below: spot pays as long as its goodput is above 42.5 % of
  // that on demand.
  const auto preset = shipped::prices("aws-p5en-h200-2026");
  EXPECT_NEAR(in_dollars_per_hour(*preset->spec.gpu_hour * (0.4247 / 1.0)),
              in_dollars_per_hour(*preset->spec.spot_gpu_hour), 0.001);
}

TEST(Prices, WhatMakesNoSenseIsRefusedAtItsKey) {
  PriceSpec prices;
  prices.changes.push_back({hours(1.0), std::nullopt, per_hour(1.0)});
  EXPECT_EQ(refusal(prices), "prices.changes: changes no price");
  prices.gpu_hour = per_hour(2.0);
  prices.changes.push_back({std::nullopt, 5, per_hour(1.0)});
  EXPECT_EQ(refusal(prices), "prices.changes: a price from a date on needs training.start");
  EXPECT_EQ(refusal(prices, 5), "prices.changes: a change comes before the one above it");
  prices.changes.clear();
  prices.owned = OwnedSpec{dollars(1.0), days(1.0), 0.0, 0.0};
  EXPECT_EQ(refusal(prices), "prices.owned: owned nodes have no price per hour");
  prices.gpu_hour.reset();
  prices.owned->lifetime = Seconds{};
  EXPECT_EQ(refusal(prices), "prices.owned.lifetime: must be positive and below 73 years");
  prices.owned.reset();
  prices.energy.emplace();
  prices.energy->pue = 0.9;
  EXPECT_EQ(refusal(prices), "prices.energy.pue: must be at least 1");
}

}  // namespace
}  // namespace orrery::run
