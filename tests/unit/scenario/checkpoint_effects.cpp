// The keys of checkpoints and recovery: the fields they set, and what a change of each does.

#include <fmt/core.h>

#include "tests/unit/scenario/dump_lines.hpp"
#include "tests/unit/scenario/key_effect.hpp"

namespace orrery::scenario {

namespace {

std::string show_interval(const run::CheckpointInterval& interval) {
  if (const auto* steps = std::get_if<run::StepsInterval>(&interval)) {
    return fmt::format("{} steps", steps->steps);
  }
  const auto* time = std::get_if<run::TimeInterval>(&interval);
  return time != nullptr ? show(time->value) : "auto";
}

Effect tier(const std::string& name, const std::string& value, const std::string& changed) {
  return {"checkpoint.tiers[]." + name,
          fmt::format("[{{medium: memory, {}: {}}}]", name, value),
          fmt::format("checkpoint.tiers[0].{} = {}", name, changed),
          {{"checkpoint.tiers", "[{medium: memory}]"}},
          "checkpoint.tiers"};
}

std::vector<Effect> storage_effects() {
  return {
      {"checkpoint.storage.preset", "production-2025",
       "checkpoint.write = 100 GB/s; checkpoint.read = 100 GB/s"},
      {"checkpoint.storage.write", "100GB/s", "checkpoint.write = 100 GB/s"},
      {"checkpoint.storage.read", "200GB/s", "checkpoint.read = 200 GB/s"},
      {"checkpoint.storage.write_per_node", "5GB/s", "checkpoint.write_per_node = 5 GB/s"},
      {"checkpoint.storage.read_per_node", "10GB/s", "checkpoint.read_per_node = 10 GB/s"},
      {"checkpoint.storage.write_per_client", "2GB/s", "checkpoint.write_per_client = 2 GB/s"},
      {"checkpoint.storage.read_per_client", "4GB/s", "checkpoint.read_per_client = 4 GB/s"},
      {"checkpoint.storage.efficiency", "0.25", "checkpoint.efficiency = 0.25"},
      {"checkpoint.storage.background", "50GB/s", "checkpoint.background = 50 GB/s"},
      {"checkpoint.storage.on_training_network", "true", "checkpoint.on_training_network = true"},
      {"checkpoint.storage.mass_restart_share", "0.25", "checkpoint.mass_restart_share = 0.25"}};
}

std::vector<Effect> tier_effects() {
  return {{"checkpoint.tiers[].medium",
           "[{medium: disk, write: 6GB/s, read: 12GB/s}]",
           "checkpoint.tiers[0].medium = #1",
           {{"checkpoint.tiers", "[{medium: memory, write: 6GB/s, read: 12GB/s}]"}},
           "checkpoint.tiers"},
          tier("name", "RAM", "RAM"),
          tier("interval", "10 steps", "10 steps"),
          tier("mode", "sync", "#0"),
          tier("replicas", "2", "2"),
          tier("write", "6GB/s", "6 GB/s"),
          tier("read", "12GB/s", "12 GB/s"),
          tier("stall", "2s", "2 s"),
          tier("durable", "5s", "5 s"),
          tier("load", "3s", "3 s")};
}

std::vector<Effect> save_effects() {
  static const ScenarioText::Pairs async = {{"checkpoint.mode", "async"}};
  return {
      {"checkpoint.interval", "100 steps", "checkpoint.interval = 100 steps"},
      {"checkpoint.interval", "30min", "checkpoint.interval = 1800 s"},
      {"checkpoint.mode", "async", "checkpoint.mode = #1"},
      {"checkpoint.mode", "snapshot", "checkpoint.mode = #2"},
      {"checkpoint.overhead_budget", "3.5%", "checkpoint.overhead_budget = 0.035"},
      {"checkpoint.bytes_per_parameter", "9.6B", "checkpoint.bytes_per_parameter = 9.6 B"},
      {"checkpoint.data_state", "2GB", "checkpoint.data_state = 2000000000 B"},
      {"checkpoint.sharded", "false", "checkpoint.sharded = false"},
      {"checkpoint.device_to_host", "40GB/s", "checkpoint.device_to_host = 40 GB/s", async},
      {"checkpoint.data_reads", "20GB/s", "checkpoint.data_reads = 20 GB/s", async},
      {"checkpoint.least_interval", "10min", "checkpoint.least_interval = 600 s"},
      {"checkpoint.stall", "40s", "checkpoint.stall = 40 s"},
      {"checkpoint.durable", "3min", "checkpoint.durable = 180 s"},
      {"checkpoint.final_save", "false", "checkpoint.final_save = false"},
      {"checkpoint.keep", "3", "checkpoint.keep = 3"},
      {"checkpoint.keep", "all", "checkpoint.keep_all = true"},
      {"checkpoint.keep_every", "20", "checkpoint.keep_every = 20"},
      {"checkpoint.corrupt", "0.01", "checkpoint.corrupt = 0.01"},
      {"checkpoint.readers", "all", "checkpoint.readers = #1"},
      {"checkpoint.reshard", "1GB/s", "checkpoint.reshard = 1 GB/s"},
      {"checkpoint.just_in_time", "true", "checkpoint.just_in_time = true"},
      {"checkpoint.just_in_time_save", "15s", "checkpoint.just_in_time_save = 15 s"},
  };
}

std::vector<Effect> recovery_effects() {
  static const ScenarioText::Pairs points = {
      {"recovery.communicators.points", "[{gpus: 64, time: 1s}]"}};
  static const ScenarioText::Pairs slow = {{"recovery.slow_steps.factor", "2"}};
  return {
      {"recovery.preset", "megascale-2024", "recovery.preset = megascale-2024"},
      {"recovery.communicators.preset", "nccl-2026", "recovery.communicators = nccl-2026"},
      {"recovery.communicators.points[].gpus", "[{gpus: 128, time: 1s}]",
       "recovery.communicators[0].gpus = 128", points, "recovery.communicators.points"},
      {"recovery.communicators.points[].time", "[{gpus: 64, time: 2s}]",
       "recovery.communicators[0].time = 2 s", points, "recovery.communicators.points"},
      {"recovery.watchdog", "10min", "recovery.watchdog = 600 s"},
      {"recovery.inspection", "30s", "recovery.inspection = 30 s"},
      {"recovery.slow_steps.steps", "3", "recovery.slow_steps.steps = 3", slow},
      {"recovery.slow_steps.factor", "6", "recovery.slow_steps.factor = 6", slow},
      {"recovery.restart_fails", "0.1", "recovery.restart_fails = 0.1"},
      {"recovery.failed_restart", "10min", "recovery.failed_restart = 600 s"},
      {"recovery.max_restarts", "100", "recovery.max_restarts = 100"},
  };
}

}  // namespace

void dump_checkpoint(Lines& lines, const run::CheckpointSpec& checkpoint) {
  lines.add("checkpoint.interval", show_interval(checkpoint.interval));
  lines.add("checkpoint.mode", checkpoint.mode);
  lines.add("checkpoint.overhead_budget", checkpoint.overhead_budget);
  lines.add("checkpoint.bytes_per_parameter", checkpoint.bytes_per_parameter);
  lines.add("checkpoint.data_state", checkpoint.data_state);
  lines.add("checkpoint.sharded", checkpoint.sharded);
  lines.add("checkpoint.write", checkpoint.storage.write);
  lines.add("checkpoint.read", checkpoint.storage.read);
  lines.add("checkpoint.write_per_node", checkpoint.storage.write_per_node);
  lines.add("checkpoint.read_per_node", checkpoint.storage.read_per_node);
  lines.add("checkpoint.write_per_client", checkpoint.storage.write_per_client);
  lines.add("checkpoint.read_per_client", checkpoint.storage.read_per_client);
  lines.add("checkpoint.efficiency", checkpoint.storage.efficiency);
  lines.add("checkpoint.background", checkpoint.storage.background);
  lines.add("checkpoint.on_training_network", checkpoint.storage.on_training_network);
  lines.add("checkpoint.mass_restart_share", checkpoint.storage.mass_restart_share);
  lines.add("checkpoint.device_to_host", checkpoint.device_to_host);
  lines.add("checkpoint.data_reads", checkpoint.data_reads);
  lines.add("checkpoint.least_interval", checkpoint.least_interval);
  lines.add("checkpoint.stall", checkpoint.stall);
  lines.add("checkpoint.durable", checkpoint.durable);
  lines.add("checkpoint.final_save", checkpoint.final_save);
  lines.add("checkpoint.keep", checkpoint.keep);
  lines.add("checkpoint.keep_all", checkpoint.keep_all);
  lines.add("checkpoint.keep_every", checkpoint.keep_every);
  lines.add("checkpoint.corrupt", checkpoint.corrupt);
  lines.add("checkpoint.readers", checkpoint.readers);
  lines.add("checkpoint.reshard", checkpoint.reshard);
  lines.add("checkpoint.just_in_time", checkpoint.just_in_time);
  lines.add("checkpoint.just_in_time_save", checkpoint.just_in_time_save);
  for (std::size_t i = 0; i < checkpoint.tiers.size(); ++i) {
    const run::TierSpec& tier = checkpoint.tiers[i];
    const std::string field = fmt::format("checkpoint.tiers[{}].", i);
    lines.add(field + "name", tier.name);
    lines.add(field + "medium", tier.medium);
    lines.add(field + "interval", show_interval(tier.interval));
    lines.add(field + "mode", tier.mode);
    lines.add(field + "replicas", tier.replicas);
    lines.add(field + "write", tier.write);
    lines.add(field + "read", tier.read);
    lines.add(field + "stall", tier.stall);
    lines.add(field + "durable", tier.durable);
    lines.add(field + "load", tier.load);
  }
}

void dump_recovery(Lines& lines, const run::RecoverySpec& recovery) {
  lines.add("recovery.preset", recovery.preset ? recovery.preset->name : "");
  lines.stages("recovery", recovery.stages);
  lines.add("recovery.communicators", recovery.communicators ? recovery.communicators->name : "");
  for (std::size_t i = 0; i < recovery.communicator_points.size(); ++i) {
    const std::string field = fmt::format("recovery.communicators[{}].", i);
    lines.add(field + "gpus", recovery.communicator_points[i].gpus);
    lines.add(field + "time", recovery.communicator_points[i].time);
  }
  lines.add("recovery.watchdog", recovery.watchdog);
  lines.add("recovery.inspection", recovery.inspection);
  if (recovery.slow_steps) {
    lines.add("recovery.slow_steps.steps", recovery.slow_steps->steps);
    lines.add("recovery.slow_steps.factor", recovery.slow_steps->factor);
  }
  lines.add("recovery.restart_fails", recovery.restart_fails);
  lines.add("recovery.failed_restart", recovery.failed_restart);
  lines.add("recovery.max_restarts", recovery.max_restarts);
}

const std::vector<Effect>& checkpoint_effects() {
  static const std::vector<Effect> effects = [] {
    std::vector<Effect> all;
    for (const auto& part :
         {save_effects(), storage_effects(), tier_effects(), recovery_effects()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return effects;
}

}  // namespace orrery::scenario
