#include "sim/scenario/rules/rules.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/usual_stack.hpp"
#include "sim/step/hardware/cluster_spec.hpp"

namespace orrery::scenario {

namespace {

using model::Dtype;
using schedule::Chunks;
using schedule::ScheduleKind;

// As launchers do it: a pipeline runs 1f1b, one of several chunks per device interleaved.
void usual_schedule(Reading& reading) {
  Scenario& scenario = reading.draft.scenario;
  if (!reading.draft.stated("layout.schedule") && scenario.layout.pipeline > 1) {
    scenario.step.schedule =
        scenario.layout.virtual_stages > 1 ? ScheduleKind::interleaved : ScheduleKind::one_f_one_b;
  }
}

void check_schedule(Reading& reading) {
  const layout::LayoutSpec& layout = reading.draft.scenario.layout;
  const ScheduleKind kind = reading.draft.scenario.step.schedule;
  const std::string_view name = schedule::to_string(kind);
  const std::int64_t chunks = layout.virtual_stages;
  if (kind == ScheduleKind::none && layout.pipeline > 1) {
    error(reading, "layout.schedule",
          fmt::format("a pipeline of {} devices needs a schedule", layout.pipeline),
          chunks > 1 ? "such as interleaved" : "such as 1f1b");
    return;
  }
  const hardware::NetworkDetail detail = reading.draft.scenario.cluster.network.detail;
  if (schedule::traits_of(kind).stale && detail != hardware::NetworkDetail::groups) {
    error(reading, "layout.schedule",
          fmt::format("{} has no flush, so that no single step shows its messages as flows", name),
          "cluster.network.detail: groups");
  }
  if (schedule::runs_chunks(kind, chunks, layout.pipeline)) {
    return;
  }
  const auto refuse = [&](const char* needs, const char* allowed) {
    error(reading, "layout.virtual_stages",
          fmt::format("schedule {} {} per device, not {}", name, needs, chunks), allowed);
  };
  switch (schedule::traits_of(kind).chunks) {
    case Chunks::one:
      refuse("runs one chunk", "1, or schedule: interleaved");
      break;
    case Chunks::two:
      refuse("runs two chunks", "2");
      break;
    case Chunks::two_or_more:
      refuse("needs at least two chunks", "2 or more, or schedule: 1f1b");
      break;
    case Chunks::any:
      break;
  }
}

// The expert groups are cut from tensor x context x data with tensor fastest and data slowest.
void check_expert_order(Reading& reading) {
  const Draft& draft = reading.draft;
  if (draft.expert_in_order && draft.scenario.layout.expert > 1 &&
      !(draft.expert_after_tensor_and_context && draft.expert_before_data)) {
    error(reading, "layout.order",
          "places ep elsewhere than between cp and dp, but expert groups are cut from tensor x "
          "context x data with tensor fastest and data slowest",
          "[tp, cp, ep, dp, pp]");
  }
}

void check_training_target(Reading& reading) {
  constexpr std::array<std::string_view, 4> kTargets = {"training.duration", "training.tokens",
                                                        "training.steps", "training.budget"};
  std::string_view first;
  for (const std::string_view target : kTargets) {
    if (!reading.draft.stated(target)) {
      continue;
    }
    if (!first.empty()) {
      error(reading, target, fmt::format("is a second target beside {}", first),
            "one of duration, tokens, steps and budget");
      return;
    }
    first = target;
  }
  if (first.empty()) {
    error(reading, "training", "has no target", "one of duration, tokens, steps and budget");
  }
}

void check_checkpoint(Reading& reading) {
  const run::CheckpointSpec& checkpoint = reading.draft.run.checkpoint;
  if (!checkpoint.stall || !checkpoint.durable) {
    return;
  }
  if (checkpoint.mode == run::CheckpointMode::sync && *checkpoint.durable != *checkpoint.stall) {
    error(reading, "checkpoint.durable",
          "differs from the stall, but a synchronous save protects when its stall is over",
          "the same as checkpoint.stall, or mode: async");
  } else if (*checkpoint.durable < *checkpoint.stall) {
    error(reading, "checkpoint.durable",
          "is below the stall: a save cannot protect before its stall is over",
          "at least checkpoint.stall");
  }
}

void check_offload(Reading& reading) {
  using step::OffloadTarget;
  const step::OffloadSpec& offload = reading.draft.scenario.step.offload;
  if (offload.modules != model::OffloadModules{} && reading.draft.stated("offload.activations")) {
    error(reading, "offload.modules",
          "names what waits on the host, of which offload.activations states a share",
          "one of the two");
  }
  if (is_broken(reading.diagnostics, "offload") ||
      (offload.optimizer != OffloadTarget::nvme && offload.parameters != OffloadTarget::nvme)) {
    return;
  }
  if (!offload.nvme_read) {
    error(reading, "offload.nvme_read", "is required where something lives on nvme", "25GB/s");
  }
  if (!offload.nvme_write) {
    error(reading, "offload.nvme_write", "is required where something lives on nvme", "12GB/s");
  }
}

void check_documents(Reading& reading) {
  const step::DataSpec& data = reading.draft.scenario.step.data;
  if (!is_broken(reading.diagnostics, "data") && data.packing != step::Packing::packed &&
      !data.document_length) {
    error(reading, "data.document_length", "is required to know how documents fill the sequences",
          "a number of tokens, or packing: packed");
  }
}

// A phase that ends behind the run leaves those after it without a step.
void check_phase_ends(Reading& reading) {
  const run::TrainingSpec& training = reading.draft.run.training;
  for (const run::PhaseSpec& phase : training.phases) {
    if (!phase.until) {
      continue;
    }
    const auto* steps = std::get_if<std::int64_t>(&*phase.until);
    const auto* tokens = std::get_if<Tokens>(&*phase.until);
    const auto* time = std::get_if<Seconds>(&*phase.until);
    if ((steps != nullptr && training.steps && *steps > *training.steps) ||
        (tokens != nullptr && training.tokens && *tokens > *training.tokens) ||
        (time != nullptr && training.duration && *time > *training.duration)) {
      error(reading, "training.phases",
            fmt::format("{} ends behind the end of the run",
                        phase.name.empty() ? std::string("a phase") : phase.name),
            "an end before that of training");
    }
  }
}

void check_recomputed_layers(Reading& reading) {
  const Scenario& scenario = reading.draft.scenario;
  const std::int64_t layers = scenario.model.num_layers + scenario.model.mtp_layers;
  if (scenario.step.recompute.layers.value_or(0) > layers &&
      !is_broken(reading.diagnostics, "model")) {
    error(reading, scenario.where("recompute.layers").line > 0 ? "recompute.layers" : "recompute",
          fmt::format("{} layers of {}", *scenario.step.recompute.layers, layers),
          fmt::format("at most {}", layers));
  }
}

void check_rollout(Reading& reading) {
  const Scenario& scenario = reading.draft.scenario;
  if (!scenario.rollout || is_broken(reading.diagnostics, "rollout")) {
    return;
  }
  const run::RolloutSpec& rollout = *scenario.rollout;
  if (rollout.answer_mean > static_cast<double>(rollout.answer_cap)) {
    error(reading, "rollout.answer_mean",
          fmt::format("is more than answer_cap = {}, at which answers end", rollout.answer_cap));
  }
  const double mean = static_cast<double>(rollout.prompt_length) + rollout.answer_mean;
  if (mean > static_cast<double>(scenario.model.sequence_length)) {
    reading.diagnostics.warning(
        scenario.where("rollout.answer_mean"), "rollout.answer_mean",
        fmt::format(
            "prompt and answer are {:.0f} tokens on average, and the trainer's sequences {}", mean,
            scenario.model.sequence_length),
        "model.sequence_length that holds a prompt and its answer");
  }
}

void check_causes(Reading& reading) {
  const std::vector<run::FailureCause>& causes = reading.draft.run.failures.causes;
  if (!causes.empty() && std::ranges::all_of(causes, [](const auto& cause) {
        return !cause.life && cause.weight == 0.0;
      })) {
    error(reading, "failures.causes", "no cause has a weight above 0");
  }
}

}  // namespace

void error(Reading& reading, std::string_view key, std::string_view message,
           std::string_view allowed) {
  yaml::report(reading.diagnostics, reading.draft.scenario.where(key), key, message, allowed);
}

bool is_broken(const Diagnostics& diagnostics, std::string_view key) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    const std::string_view found = diagnostic.key;
    const bool below =
        found.starts_with(key) &&
        (found.size() == key.size() || found[key.size()] == '.' || found[key.size()] == '[');
    if (diagnostic.severity == Severity::error && below) {
      return true;
    }
  }
  return false;
}

namespace {

// cluster.gpu holds at least one node beside the others.
void check_mixed(Reading& reading) {
  const hardware::ClusterSpec& cluster = reading.draft.scenario.cluster;
  std::int64_t others = 0;
  for (const hardware::MixedNodes& block : cluster.mixed) {
    others += block.nodes;
  }
  if (others >= cluster.nodes && !cluster.mixed.empty()) {
    error(reading, "cluster.mixed",
          fmt::format("{} nodes with other GPUs leave none of {} for cluster.gpu", others,
                      cluster.nodes),
          fmt::format("at most {}", cluster.nodes - 1));
  }
}

}  // namespace

void check_slow_gpus(Reading& reading) {
  const hardware::ClusterSpec& cluster = reading.draft.scenario.cluster;
  for (const step::SlowGpu& slow : reading.draft.scenario.step.variation.slow_gpus) {
    if (slow.node >= cluster.nodes || slow.gpu.value_or(0) >= cluster.gpus_per_node) {
      error(
          reading, "variation.slow_gpus",
          fmt::format("names {} {}, which the cluster does not have",
                      slow.node >= cluster.nodes ? "node" : "GPU",
                      slow.node >= cluster.nodes ? slow.node : slow.gpu.value_or(0)),
          fmt::format("nodes 0 to {}, GPUs 0 to {}", cluster.nodes - 1, cluster.gpus_per_node - 1));
    }
  }
}

// A superchip comes in the nodes and the NVLink domain of its rack, unless others are stated.
// Its preset; empty for other GPUs.
std::string settle_rack(Reading& reading) {
  Draft& draft = reading.draft;
  hardware::ClusterSpec& cluster = draft.scenario.cluster;
  if (!cluster.preset.empty() || draft.stated("cluster.gpus_per_node")) {
    return {};
  }
  const PresetLibrary& presets = presets_of(draft.scenario);
  const auto gpu = presets.gpu(cluster.gpu, draft.scenario.where("cluster.gpu"));
  const PresetPtr rack = gpu && !gpu->sold_as.empty()
                             ? presets.find(PresetKind::clusters, gpu->sold_as, reading.diagnostics)
                             : nullptr;
  cluster.gpus_per_node =
      rack ? rack->cluster.gpus_per_node : hardware::ClusterSpec().gpus_per_node;
  cluster.rack_gpus = rack ? rack->cluster.network.nvlink_domain : std::nullopt;
  return rack ? rack->name : std::string();
}

void finish_cluster(Reading& reading) {
  Draft& draft = reading.draft;
  if (is_broken(reading.diagnostics, "cluster") || !draft.stated("cluster")) {
    return;
  }
  hardware::ClusterSpec& cluster = draft.scenario.cluster;
  if (cluster.gpu.empty()) {
    error(reading, "cluster.gpu", "is required but missing", "such as h100-sxm-80gb");
    return;
  }
  if (draft.nodes.has_value() == draft.gpus.has_value()) {
    error(reading, draft.nodes ? "cluster.gpus" : "cluster",
          draft.nodes ? "says again what cluster.nodes says" : "needs its size",
          "one of nodes and gpus");
    return;
  }
  const std::string rack = settle_rack(reading);
  if (draft.gpus && *draft.gpus % cluster.gpus_per_node != 0) {
    error(reading, "cluster.gpus",
          fmt::format("gpus_per_node = {} does not divide {} (remainder {})", cluster.gpus_per_node,
                      *draft.gpus, *draft.gpus % cluster.gpus_per_node));
    return;
  }
  if (draft.gpus) {
    draft.scenario.locations.set("cluster.nodes", draft.scenario.where("cluster.gpus"));
  }
  cluster.nodes = draft.nodes ? *draft.nodes : *draft.gpus / cluster.gpus_per_node;
  if (cluster.nodes * cluster.gpus_per_node > kMostGpus) {
    error(reading, "cluster.nodes",
          fmt::format("{} nodes of {} are {} GPUs", cluster.nodes, cluster.gpus_per_node,
                      cluster.nodes * cluster.gpus_per_node),
          fmt::format("at most {} GPUs", kMostGpus));
    return;
  }
  if (cluster.nodes > 1 && cluster.preset.empty() && !draft.stated("cluster.network")) {
    error(reading, "cluster.network", fmt::format("is required for {} nodes", cluster.nodes),
          rack.empty() ? std::string("{preset: infiniband-400g}, or {nic_rate: 400Gbps, "
                                     "nics_per_node: 8}")
                       : fmt::format("cluster: {{preset: {}}}, or a network of its own", rack));
    return;
  }
  for (const std::string_view key : {"cluster.network.nic_rate", "cluster.network.nics_per_node"}) {
    if (cluster.nodes > 1 && cluster.preset.empty() && cluster.network.preset.empty() &&
        !draft.stated(key)) {
      error(reading, key, fmt::format("is required for {} nodes", cluster.nodes),
            "a value, or a network preset");
      return;
    }
  }
  if (const auto problem = hardware::network_problem(cluster)) {
    error(reading, "cluster.network", *problem);
  }
  check_mixed(reading);
  check_slow_gpus(reading);
}

void finish_layout(Reading& reading) {
  if (is_broken(reading.diagnostics, "layout")) {
    return;
  }
  const Scenario& scenario = reading.draft.scenario;
  if (scenario.model.compressed_attention && scenario.layout.context > 1) {
    error(reading, "layout.context", "is not known of model.compressed_attention", "1");
  }
  usual_schedule(reading);
  check_schedule(reading);
  check_expert_order(reading);
  settle_stack(reading);
}

void finish_step(Reading& reading) {
  check_offload(reading);
  check_documents(reading);
  check_rollout(reading);
  check_recomputed_layers(reading);
  for (const std::string_view other : {"recompute.modules", "recompute.layers"}) {
    if (reading.draft.stated("recompute.memory_budget") && reading.draft.stated(other)) {
      error(reading, other, "stands beside recompute.memory_budget, which chooses it",
            "one of the two");
    }
  }
  const step::StepSpec& step = reading.draft.scenario.step;
  const Dtype activation = step.precision.activation;
  const Dtype gradient = step.gradient_dtype.value_or(activation);
  if (!is_broken(reading.diagnostics, "precision") && gradient != Dtype::fp32 &&
      gradient != activation) {
    const auto name = [](Dtype dtype) {
      return dtype == Dtype::fp16 ? "fp16" : dtype == Dtype::bf16 ? "bf16" : "fp32";
    };
    error(reading, "precision.gradient_dtype",
          fmt::format("is {} where the activations are {}", name(gradient), name(activation)),
          step.precision.is_master() ? "fp32" : fmt::format("fp32 or {}", name(activation)));
  }
}

// Phases and a batch ramp say the same thing in two ways; a ramp ends at batch.global.
void check_batch_ramp(Reading& reading) {
  const Draft& draft = reading.draft;
  if (!draft.run.training.batch_ramp) {
    return;
  }
  if (!draft.run.training.phases.empty()) {
    error(reading, "training.batch_ramp", "stands beside training.phases", "one of the two");
    return;
  }
  constexpr std::int64_t kMostRises = 4096;
  const run::BatchRampSpec& ramp = *draft.run.training.batch_ramp;
  const std::int64_t rise = draft.scenario.batch.global - ramp.start;
  if (rise <= 0 || rise % ramp.increment != 0 || rise / ramp.increment > kMostRises) {
    error(reading, "training.batch_ramp",
          fmt::format("from {} in steps of {} does not reach batch.global = {}", ramp.start,
                      ramp.increment, draft.scenario.batch.global),
          fmt::format("a start below it, and at most {} whole increments", kMostRises));
  }
}

namespace {

// plan.done_by as a time after the start.
void settle_done_by(Reading& reading) {
  Draft& draft = reading.draft;
  if (!draft.scenario.plan || !draft.scenario.plan->done_by) {
    return;
  }
  const std::int64_t end = *draft.scenario.plan->done_by;
  const std::optional<std::int64_t>& start = draft.run.training.start;
  if (draft.stated("plan.deadline")) {
    error(reading, "plan.done_by", "says again what plan.deadline says", "one of the two");
  } else if (!start) {
    error(reading, "plan.done_by", "needs the date on which the run starts",
          "training: {start: 2027-01-01, ...}");
  } else if (*start >= end) {
    error(reading, "plan.done_by", "is not after training.start", "a later date");
  } else {
    draft.scenario.plan->deadline = seconds(static_cast<double>(end - *start));
  }
}

// Those of the cluster's preset, where the scenario has none of its own for the GPUs.
void take_offered_prices(Reading& reading) {
  Draft& draft = reading.draft;
  const hardware::ClusterSpec& cluster = draft.scenario.cluster;
  Diagnostics unused;
  const PresetPtr sold =
      cluster.preset.empty()
          ? nullptr
          : presets_of(draft.scenario).find(PresetKind::clusters, cluster.preset, unused);
  if (sold && sold->cluster.gpu != cluster.gpu) {
    reading.diagnostics.warning(
        draft.scenario.where("cluster.gpu"), "cluster.gpu",
        fmt::format("{} has {}: its price is not that of other GPUs, and left out", cluster.preset,
                    sold->cluster.gpu),
        "prices.gpu_hour, or a preset of this GPU");
    return;
  }
  constexpr std::array<std::string_view, 5> kOwn = {"prices.preset", "prices.gpu_hour",
                                                    "prices.owned", "prices.reserved",
                                                    "prices.spot_gpu_hour"};
  const bool own =
      std::ranges::any_of(kOwn, [&draft](std::string_view key) { return draft.stated(key); });
  if (own) {
    return;
  }
  run::PriceSpec& prices = draft.run.prices;
  prices.gpu_hour = draft.offered.gpu_hour;
  prices.spot_gpu_hour = draft.offered.spot_gpu_hour;
  prices.as_of = draft.offered.as_of;
}

}  // namespace

void finish_run(Reading& reading) {
  Draft& draft = reading.draft;
  if (draft.stated("training") && !is_broken(reading.diagnostics, "training")) {
    check_training_target(reading);
    check_batch_ramp(reading);
    check_phase_ends(reading);
  }
  if (draft.scenario.rollout && draft.stated("training")) {
    error(reading, "training", "a scenario with rollout answers one step, not a run",
          "leave training out, or rollout");
  }
  if (draft.scenario.rollout && draft.scenario.model.reference) {
    error(reading, "model.reference",
          "runs beside every step, but in a rollout it runs once over all answers",
          "rollout.reference");
  }
  if (!is_broken(reading.diagnostics, "checkpoint")) {
    check_checkpoint(reading);
  }
  if (!is_broken(reading.diagnostics, "failures")) {
    check_causes(reading);
  }
  // A checkpoint holds the optimizer's state and, unless they are its master copy, the weights.
  if (!draft.stated("checkpoint.bytes_per_parameter")) {
    const model::PrecisionSpec& precision = draft.scenario.step.precision;
    draft.run.checkpoint.bytes_per_parameter =
        precision.optimizer_bytes + (precision.is_master() ? Bytes{} : bytes(2.0));
  }
  take_offered_prices(reading);
  if (draft.scenario.rollout) {
    const run::PriceSpec& prices = draft.run.prices;
    const bool of_preset = !prices.gpu_hour && prices.preset;
    draft.scenario.rollout->gpu_hour = of_preset ? prices.preset->spec.gpu_hour : prices.gpu_hour;
  }
  settle_done_by(reading);
  if (draft.stated("training")) {
    draft.scenario.run = draft.run;
  }
}

}  // namespace orrery::scenario
