// Keys that are right but have no effect in this scenario: nothing is parsed but inert in silence.

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <variant>

#include "sim/run/recovery_spec.hpp"
#include "sim/scenario/rules.hpp"
#include "sim/scenario/what_fails.hpp"
#include "sim/yaml/reader.hpp"

namespace orrery::scenario {

namespace {

using schedule::ScheduleKind;

class IdleKeys {
 public:
  explicit IdleKeys(Reading& reading) : reading_(reading) {}

  [[nodiscard]] bool stated(std::string_view key) const {
    return reading_.draft.stated(key);
  }

  // Warns when the key is stated.
  void add(std::string_view key, std::string_view reason) {
    if (stated(key)) {
      reading_.diagnostics.warning(
          reading_.draft.scenario.where(key), key, fmt::format("has no effect: {}", reason));
    }
  }

  // The specs, for the conditions.
  [[nodiscard]] const Scenario& scenario() const {
    return reading_.draft.scenario;
  }

  [[nodiscard]] const run::RunSpec& run() const {
    return reading_.draft.run;
  }

  [[nodiscard]] bool broken(std::string_view section) const {
    return is_broken(reading_.diagnostics, section);
  }

 private:
  Reading& reading_;
};

std::int64_t longest_sequence(const IdleKeys& idle) {
  std::int64_t longest = idle.scenario().model.sequence_length;
  for (const run::PhaseSpec& phase : idle.run().training.phases) {
    longest = std::max(longest, phase.sequence_length.value_or(longest));
  }
  return longest;
}

void check_model(IdleKeys& idle) {
  const model::ModelSpec& model = idle.scenario().model;
  if (idle.broken("model")) {
    return;
  }
  if (model.position != model::PositionEmbedding::learned) {
    idle.add("model.max_positions", "only learned positions have a table");
  }
  if (model.mla) {
    idle.add("model.head_dim", "latent attention states its own widths");
    idle.add("model.num_query_groups", "latent attention has no key and value heads to share");
  }
  if (model.linear_bias) {
    idle.add("model.qkv_bias", "linear_bias gives every linear layer a bias");
  }
  if (model.moe && model.moe->dense_layers == 0) {
    idle.add("model.ffn_hidden_size", "every layer has experts");
  }
  if (model.attention_window && model.attention_window->full_every == 1) {
    idle.add("model.attention_window", "with full_every: 1 every layer sees the whole sequence");
  } else if (model.attention_window && model.attention_window->size >= longest_sequence(idle)) {
    idle.add("model.attention_window.size", "no sequence is longer");
  }
}

// Data-parallel degree where the file tells it: the number of ranks that reduce gradients.
std::int64_t gradient_ranks(const Scenario& scenario) {
  const layout::LayoutSpec& layout = scenario.layout;
  const std::int64_t gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node;
  const std::int64_t model_gpus = layout.tensor * layout.context * layout.pipeline;
  return layout.data.value_or(gpus / model_gpus) * layout.context;
}

void check_layout(IdleKeys& idle) {
  if (idle.broken("layout") || idle.broken("model") || idle.broken("cluster")) {
    return;
  }
  const layout::LayoutSpec& layout = idle.scenario().layout;
  const model::ModelSpec& model = idle.scenario().model;
  if (layout.tensor == 1 && layout.sequence_parallel) {
    idle.add("layout.sequence_parallel", "tensor is 1");
  }
  if (layout.context == 1) {
    idle.add("layout.context_method", "context is 1");
    idle.add("layout.context_balanced", "context is 1");
  } else if (layout.context_method == model::ContextMethod::all_to_all) {
    idle.add("layout.context_balanced", "every rank holds all tokens of its heads");
  } else if (!model.causal) {
    idle.add("layout.context_balanced", "without a causal mask all tokens are alike");
  }
  if (layout.sharding == layout::Sharding::none) {
    idle.add("layout.shard_group", "sharding is none");
  } else if (gradient_ranks(idle.scenario()) == 1) {
    idle.add("layout.sharding", "one rank holds every shard (data x context is 1)");
  }
  if (!model.moe && layout.expert_tensor.value_or(1) != 1) {
    idle.add("layout.expert_tensor", "the model is dense");
  }
  if (model.moe && layout.expert == 1) {
    idle.add("model.moe.imbalance", "layout.expert is 1: one rank holds all experts");
    idle.add("model.moe.capacity", "layout.expert is 1: one rank holds all experts");
    idle.add("model.moe.load_spread", "layout.expert is 1: one rank holds all experts");
    idle.add("model.moe.node_limit", "layout.expert is 1: no token is sent");
  } else if (model.moe && model.moe->capacity_factor >= model.moe->imbalance) {
    idle.add("model.moe.capacity", "no rank gets that many rows (model.moe.imbalance)");
  }
}

void check_step(IdleKeys& idle) {
  if (idle.broken("layout") || idle.broken("overlap") || idle.broken("cluster")) {
    return;
  }
  const Scenario& scenario = idle.scenario();
  if (gradient_ranks(scenario) == 1) {
    constexpr std::string_view kAlone = "no rank shares its gradients (data x context is 1)";
    idle.add("overlap.data", kAlone);
    idle.add("overlap.bucket", kAlone);
    idle.add("overlap.reduction", kAlone);
  }
  const layout::Sharding sharding = scenario.layout.sharding;
  if (sharding != layout::Sharding::zero3 && sharding != layout::Sharding::hsdp) {
    idle.add("overlap.fsdp", "sharding is neither zero3 nor hsdp");
  } else if (!scenario.step.fsdp.reshard) {
    constexpr std::string_view kStay = "the backward gathers nothing (reshard: false)";
    idle.add("overlap.fsdp.backward_prefetch", kStay);
    idle.add("overlap.fsdp.reshard_group", kStay);
  }
  if (!scenario.step.overlap.tensor) {
    idle.add("overlap.tensor_chunks", "overlap.tensor is false");
  }
  if (scenario.layout.tensor == 1) {
    idle.add("overlap.tensor", "tensor is 1");
  }
  if (!scenario.model.moe || scenario.layout.expert == 1) {
    constexpr std::string_view kNoExchange = "no token is sent to experts on other ranks";
    idle.add("overlap.expert", kNoExchange);
    idle.add("software_options.expert_dispatcher", kNoExchange);
    idle.add("precision.expert_dispatch", kNoExchange);
  }
  if (!scenario.model.moe) {
    idle.add("software_options.grouped_gemm", "the model has no experts");
  }
  if (scenario.layout.pipeline == 1) {
    idle.add("overlap.pipeline", "pipeline is 1");
  } else if (scenario.step.schedule == ScheduleKind::one_f_one_b) {
    idle.add("overlap.pipeline", "the software profile says how 1f1b transfers");
  }
  if (idle.stated("precision.optimizer.state_bytes")) {
    idle.add("precision.optimizer.name", "state_bytes replaces it");
  }
}

// Recomputed or kept parts that the model does not have.
void check_kept(IdleKeys& idle) {
  if (idle.broken("model") || idle.broken("recompute")) {
    return;
  }
  const model::ModelSpec& model = idle.scenario().model;
  const model::RecomputeModules& modules = idle.scenario().step.recompute.modules;
  if (modules.mla_up_projection && !model.mla) {
    idle.add("recompute.modules", "mla_up_proj: the model has no latent attention");
  }
  const bool routed_alone = modules.moe_activation && !modules.mlp_activation;
  if (!model.moe) {
    if (modules.moe || modules.shared_experts || routed_alone) {
      idle.add("recompute.modules", "moe, moe_act, shared_experts: the model is dense");
    }
    idle.add("precision.kept_expert_inner", "the model is dense");
    return;
  }
  if (modules.mlp && model.moe->dense_layers == 0) {
    idle.add("recompute.modules", "mlp: every layer has experts");
  }
  if (modules.shared_experts && model.moe->shared_experts == 0) {
    idle.add("recompute.modules", "shared_experts: the model has none");
  }
}

void check_offload(IdleKeys& idle) {
  using step::OffloadTarget;
  const step::OffloadSpec& offload = idle.scenario().step.offload;
  if (idle.broken("offload")) {
    return;
  }
  if (!offload.any()) {
    constexpr std::string_view kNothing = "nothing is offloaded";
    for (const std::string_view key :
         {"offload.link", "offload.host_bandwidth", "offload.host_memory", "offload.overlap"}) {
      idle.add(key, kNothing);
    }
  }
  if (offload.optimizer != OffloadTarget::nvme && offload.parameters != OffloadTarget::nvme) {
    idle.add("offload.nvme_read", "nothing lives on nvme");
    idle.add("offload.nvme_write", "nothing lives on nvme");
  }
}

void check_variation(IdleKeys& idle) {
  const step::VariationSpec& variation = idle.scenario().step.variation;
  if (!variation.any()) {
    for (const std::string_view key : {"variation.draws", "variation.seed"}) {
      idle.add(key, "no spread is stated");
    }
  }
  if (variation.slow_share == 0.0) {
    idle.add("variation.slow_factor", "slow_share is 0");
  }
}

void check_data(IdleKeys& idle) {
  const step::DataSpec& data = idle.scenario().step.data;
  if (!data.read_bandwidth) {
    idle.add("data.bytes_per_token", "there is no read_bandwidth");
    if (!data.tokens_per_second) {
      idle.add("data.prefetch", "the input is never short");
    }
  }
  if (data.packing == step::Packing::packed) {
    idle.add("data.document_length", "packed documents attend across their borders");
  }
  if (!data.document_length) {
    idle.add("data.document_sigma", "there is no document_length");
  }
}

void check_given_step(IdleKeys& idle) {
  if (!idle.scenario().step.given_time) {
    return;
  }
  for (const std::string_view key : {"overlap.data", "overlap.tensor", "overlap.pipeline"}) {
    idle.add(key, "step.time gives the time of a step");
  }
}

void check_network(IdleKeys& idle) {
  if (idle.broken("cluster")) {
    return;
  }
  const hardware::ClusterSpec& cluster = idle.scenario().cluster;
  if (cluster.nodes == 1) {
    for (const std::string_view key : {"cluster.network.nic_rate",
                                       "cluster.network.nics_per_node",
                                       "cluster.network.tiers",
                                       "cluster.network.fabric",
                                       "cluster.network.routing",
                                       "cluster.network.cross_rail",
                                       "cluster.network.sharp",
                                       "cluster.network.links_down"}) {
      idle.add(key, "one node needs no network");
    }
  } else if (cluster.network.tiers.empty()) {
    if (cluster.network.routing == hardware::Routing::static_ecmp) {
      idle.add("cluster.network.routing", "without tiers one switch holds every node");
    }
    if (cluster.network.cross_rail == hardware::CrossRail::spine) {
      idle.add("cluster.network.cross_rail", "without tiers there is no switch above the rails");
    }
  }
}

// Whether anything can fail; a preset that has rates counts.
bool load_is_given(const run::RecoverySpec& recovery) {
  const std::size_t load = run::index_of(run::RecoveryStage::load);
  const run::RecoveryPreset* preset = run::find_recovery_preset(recovery.preset);
  return recovery.stages[load].has_value() ||
         (preset != nullptr && preset->stages[load].has_value());
}

// The times of saves and loads that are given make the sizes and rates behind them idle.
void check_checkpoint(IdleKeys& idle, bool fails) {
  const run::CheckpointSpec& checkpoint = idle.run().checkpoint;
  const bool async = checkpoint.mode == run::CheckpointMode::async;
  const bool save_is_given = async ? checkpoint.durable.has_value()
                                   : checkpoint.stall.has_value() || checkpoint.durable.has_value();
  const bool stall_is_given = checkpoint.stall.has_value();
  const bool load_idle = !fails || load_is_given(idle.run().recovery);
  const bool has_tiers = !checkpoint.tiers.empty();
  if (save_is_given && !checkpoint.just_in_time) {
    for (const std::string_view key : {"checkpoint.storage.write",
                                       "checkpoint.storage.write_per_node",
                                       "checkpoint.storage.write_per_client"}) {
      idle.add(key, "the time of a save is given");
    }
  }
  for (const std::string_view key : {"checkpoint.storage.read",
                                     "checkpoint.storage.read_per_node",
                                     "checkpoint.storage.read_per_client",
                                     "checkpoint.readers"}) {
    if (!fails) {
      idle.add(key, "nothing fails, so nothing is loaded");
    } else if (load_idle) {
      idle.add(key, "the time of a load is given");
    }
  }
  if (!async) {
    idle.add("checkpoint.data_reads", "a synchronous save stops the input pipeline too");
  } else if (save_is_given) {
    idle.add("checkpoint.data_reads", "the time of a save is given");
  }
  if (!async && !has_tiers) {
    idle.add("checkpoint.device_to_host", "a synchronous save goes straight to the storage");
  } else if (stall_is_given && !has_tiers) {
    idle.add("checkpoint.device_to_host", "the stall is given");
  }
  if (save_is_given && load_idle && (!async || stall_is_given) && !has_tiers) {
    for (const std::string_view key :
         {"checkpoint.bytes_per_parameter", "checkpoint.data_state", "checkpoint.sharded"}) {
      idle.add(key, "the times of saves and loads are given");
    }
  }
}

void check_symptoms(IdleKeys& idle) {
  const run::FailureSpec& failures = idle.run().failures;
  if (!any_cause(failures,
                 [](const run::FailureCause& c) { return c.symptom == run::Symptom::hang; })) {
    idle.add("recovery.watchdog", "no cause of failures hangs the job");
    if (idle.run().recovery.stages[run::index_of(run::RecoveryStage::detect)]) {
      idle.add("recovery.inspection", "recovery.detect gives the time for every crash");
    }
  }
  if (!any_cause(failures, [](const run::FailureCause& c) {
        return c.scope == run::FailureScope::power_domain || c.scope == run::FailureScope::storage;
      })) {
    idle.add("checkpoint.storage.mass_restart_share",
             "no failure of a power domain or of the storage restarts many jobs");
  }
}

void check_copies(IdleKeys& idle, bool fails) {
  const run::CheckpointSpec& checkpoint = idle.run().checkpoint;
  constexpr std::string_view kNothingFails = "nothing fails in this scenario";
  if (!fails) {
    for (const std::string_view key : {"checkpoint.corrupt",
                                       "checkpoint.keep",
                                       "checkpoint.keep_every",
                                       "checkpoint.just_in_time"}) {
      idle.add(key, kNothingFails);
    }
  }
  if (!checkpoint.just_in_time) {
    idle.add("checkpoint.just_in_time_save", "checkpoint.just_in_time is off");
  }
  if (checkpoint.keep_all) {
    idle.add("checkpoint.keep_every", "every checkpoint is kept");
  }
  const run::RecoverySpec& recovery = idle.run().recovery;
  if (recovery.stages[run::index_of(run::RecoveryStage::communicator_init)]) {
    idle.add("recovery.communicators", "recovery.communicator_init gives its time at any size");
  } else if (!recovery.communicator_points.empty()) {
    idle.add("recovery.communicators.preset", "points are stated");
  }
  if (recovery.restart_fails == 0.0) {
    idle.add("recovery.failed_restart", "no restart fails");
  }
}

void check_capacity(IdleKeys& idle) {
  const run::CapacitySpec& capacity = idle.run().capacity;
  if (!idle.stated("failures.lemons")) {
    constexpr std::string_view kNoLemons = "no node is bad (failures.lemons)";
    idle.add("capacity.repair.fails", kNoLemons);
    idle.add("capacity.repair.manual.fails", kNoLemons);
  }
  if (capacity.repair.retire == 0.0 && !idle.stated("failures.lemons.remove_after")) {
    idle.add("capacity.repair.replacement", "no node is ever retired");
  }
  if (capacity.spot && capacity.spot->rate) {
    idle.add("capacity.spot.start", "there are no traces");
    idle.add("capacity.spot.migration", "there are no zones");
  } else if (capacity.spot) {
    idle.add("capacity.spot.burst", "the traces say how many nodes go");
    idle.add("capacity.spot.returns", "the traces say when nodes return");
    if (capacity.spot->zones.size() < 2) {
      idle.add("capacity.spot.migration", "there is one zone");
    }
  }
}

void check_prices(IdleKeys& idle) {
  const run::PriceSpec& prices = idle.run().prices;
  const run::CapacitySpec& capacity = idle.run().capacity;
  const bool priced = prices.gpu_hour || prices.owned || !prices.preset.empty();
  if (!capacity.spot) {
    idle.add("prices.spot_gpu_hour", "no node is on spot (capacity.spot)");
  }
  if (!priced && !prices.spot_gpu_hour && !prices.reserved) {
    idle.add("prices.as_of", "there is no price");
  }
  if (!priced) {
    idle.add("prices.bill_spares", "there is no price");
  } else if (capacity.spares + capacity.warm.nodes + capacity.cold.nodes == 0) {
    idle.add("prices.bill_spares", "there are no spares");
  }
}

void check_run(IdleKeys& idle) {
  if (!idle.stated("training")) {
    for (const std::string_view section :
         {"evaluation", "failures", "checkpoint", "recovery", "capacity", "prices", "simulation"}) {
      idle.add(section, "there is no `training`, so no run");
    }
    return;
  }
  for (const std::string_view section : {"training", "failures", "recovery", "checkpoint"}) {
    if (idle.broken(section)) {
      return;
    }
  }
  const bool strikes = can_fail(idle.run());
  const bool fails = strikes || can_restart(idle.run().failures);
  if (!strikes && std::holds_alternative<run::AutoInterval>(idle.run().checkpoint.interval)) {
    idle.add("checkpoint.interval", "auto follows the failures, and nothing fails");
  }
  if (!fails) {
    constexpr std::string_view kNothingFails = "nothing fails in this scenario";
    idle.add("recovery", kNothingFails);
    idle.add("failures.causes", kNothingFails);
    if (idle.run().capacity.spares > 0) {
      idle.add("capacity.spares", "no node is ever replaced; the spares only cost");
    }
    idle.add("capacity.repair_time", kNothingFails);
  } else if (!nodes_can_fail(idle.run())) {
    if (!any_cause(idle.run().failures,
                   [](const run::FailureCause& c) { return c.life.has_value(); })) {
      idle.add("failures.causes", "they share node_rate, which is 0");
    }
    idle.add("capacity.repair_time", "no node fails, only the job");
    if (idle.run().capacity.spares > 0) {
      idle.add("capacity.spares", "no node is ever replaced; the spares only cost");
    }
  }
  check_checkpoint(idle, fails);
  check_copies(idle, fails);
  check_symptoms(idle);
  if (idle.run().training.duration) {
    idle.add("simulation.max_wall", "training.duration is the window");
    idle.add("checkpoint.final_save", "training.duration has no target to reach");
  }
  if (!idle.broken("prices") && !idle.broken("capacity") && !idle.broken("failures")) {
    check_capacity(idle);
    check_prices(idle);
  }
}

}  // namespace

void warn_about_idle_keys(Reading& reading) {
  IdleKeys idle(reading);
  check_model(idle);
  check_network(idle);
  check_layout(idle);
  check_step(idle);
  check_kept(idle);
  check_offload(idle);
  check_variation(idle);
  check_data(idle);
  check_given_step(idle);
  check_run(idle);
}

}  // namespace orrery::scenario
