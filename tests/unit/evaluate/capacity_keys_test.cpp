// Keys of capacity and prices: each moves a named metric in the stated direction.

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/text/ledger_rows.hpp"
#include "tests/support.hpp"
#include "tests/unit/evaluate/change_table.hpp"

namespace orrery::evaluate::test {
namespace {

// A month of 8 replicas of one node each; the step is given, the sizes keep its ratio to the model.
constexpr std::string_view kStep = R"(format: orrery/1
name: nodes
model: {preset: llama3-8b, sequence_length: 8192}
cluster: {gpu: h100-sxm-80gb, nodes: 8, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 8, sequence_parallel: true, data: 8, sharding: zero1}
batch: {global: 128, micro: 1}
software: megatron-core
step: {time: 10s}
training: {steps: 200000}
checkpoint: {interval: 1h, stall: 20s}
recovery: {reschedule: 5min, load: 1min}
simulation: {trials: 200, seed: 7}
)";

TEST(CapacityKeys, SparesAndRepairsMoveTheirMetrics) {
  const std::string text = std::string(kStep) + R"(
failures: {node_rate: 0.15/d, lemons: {fraction: 0.3, factor: 4}}
capacity:
  spares: 1
  warm: {nodes: 1, ready: 20min}
  cold: {nodes: 1, ready: 2h}
  repair_time: 12h
  repair: {crews: 2, fails: 0.5, retire: 0.05, replacement: 5d,
           manual: {probability: 0.4, time: 1d, fails: 0.6}}
prices: {gpu_hour: $4/h}
)";
  expect_moves(text, {{"spares: 1", "spares: 4", "finish_time", Moves::down},
                      {"warm: {nodes: 1", "warm: {nodes: 4", "finish_time", Moves::down},
                      {"ready: 20min", "ready: 10h", "finish_time", Moves::up},
                      {"ready: 20min", "ready: 20min, held: false", "cost", Moves::down},
                      {"cold: {nodes: 1", "cold: {nodes: 4", "finish_time", Moves::down},
                      {"ready: 2h", "ready: 20h", "finish_time", Moves::up},
                      {"ready: 2h", "ready: 2h, held: true", "cost", Moves::up},
                      {"repair_time: 12h", "repair_time: 3d", "finish_time", Moves::up},
                      {"crews: 2", "crews: 1", "finish_time", Moves::up},
                      {"crews: 2, fails: 0.5", "crews: 2, fails: 1", "failures", Moves::up},
                      {"retire: 0.05", "retire: 0.4", "finish_time", Moves::up},
                      {"replacement: 5d", "replacement: 40d", "finish_time", Moves::up},
                      {"probability: 0.4", "probability: 0.9", "finish_time", Moves::up},
                      {"time: 1d", "time: 4d", "finish_time", Moves::up},
                      {"fails: 0.6", "fails: 1", "failures", Moves::up}});
}

TEST(CapacityKeys, AnElasticJobDoesNotWait) {
  const std::string text = std::string(kStep) + R"(
failures: {node_rate: 0.02/d}
capacity: {repair_time: 2d, elastic: {min_nodes: 4}}
)";
  expect_moves(text, {{", elastic: {min_nodes: 4}", "", "finish_time", Moves::up},
                      {"min_nodes: 4", "min_nodes: 7", "finish_time", Moves::up},
                      {"min_nodes: 4", "min_nodes: 4, grow: never", "finish_time", Moves::up}});
  const report::Evaluation at_once =
      must_evaluate(replaced(text, "min_nodes: 4", "min_nodes: 4, grow: at_once"));
  EXPECT_NE(value(at_once, "finish_time"), value(must_evaluate(text), "finish_time"));
  // Seven of eight replicas do 19 micro-batches for 16: the slowest one decides.
  const auto& sizes = at_once.plan->capacity.elastic->sizes;
  ASSERT_EQ(sizes.size(), 5U);
  EXPECT_EQ(sizes[3].nodes, 7);
  EXPECT_NEAR(
      static_cast<double>(sizes[3].step_time.ns) / static_cast<double>(sizes[4].step_time.ns),
      19.0 / 16.0, 0.03);
}

// With equal shares seven replicas take 18 micro-batches each: 126 of 128 sequences, so that the
// same tokens take 18/16 x 128/126 = 8/7 of the time and not 19/16. At five replicas 26
// micro-batches (130) are nearest; at four 32 (128).
TEST(CapacityKeys, EqualSharesInAStatedRangeOfTheBatchTakeLess) {
  const std::string text = std::string(kStep) + R"(
failures: {node_rate: 0.02/d}
capacity: {repair_time: 2d, elastic: {min_nodes: 4}}
)";
  const std::string stated =
      replaced(text, "min_nodes: 4", "min_nodes: 4, batch: {min: 120, max: 130}");
  expect_moves(text,
               {{"min_nodes: 4", "min_nodes: 4, batch: {min: 120}", "finish_time", Moves::down}});
  Diagnostics diagnostics;
  const auto found = evaluate_text(stated, diagnostics);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_string(diagnostics), "");
  const auto& sizes = found->plan->capacity.elastic->sizes;
  ASSERT_EQ(sizes.size(), 5U);
  const auto share = [&](std::size_t size) {
    return static_cast<double>(sizes[size].step_time.ns) /
           static_cast<double>(sizes[4].step_time.ns);
  };
  EXPECT_NEAR(share(3), 8.0 / 7.0, 0.01);
  EXPECT_NEAR(share(1), 8.0 / 5.0, 0.03);  // the optimizer does not slow down
  EXPECT_NEAR(share(0), 8.0 / 4.0, 0.05);
}

TEST(CapacityKeys, ShrinkingOutOfTheStatedRangeOfTheBatchIsWarnedOf) {
  const auto said = [](const std::string& range) {
    Diagnostics diagnostics;
    const auto found =
        evaluate_text(std::string(kStep) +
                          "failures: {node_rate: 0.02/d}\ncapacity: {elastic: {min_nodes: 4, "
                          "batch: " +
                          range + "}}\n",
                      diagnostics);
    EXPECT_EQ(found.has_value(), !diagnostics.has_errors());
    return to_string(diagnostics);
  };
  EXPECT_EQ(said("{min: 127, max: 129}"),
            "test.yaml:14:43: warning: capacity.elastic.batch: shrinking leaves the range at 3 of "
            "4 sizes; at the largest of them, 7 nodes, equal shares make a batch of 126 (127 to "
            "129)\n");
  EXPECT_EQ(said("{min: 129}"),
            "test.yaml:14:43: error: capacity.elastic.batch: batch.global of 128 is outside the "
            "range (129 or more)\n");
}

TEST(CapacityKeys, SpotNodesMoveTheirMetrics) {
  const std::string text = std::string(kStep) + R"(
capacity:
  elastic: {min_nodes: 2}
  spot: {share: 0.5, rate: 0.05/h, burst: 1, returns: 3h, notice: 0s, ready: 1min}
prices: {gpu_hour: $4/h, spot_gpu_hour: $1/h}
)";
  expect_moves(text, {{"share: 0.5", "share: 1", "finish_time", Moves::up},
                      {"rate: 0.05/h", "rate: 0.2/h", "finish_time", Moves::up},
                      {"burst: 1", "burst: 4", "failures", Moves::down},
                      {"returns: 3h", "returns: 30h", "finish_time", Moves::up},
                      {"notice: 0s", "notice: 2min", "lost_work", Moves::down},
                      {"ready: 1min", "ready: 1h", "finish_time", Moves::up},
                      {"spot_gpu_hour: $1/h", "spot_gpu_hour: $2/h", "cost", Moves::up}});
}

TEST(CapacityKeys, TracesOfZonesMoveTheirMetrics) {
  const TempFolder folder;
  const std::string first =
      folder.write("a.csv", "time,available,price\n0,8,1\n40000,3,1\n70000,8,3\n200000,8,3\n")
          .string();
  const std::string second =
      folder.write("b.csv", "time,available\n0,2\n30000,8\n60000,4\n100000,4\n").string();
  const std::string text = std::string(kStep) + R"(
capacity:
  elastic: {min_nodes: 1}
  spot: {traces: [)" + first +
                           ", " + second +
                           R"(], start: random, migration: 1min}
prices: {gpu_hour: $4/h, spot_gpu_hour: $1/h}
)";
  expect_moves(text, {{", " + second, "", "finish_time", Moves::up},
                      {"migration: 1min", "migration: 2h", "finish_time", Moves::up}});
  EXPECT_NE(value(must_evaluate(replaced(text, "start: random", "start: beginning")), "cost"),
            value(must_evaluate(text), "cost"));
}

TEST(PriceKeys, PricesOfNodesMoveTheBill) {
  const std::string text = std::string(kStep) + R"(
failures: {node_rate: 0.02/d}
capacity: {spares: 2}
prices: {gpu_hour: $4/h, bill_spares: true}
)";
  expect_moves(
      text, {{"gpu_hour: $4/h", "gpu_hour: $5/h", "cost", Moves::up},
             {"gpu_hour: $4/h", "preset: aws-p5-h100-2026", "cost", Moves::up},
             {"bill_spares: true", "bill_spares: false", "cost", Moves::down},
             {"bill_spares: true", "changes: [{from: 10d, gpu_hour: $3/h}]", "cost", Moves::down},
             {"bill_spares: true", "reserved: {nodes: 8, gpu_hour: $2/h}", "cost", Moves::down},
             {"bill_spares: true", "reserved: {nodes: 40, gpu_hour: $2/h}", "idle_cost", Moves::up},
             {"bill_spares: true", "reserved: {nodes: 8, gpu_hour: $2/h, commitment: 365d}", "cost",
              Moves::up}});
  const std::string owned = replaced(text, "{gpu_hour: $4/h, bill_spares: true}",
                                     "{owned: {gpu: $30k, lifetime: 1000d, residual: 0.1, "
                                     "maintenance: 0.05}}");
  expect_moves(owned, {{"$30k", "$40k", "cost", Moves::up},
                       {"1000d", "2000d", "cost", Moves::down},
                       {"residual: 0.1", "residual: 0.3", "cost", Moves::down},
                       {"maintenance: 0.05", "maintenance: 0.1", "cost", Moves::up}});
}

TEST(PriceKeys, WhatIsUsedBesideNodesMovesTheBill) {
  const std::string text = std::string(kStep) + R"(
failures: {node_rate: 0.02/d}
capacity: {spares: 2}
prices:
  energy: {busy: 10kW, idle: 3kW, pue: 1.1, kilowatt_hour: $0.08, carbon: 400g/kWh}
  storage: {gigabyte_month: $0.02, data: 10TB}
  egress: {gigabyte: $0.05, data: 1TB}
  operators: {hour: $100/h, per_failure: 1h}
)";
  expect_moves(text, {{"busy: 10kW", "busy: 11kW", "site_energy", Moves::up},
                      {"idle: 3kW", "idle: 4kW", "site_energy", Moves::up},
                      {"pue: 1.1", "pue: 1.5", "site_energy", Moves::up},
                      {"kilowatt_hour: $0.08", "kilowatt_hour: $0.1", "cost", Moves::up},
                      {"carbon: 400g/kWh", "carbon: 100g/kWh", "carbon", Moves::down},
                      {"gigabyte_month: $0.02", "gigabyte_month: $0.03", "cost", Moves::up},
                      {"data: 10TB", "data: 20TB", "cost", Moves::up},
                      {"gigabyte: $0.05", "gigabyte: $0.09", "cost", Moves::up},
                      {"data: 1TB", "data: 2TB", "cost", Moves::up},
                      {"hour: $100/h", "hour: $200/h", "cost", Moves::up},
                      {"per_failure: 1h", "per_failure: 2h", "cost", Moves::up}});
}

// Nodes on spot that nobody ever takes away are worth what the others cost; with preemptions less.
TEST(PriceKeys, SpotBreaksEvenAtThePriceOfTheOthersWhenNothingHappens) {
  const std::string text = std::string(kStep) + R"(
capacity: {elastic: {min_nodes: 2}, spot: {rate: 0/h, returns: 1h}}
prices: {gpu_hour: $4/h, spot_gpu_hour: $1/h}
)";
  EXPECT_NEAR(value(must_evaluate(text), "spot_break_even"), 4.0, 1e-9);
  const double some = value(must_evaluate(replaced(text, "0/h, ", "0.01/h, ")), "spot_break_even");
  const double many = value(must_evaluate(replaced(text, "0/h, ", "0.05/h, ")), "spot_break_even");
  EXPECT_LT(some, 4.0);
  EXPECT_LT(many, some);
  EXPECT_GT(many, 0.0);
}

// The rows of the run and the categories of the bill are two ways to the same dollars.
TEST(PriceKeys, LedgerAndBillAddUpToTheSameCost) {
  const report::Evaluation evaluation = must_evaluate(std::string(kStep) + R"(
failures: {node_rate: 0.05/d}
capacity: {spares: 2}
prices:
  gpu_hour: $4/h
  changes: [{from: 10d, gpu_hour: $3/h}]
  operators: {hour: $100/h, per_failure: 1h}
)");
  double rows = 0.0;
  for (const report::LedgerRow& row : report::run_ledger_rows(evaluation)) {
    rows += in_dollars(row.dollars.value_or(Dollars{}));
  }
  const double cost = value(evaluation, "cost");
  EXPECT_NEAR(rows / cost, 1.0, 1e-9);
  EXPECT_NEAR(in_dollars(evaluation.run->bill_sum.total()) / 200.0 / cost, 1.0, 1e-9);
  EXPECT_LT(value(evaluation, "failure_cost"), cost);
  EXPECT_GT(value(evaluation, "failure_cost"), 0.0);
}

}  // namespace
}  // namespace orrery::evaluate::test
