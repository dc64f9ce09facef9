// Every key of checkpoints and recovery moves a metric of the run in the stated direction.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/evaluate/change_table.hpp"

namespace orrery::evaluate::test {
namespace {

TEST(CheckpointKeys, SizeAndRatesMoveTheStall) {
  expect_moves(
      std::string(kBase),
      {{"mode: sync", "mode: sync, data_state: 10GB", "checkpoint_stall", Moves::up},
       {"write: 10GB/s", "write: 10GB/s, write_per_node: 100MB/s", "checkpoint_stall", Moves::up},
       {"write: 10GB/s", "write: 10GB/s, write_per_client: 10MB/s", "checkpoint_stall", Moves::up},
       {"write: 10GB/s", "write: 10GB/s, efficiency: 0.2", "checkpoint_stall", Moves::up},
       {"write: 10GB/s", "write: 10GB/s, background: 9GB/s", "checkpoint_stall", Moves::up},
       {"{write: 10GB/s, read: 10GB/s}", "{preset: llama3-tectonic-2024}", "checkpoint_stall",
        Moves::down},
       {"mode: sync", "mode: async, data_reads: 9GB/s", "checkpoint_durable", Moves::up}});
  const std::string text =
      replaced(replaced(kBase, "mode: sync", "mode: async"), "infiniband-400g", "ethernet-100g");
  expect_moves(text, {{"read: 10GB/s}", "read: 10GB/s, on_training_network: true}",
                       "checkpoint_stall", Moves::up}});
  expect_moves(replaced(kBase, "write: 10GB/s", "write: 10GB/s, write_per_client: 100MB/s"),
               {{"mode: sync", "mode: sync, sharded: false", "checkpoint_stall", Moves::up}});
}

TEST(CheckpointKeys, ReadersAndRatesMoveTheEnd) {
  expect_moves(
      replaced(kBase, "read: 10GB/s", "read: 100MB/s"),
      {{"read: 100MB/s", "read: 100MB/s, read_per_node: 10MB/s", "finish_time", Moves::up},
       {"read: 100MB/s", "read: 100MB/s, read_per_client: 1MB/s", "finish_time", Moves::up},
       {"mode: sync", "mode: sync, readers: all", "finish_time", Moves::up}});
}

// When a power domain fails many jobs load at the same time, and this one gets its share.
TEST(CheckpointKeys, AMassRestartLoadsAtItsShare) {
  const std::string text =
      replaced(replaced(kBase, "read: 10GB/s", "read: 100MB/s, mass_restart_share: 0.5"),
               "node_rate: 0.05/d",
               "correlated: [{name: feed, rate: 0.1/d, scope: power_domain}], "
               "domains: {power_domain: 8}");
  expect_moves(text,
               {{"mass_restart_share: 0.5", "mass_restart_share: 0.1", "finish_time", Moves::up},
                {"mass_restart_share: 0.5", "mass_restart_share: 1", "finish_time", Moves::down}});
}

// A job that comes back on another number of nodes converts its checkpoint first.
TEST(CheckpointKeys, ASlowerReshardCostsMore) {
  const std::string text = replaced(replaced(kBase, "mode: sync", "mode: sync, reshard: 1GB/s"),
                                    "spares: 1", "elastic: {min_nodes: 2, grow: at_once}");
  expect_moves(text, {{"reshard: 1GB/s", "reshard: 10MB/s", "finish_time", Moves::up},
                      {", reshard: 1GB/s", "", "finish_time", Moves::down}});
}

TEST(CheckpointKeys, TiersSaveWorkAndTheirKeysDecideHowMuch) {
  expect_moves(
      std::string(kBase),
      {{"mode: sync", "mode: sync, tiers: [{medium: memory, replicas: 2, interval: 10 steps}]",
        "lost_work", Moves::down}});
  const std::string tiered =
      replaced(kBase, "mode: sync",
               "mode: sync, tiers: [{medium: memory, replicas: 2, interval: 10 steps}]");
  expect_moves(
      tiered,
      {{"10 steps", "200 steps", "lost_work", Moves::up},
       {"replicas: 2", "replicas: 1", "lost_work", Moves::up},
       {"replicas: 2", "replicas: 2, write: 10MB/s", "lost_work", Moves::up},
       {"replicas: 2", "replicas: 2, read: 1MB/s", "finish_time", Moves::up},
       {"replicas: 2", "replicas: 2, stall: 1min", "finish_time", Moves::up},
       {"replicas: 2", "replicas: 2, durable: 30min", "lost_work", Moves::up},
       {"replicas: 2", "replicas: 2, load: 2h", "finish_time", Moves::up},
       {"replicas: 2", "replicas: 2, durable: 1min, mode: sync", "finish_time", Moves::up},
       {"medium: memory", "medium: disk, write: 1MB/s, read: 1GB/s", "lost_work", Moves::up}});
}

TEST(CheckpointKeys, BadCopiesCostMoreTheFewerAreKept) {
  const std::string corrupt = replaced(kBase, "mode: sync", "mode: sync, corrupt: 0.5");
  expect_moves(std::string(kBase),
               {{"mode: sync", "mode: sync, corrupt: 0.5", "lost_work", Moves::up}});
  expect_moves(corrupt, {{"corrupt: 0.5", "corrupt: 0.5, keep: 1", "lost_work", Moves::up}});
  expect_moves(replaced(corrupt, "corrupt: 0.5", "corrupt: 0.5, keep: 1"),
               {{"keep: 1", "keep: 1, keep_every: 2", "lost_work", Moves::down}});
}

TEST(CheckpointKeys, ReplicasThatSurviveSaveTheWork) {
  const std::string replicated = replaced(kBase, "sharding: zero1", "sharding: none");
  expect_moves(replicated,
               {{"mode: sync", "mode: sync, just_in_time: true", "lost_work", Moves::down}});
  expect_moves(replaced(replicated, "mode: sync", "mode: sync, just_in_time: true"),
               {{"just_in_time: true", "just_in_time: true, just_in_time_save: 3h", "finish_time",
                 Moves::up}});
}

TEST(RecoveryKeys, EveryKeyOfARestartMovesGoodput) {
  expect_moves(std::string(kBase),
               {{"communicator_init: 1min", "communicators: {preset: torch-store-2024}", "goodput",
                 Moves::down},
                {"communicator_init: 1min",
                 "communicators: {points: [{gpus: 32, time: 1h}, {gpus: 128, time: 2h}]}",
                 "goodput", Moves::down},
                {"warm_up: 2min", "slow_steps: {steps: 100, factor: 10}", "goodput", Moves::down},
                {"detect: 10min", "inspection: 4h", "goodput", Moves::down},
                {"warm_up: 2min", "warm_up: 2min, restart_fails: 0.8", "goodput", Moves::down},
                {"warm_up: 2min", "warm_up: {values: [1min, 6h]}", "goodput", Moves::down},
                {"warm_up: 2min", "warm_up: {median: 2min, mean: 3h}", "goodput", Moves::down}});
  expect_moves(
      replaced(kBase, "warm_up: 2min", "warm_up: 2min, restart_fails: 0.5"),
      {{"restart_fails: 0.5", "restart_fails: 0.5, failed_restart: 2h", "goodput", Moves::down}});
}

TEST(RecoveryKeys, ARunWithoutRestartsLeftStops) {
  const report::Evaluation evaluation =
      must_evaluate(replaced(kBase, "warm_up: 2min", "warm_up: 2min, max_restarts: 0"));
  ASSERT_TRUE(evaluation.run.has_value());
  EXPECT_LT(evaluation.run->finished, evaluation.run->trials);
}

// Unless a scenario keeps them for good, checkpoints are so many whatever their distance; else the
// storage's price is part of what a save costs, and the answer says so.
TEST(CheckpointKeys, AutomaticDistancesWeighStorageThatHasAPrice) {
  const std::string text =
      replaced(kBase, "interval: 1h, mode: sync", "interval: auto, mode: sync");
  const std::string priced =
      replaced(text, "gpu_hour: $4/h", "gpu_hour: $4/h, storage: {gigabyte_month: $0.02}");
  const auto steps_and_choice = [](const std::string& scenario) {
    const report::Evaluation evaluation = must_evaluate(scenario, {.levers = false});
    return std::pair(evaluation.plan->checkpoint_steps.value_or(0),
                     evaluation.echo.checkpoint_choice);
  };
  const auto [free_steps, free_choice] = steps_and_choice(text);
  const auto [bounded_steps, bounded_choice] = steps_and_choice(priced);
  const auto [kept_steps, kept_choice] =
      steps_and_choice(replaced(priced, "mode: sync", "mode: sync, keep: all"));
  EXPECT_EQ(bounded_steps, free_steps);
  EXPECT_EQ(bounded_choice, free_choice);
  EXPECT_TRUE(free_choice.starts_with(
      "the best distance for this stall and failure rate, in whole steps; the storage keeps the "
      "newest 10 and one in "))
      << free_choice;
  EXPECT_GT(kept_steps, free_steps);
  EXPECT_EQ(kept_choice,
            "the best distance for this stall, failure rate and price of storage, in whole steps; "
            "none is ever deleted");
}

}  // namespace
}  // namespace orrery::evaluate::test
