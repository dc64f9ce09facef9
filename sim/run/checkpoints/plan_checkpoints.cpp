#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/run/checkpoints/checkpoint_rates.hpp"
#include "sim/run/planning.hpp"
#include "sim/run/theory/theory.hpp"

namespace orrery::run {

namespace {

// Copies beyond so many lost nodes are as good as gone, or as safe as at that number.
constexpr std::int64_t kMostLostNodes = 512;

// Stall and durable time of one save to one tier.
struct SaveTimes {
  Seconds stall;
  Seconds durable;
};

void check_rate(const std::optional<BytesPerSecond>& rate, std::string_view key,
                Findings& findings) {
  findings.require(!rate || is_positive(in_bytes_per_second(*rate)), key,
                   "the rate must be positive");
}

void check_storage(const CheckpointSpec& spec, const StepInput& step, Findings& findings) {
  const StorageSpec& storage = spec.storage;
  check_rate(storage.write, "checkpoint.storage.write", findings);
  check_rate(storage.read, "checkpoint.storage.read", findings);
  check_rate(storage.write_per_node, "checkpoint.storage.write_per_node", findings);
  check_rate(storage.read_per_node, "checkpoint.storage.read_per_node", findings);
  check_rate(storage.write_per_client, "checkpoint.storage.write_per_client", findings);
  check_rate(storage.read_per_client, "checkpoint.storage.read_per_client", findings);
  check_rate(spec.device_to_host, "checkpoint.device_to_host", findings);
  check_rate(spec.reshard, "checkpoint.reshard", findings);
  const auto require_part = [&](double value, std::string_view key) {
    findings.require(is_share(value) && value > 0.0, key, "must be above 0 and at most 1");
  };
  require_part(storage.efficiency, "checkpoint.storage.efficiency");
  require_part(storage.mass_restart_share, "checkpoint.storage.mass_restart_share");
  findings.require(storage.background < std::min(storage.read, storage.write),
                   "checkpoint.storage.background", "others take all that the storage has");
  findings.require(storage.background + spec.data_reads < storage.write, "checkpoint.data_reads",
                   "data reads and other jobs take all that the storage has");
  findings.require(std::isfinite(in_bytes(spec.bytes_per_parameter)) &&
                       spec.bytes_per_parameter >= Bytes{} && step.parameters >= 0.0,
                   "checkpoint.bytes_per_parameter", "the size must not be negative");
  findings.require(spec.data_state >= Bytes{} && std::isfinite(in_bytes(spec.data_state)),
                   "checkpoint.data_state", "the size must not be negative");
}

// To the storage.
SaveTimes storage_times(const CheckpointSpec& spec, const StepInput& step, Findings& findings) {
  const Seconds copy = copy_time(spec, step);
  if (spec.mode != CheckpointMode::sync) {
    const HostCopy host = host_copy(spec, step);
    SaveTimes times;
    times.stall = host.stall;
    times.durable = spec.durable.value_or(host.whole + write_time(spec, step, spec.data_reads));
    findings.require(times.durable >= times.stall, "checkpoint.durable",
                     "a save cannot protect before its stall is over");
    return times;
  }
  findings.require(!spec.durable || !spec.stall || *spec.durable == *spec.stall,
                   "checkpoint.durable", "a synchronous save protects when its stall is over");
  // The slower stream; what a save takes whatever its size, it takes in both modes.
  const Seconds computed = std::max({write_time(spec, step, {}), copy, spec.least_stall});
  const Seconds stall = spec.stall ? *spec.stall : spec.durable.value_or(computed);
  return {stall, stall};
}

// Bytes of the state on one node.
Bytes share_of_node(const RunPlan& plan) {
  return plan.checkpoint.size / static_cast<double>(plan.step.nodes);
}

// Rates of one node of a tier: memory as fast as its GPUs copy, disks as stated.
BytesPerSecond node_rate(const std::optional<BytesPerSecond>& stated, const CheckpointSpec& spec,
                         const StepInput& step) {
  return stated.value_or(static_cast<double>(step.gpus_per_node) * spec.device_to_host);
}

// Copies to the other nodes of its group leave each node over its own NICs.
SaveTimes tier_times(const TierSpec& tier, const CheckpointSpec& spec, const RunPlan& plan) {
  const Bytes bytes = share_of_node(plan);
  const Seconds copy = bytes / (static_cast<double>(plan.step.gpus_per_node) * spec.device_to_host);
  const Seconds write = bytes / node_rate(tier.write, spec, plan.step);
  Seconds replicate;
  if (tier.replicas > 1 && plan.step.node_network) {
    replicate = static_cast<double>(tier.replicas - 1) * bytes / *plan.step.node_network;
  }
  SaveTimes times;
  const Seconds written = tier.medium == TierMedium::memory ? write : copy + write;
  if (tier.mode != CheckpointMode::sync) {
    times.stall = tier.stall.value_or(tier.medium == TierMedium::memory ? write : copy);
    times.durable = tier.durable.value_or(std::max(written, times.stall) + replicate);
  } else {
    const Seconds both = std::max(copy, write) + replicate;
    times.stall = tier.stall ? *tier.stall : tier.durable.value_or(both);
    times.durable = times.stall;
  }
  return times;
}

void check_tier(const TierSpec& tier, const std::string& key, const RunPlan& plan,
                Findings& findings) {
  check_rate(tier.write, key + ".write", findings);
  check_rate(tier.read, key + ".read", findings);
  const bool is_disk = tier.medium == TierMedium::disk;
  findings.require(!is_disk || tier.write || tier.durable, key + ".write", "a disk needs its rate",
                   "6GB/s");
  findings.require(!is_disk || tier.read || tier.load, key + ".read", "a disk needs its rate",
                   "12GB/s");
  findings.require(tier.replicas >= 1 && tier.replicas <= plan.step.nodes, key + ".replicas",
                   fmt::format("{} nodes cannot hold {} copies", plan.step.nodes, tier.replicas),
                   "1 to the nodes of the job");
  findings.require(tier.replicas == 1 || plan.step.node_network || tier.durable, key + ".replicas",
                   "the rate between nodes is not known", "state `durable` beside it");
  for (const auto& time : {tier.stall, tier.durable, tier.load}) {
    findings.require(!time || in_range(*time), key, "its times must be between 0 s and 73 years");
  }
  if (tier.stall && tier.durable) {
    findings.require(tier.mode != CheckpointMode::sync ? *tier.durable >= *tier.stall
                                                       : *tier.durable == *tier.stall,
                     key + ".durable",
                     tier.mode != CheckpointMode::sync
                         ? "a save cannot protect before its stall is over"
                         : "a synchronous save protects when its stall is over");
  }
}

// Nodes that stay with the job but lose what their memory held: hardware failures that a reboot
// cures. Processes that crash leave host memory alone, and links take nothing with them.
std::int64_t rebooted_nodes(const PlannedCause& cause) {
  const bool reboots = cause.category == FailureCategory::gpu ||
                       cause.category == FailureCategory::host ||
                       cause.category == FailureCategory::maintenance;
  return reboots ? std::max<std::int64_t>(0, cause.hit_nodes - cause.takes_nodes) : 0;
}

CopySurvival survival_of(const TierSpec& tier, const RunPlan& plan) {
  CopySurvival survival;
  survival.after_lost = replica_survivals(plan.step.nodes, tier.replicas, kMostLostNodes);
  for (const PlannedCause& cause : plan.causes) {
    survival.by_cause.push_back(
        tier.medium == TierMedium::memory ? survival.at(rebooted_nodes(cause)) : 1.0);
  }
  return survival;
}

// Every node reads its own copy; those that replace lost nodes get theirs from a group member.
Duration tier_load(const TierSpec& tier, const CheckpointSpec& spec, const PlannedCause& cause,
                   const RunPlan& plan) {
  if (tier.load) {
    return fixed(*tier.load);
  }
  const Bytes bytes = share_of_node(plan);
  Seconds time = bytes / node_rate(tier.read, spec, plan.step);
  if (tier.replicas > 1 && cause.takes_nodes > 0 && plan.step.node_network) {
    time = std::max(time, bytes / *plan.step.node_network);
  }
  return fixed(time);
}

std::string name_of(const TierSpec& tier) {
  if (!tier.name.empty()) {
    return tier.name;
  }
  return tier.medium == TierMedium::memory ? "memory" : "disk";
}

// The saves by slowest tier reached: one stall for all copies, none of which protects before it.
void plan_copies(const std::vector<SaveTimes>& times, RunPlan& plan) {
  CheckpointPlan& checkpoint = plan.checkpoint;
  for (std::size_t kind = 0; kind < times.size(); ++kind) {
    PlannedSave save;
    for (std::size_t i = 0; i <= kind; ++i) {
      save.stall = std::max(save.stall, bounded_time(times[i].stall));
    }
    for (std::size_t i = 0; i <= kind; ++i) {
      save.copies.push_back(
          {static_cast<std::int32_t>(i), std::max(save.stall, bounded_time(times[i].durable))});
    }
    checkpoint.saves.push_back(std::move(save));
  }
}

// Nodes that stay with the job but whose processes end, and with them the state on the GPUs. A hang
// or a broken link leaves the processes alive.
std::int64_t crashed_nodes(const PlannedCause& cause) {
  const bool is_alive =
      cause.symptom == Symptom::hang || cause.category == FailureCategory::network;
  return is_alive ? 0 : std::max<std::int64_t>(0, cause.hit_nodes - cause.takes_nodes);
}

// The survivors must hold every part of the state: a second data-parallel replica on other nodes.
// A crash of the whole job leaves none.
void plan_just_in_time(const CheckpointSpec& spec, RunPlan& plan, Findings& findings) {
  const auto replicas = static_cast<std::int64_t>(std::floor(plan.step.state_replicas));
  if (!findings.require(replicas >= 2, "checkpoint.just_in_time",
                        "needs a second replica of the whole training state on other GPUs",
                        "layout.data of 2 or more, with sharding none or hsdp")) {
    return;
  }
  JustInTime just_in_time;
  const Seconds copy = copy_time(spec, plan.step);
  just_in_time.save = bounded_time(
      spec.just_in_time_save.value_or(std::max(write_time(spec, plan.step, {}), copy)));
  const std::int64_t holders = std::min(replicas, plan.step.nodes);
  CopySurvival& survival = just_in_time.survival;
  survival.after_lost = replica_survivals(plan.step.nodes, holders, kMostLostNodes);
  for (const PlannedCause& cause : plan.causes) {
    const bool all_crash = cause.scope == FailureScope::job && cause.symptom == Symptom::crash;
    survival.by_cause.push_back(all_crash ? 0.0 : survival.at(crashed_nodes(cause)));
  }
  plan.checkpoint.just_in_time = std::move(just_in_time);
}

void plan_retention(const CheckpointSpec& spec, RunPlan& plan, Findings& findings) {
  findings.require_one(spec.keep, "checkpoint.keep");
  findings.require_one(spec.keep_every, "checkpoint.keep_every");
  findings.require(!spec.keep_all || (!spec.keep && !spec.keep_every), "checkpoint.keep_every",
                   "every checkpoint is kept already",
                   "a number of checkpoints for checkpoint.keep");
  findings.require(spec.corrupt >= 0.0 && spec.corrupt < 1.0, "checkpoint.corrupt",
                   "must be at least 0 and below 1");
  CheckpointPlan& checkpoint = plan.checkpoint;
  if (!spec.keep_all) {
    checkpoint.kept = spec.keep.value_or(kDefaultKept);
  }
  checkpoint.kept_every = spec.keep_every;
  checkpoint.corrupt = spec.corrupt;
  checkpoint.final_save = spec.final_save;
  if (spec.reshard) {
    checkpoint.reshard = bounded_time(checkpoint.size / *spec.reshard);
  }
}

}  // namespace

void plan_saves(const CheckpointSpec& spec, RunPlan& plan, Findings& findings) {
  check_storage(spec, plan.step, findings);
  if (!findings.sound()) {
    return;
  }
  plan.checkpoint.size = checkpoint_size(spec, plan.step);
  const SaveTimes times = storage_times(spec, plan.step, findings);
  findings.require(in_range(times.stall) && in_range(times.durable), "checkpoint.stall",
                   "a save must take between 0 s and 73 years");
  plan.stall = bounded_time(times.stall);
  plan.durable = bounded_time(times.durable);
  const Seconds emergency = spec.mode == CheckpointMode::sync
                                ? times.stall
                                : spec.durable.value_or(host_copy(spec, plan.step).whole +
                                                        write_time(spec, plan.step, {}));
  plan.checkpoint.emergency = bounded_time(emergency);
}

void plan_tiers(const CheckpointSpec& spec, RunPlan& plan, Findings& findings) {
  CheckpointPlan& checkpoint = plan.checkpoint;
  constexpr std::size_t kMostTiers = 7;  // in front of the storage
  findings.require(spec.tiers.size() <= kMostTiers, "checkpoint.tiers",
                   fmt::format("{} tiers in front of the storage", spec.tiers.size()),
                   fmt::format("at most {}", kMostTiers));
  std::vector<SaveTimes> times;
  for (std::size_t i = 0; i < spec.tiers.size(); ++i) {
    const TierSpec& tier = spec.tiers[i];
    check_tier(tier, fmt::format("checkpoint.tiers[{}]", i), plan, findings);
    if (!findings.sound()) {
      return;
    }
    PlannedTier planned;
    planned.name = name_of(tier);
    planned.survival = survival_of(tier, plan);
    for (const PlannedCause& cause : plan.causes) {
      planned.load.push_back(tier_load(tier, spec, cause, plan));
    }
    times.push_back(tier_times(tier, spec, plan));
    checkpoint.tiers.push_back(std::move(planned));
  }
  PlannedTier storage;
  storage.name = "storage";
  storage.survival.by_cause.assign(plan.causes.size(), 1.0);
  for (const auto& stages : plan.recovery.stages) {
    storage.load.push_back(stages[index_of(RecoveryStage::load)]);
  }
  times.push_back({to_seconds(plan.stall), to_seconds(plan.durable)});
  checkpoint.tiers.push_back(std::move(storage));
  plan_copies(times, plan);
  plan_retention(spec, plan, findings);
  if (spec.just_in_time) {
    plan_just_in_time(spec, plan, findings);
  }
}

}  // namespace orrery::run
