// Keys of axes beside the layout: `offload`.

#include <algorithm>

#include "sim/run/checkpoints/checkpoint_spec.hpp"
#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/step/simulate/step_spec.hpp"

namespace orrery::scenario {

namespace {

using step::OffloadTarget;
using yaml::between;
namespace kind = yaml::kind;

constexpr Idle kNothingAway = ORRERY_WHEN(!d.scenario.step.offload.any(), "nothing is offloaded");
constexpr Idle kNothingInHostMemory = ORRERY_WHEN(
    !d.scenario.step.offload.any() &&
        (!in_run(d) || (d.run.checkpoint.mode == run::CheckpointMode::sync &&
                        std::none_of(d.run.checkpoint.tiers.begin(), d.run.checkpoint.tiers.end(),
                                     [](const run::TierSpec& tier) {
                                       return tier.medium == run::TierMedium::memory;
                                     }))),
    "nothing is offloaded, and no save waits in host memory");
constexpr Idle kNothingOnNvme =
    ORRERY_WHEN(d.scenario.step.offload.optimizer != OffloadTarget::nvme &&
                    d.scenario.step.offload.parameters != OffloadTarget::nvme,
                "nothing lives on nvme");

std::vector<yaml::Choice<OffloadTarget>> offload_targets() {
  return {
      {"none", OffloadTarget::none}, {"cpu", OffloadTarget::cpu}, {"nvme", OffloadTarget::nvme}};
}

void add_offload_targets(Rows& keys) {
  keys.section("offload", "What waits in host memory or on NVMe between its uses.",
               "{optimizer: cpu, activations: 0.5}", {.note = "everything stays on the GPU"});
  keys.choice<OffloadTarget>(
      "offload.optimizer",
      "Where the optimizer's state lives; the host then updates the parameters.", "cpu",
      offload_targets(), ORRERY_AT(scenario.step.offload.optimizer), {.fallback = "none"});
  keys.choice<OffloadTarget>(
      "offload.parameters", "Where the 16-bit parameters live; every pass copies its own in.",
      "nvme", offload_targets(), ORRERY_AT(scenario.step.offload.parameters), {.fallback = "none"});
  keys.value<kind::Number>(
      "offload.activations", "Share of the layers' kept activations that waits in host memory.",
      "0.5", between(0.0, 1.0), ORRERY_AT(scenario.step.offload.activations), {.fallback = "0"});
  Key& modules = keys.words(
      "offload.modules",
      "Modules whose input waits in host memory, by Megatron-Core's names: attn_norm and mlp_norm "
      "the residual stream, qkv_linear the norm's result, core_attn Q, K and V, attn_proj the "
      "core's output, expert_fc1 the experts' rows, moe_act what their activation starts from.",
      "[core_attn, attn_proj]", names_of(model::kOffloadModuleWords),
      [](Draft& draft) { draft.scenario.step.offload.modules = {}; },
      [](Draft& draft, std::size_t word) {
        draft.scenario.step.offload.modules.*model::kOffloadModuleWords[word].member = true;
      },
      {.aliases = {"offload_modules"},
       .note = "a share of all: offload.activations",
       .idle = {ORRERY_WHEN(!d.scenario.model.moe && (d.scenario.step.offload.modules.expert_fc1 ||
                                                      d.scenario.step.offload.modules.moe_act),
                            "expert_fc1, moe_act: the model is dense")}});
  modules.print = [](Draft& draft) -> std::optional<std::string> {
    const model::OffloadModules& chosen = draft.scenario.step.offload.modules;
    return chosen == model::OffloadModules{}
               ? std::nullopt
               : std::optional(show_names(model::kOffloadModuleWords,
                                          [&](const auto& word) { return chosen.*word.member; }));
  };
}

void add_offload_rates(Rows& keys) {
  keys.value<kind::Bandwidth>(
      "offload.link", "Copies between one GPU and its host, each direction.", "25GB/s",
      yaml::above(bytes_per_second(0.0)), ORRERY_AT(scenario.step.offload.link),
      {.note = "host_bandwidth of the GPU profile", .idle = {kNothingAway}});
  keys.value<kind::Bandwidth>(
      "offload.host_bandwidth",
      "Memory traffic that the host of one node reaches in the update, and where it is stated in "
      "the copies; its GPUs share it.",
      "250GB/s", yaml::above(bytes_per_second(0.0)),
      ORRERY_AT(scenario.step.offload.host_bandwidth),
      {.note = "of the update 117GB/s, what the CPU Adam of ZeRO-Offload moves",
       .idle = {kNothingAway}});
  keys.value<kind::Bandwidth>(
      "offload.nvme_read", "Reads of all drives of one node.", "25GB/s",
      yaml::above(bytes_per_second(0.0)), ORRERY_AT(scenario.step.offload.nvme_read),
      {.note = "required where something lives on nvme", .idle = {kNothingOnNvme}});
  keys.value<kind::Bandwidth>(
      "offload.nvme_write", "Writes of all drives of one node.", "12GB/s",
      yaml::above(bytes_per_second(0.0)), ORRERY_AT(scenario.step.offload.nvme_write),
      {.note = "required where something lives on nvme", .idle = {kNothingOnNvme}});
  keys.value<kind::Size>(
      "offload.host_memory",
      "Memory of one node's host that may be used, for what is offloaded and the copies of "
      "asynchronous saves; beyond it nothing fits.",
      "1TB", yaml::above(bytes(0.0)), ORRERY_AT(scenario.step.offload.host_memory),
      {.note = "not checked", .idle = {kNothingInHostMemory}});
  keys.flag("offload.overlap",
            "Copies run beside the passes, and the update beside its own copies.", "false",
            ORRERY_AT(scenario.step.offload.overlap), {.fallback = "true", .idle = {kNothingAway}});
}

}  // namespace

void axis_keys(Rows& keys) {
  add_offload_targets(keys);
  add_offload_rates(keys);
}

// Keys of `local_steps`, `variation` and `data`: what is not alike, and what is not there in time.

namespace {

using step::Packing;

constexpr Idle kNoSpread = ORRERY_WHEN(!d.scenario.step.variation.drawn(), "no spread is stated");

void add_local_steps(Rows& keys) {
  keys.section(
      "local_steps", "Islands of replicas that train alone and meet in an outer step (DiLoCo).",
      "{every: 500, islands: 8, rate: 1Gbps}", {.note = "all replicas meet in every step"});
  keys.count("local_steps.every", "Inner steps between two outer ones.", "500", {1, 1'000'000},
             ORRERY_AT(scenario.step.local_steps.every), {.required = true});
  keys.count("local_steps.islands", "Islands; they divide the replicas (layout.data).", "8",
             {2, 65'536}, ORRERY_AT(scenario.step.local_steps.islands), {.required = true});
  keys.value<kind::Bandwidth>(
      "local_steps.rate", "What one island sends to the next, one direction.", "1Gbps",
      yaml::above(bytes_per_second(0.0)), ORRERY_AT(scenario.step.local_steps.rate),
      {.note = "the NICs of one island"});
  keys.value<kind::Time>("local_steps.latency",
                         "One hop between islands; the ring takes 2 (islands - 1) of them.", "80ms",
                         between(Seconds{}, hours(1.0)),
                         ORRERY_AT(scenario.step.local_steps.latency), {.fallback = "0"});
  keys.choice<double>("local_steps.precision", "Type of the parameters' differences on the wire.",
                      "int8",
                      {{"fp32", 32.0}, {"bf16", 16.0}, {"fp8", 8.0}, {"int8", 8.0}, {"int4", 4.0}},
                      ORRERY_AT(scenario.step.local_steps.bits), {.fallback = "fp32"});
  keys.flag("local_steps.overlap", "The outer all-reduce streams beside the inner steps.", "true",
            ORRERY_AT(scenario.step.local_steps.overlap), {.fallback = "false"});
}

void add_slow_gpus(Rows& keys) {
  keys.list("variation.slow_gpus", "GPUs that are slow, by place.",
            "[{node: 40, gpu: 1, factor: 1.25}]", ORRERY_AT(scenario.step.variation.slow_gpus),
            {.note = "none"});
  keys.count("variation.slow_gpus[].node", "Number of the node, from 0.", "40", {0, 1'000'000},
             ORRERY_AT(scenario.step.variation.slow_gpus.back().node), {.required = true});
  keys.count("variation.slow_gpus[].gpu", "Number of the GPU in the node, from 0.", "1", {0, 1024},
             ORRERY_AT(scenario.step.variation.slow_gpus.back().gpu),
             {.note = "all GPUs of the node"});
  keys.value<kind::Number>("variation.slow_gpus[].factor", "How many times as long they compute.",
                           "1.25", between(1.0, 100.0),
                           ORRERY_AT(scenario.step.variation.slow_gpus.back().factor),
                           {.required = true});
}

void add_variation(Rows& keys) {
  keys.section("variation", "How unequal GPUs are; groups wait for their slowest.",
               "{gpu_sigma: 0.02, draws: 100}", {.note = "all GPUs of a type are alike"});
  keys.value<kind::Number>(
      "variation.gpu_sigma",
      "Standard deviation of the compute time between GPUs, relative to its mean.", "0.02",
      between(0.0, 0.3), ORRERY_AT(scenario.step.variation.gpu_sigma), {.fallback = "0"});
  keys.value<kind::Number>(
      "variation.node_sigma", "The same between nodes; the GPUs of a node share it.", "0.01",
      between(0.0, 0.3), ORRERY_AT(scenario.step.variation.node_sigma), {.fallback = "0"});
  keys.value<kind::Number>("variation.slow_share", "Share of GPUs that are slow beyond the spread.",
                           "0.001", between(0.0, 1.0),
                           ORRERY_AT(scenario.step.variation.slow_share), {.fallback = "0"});
  keys.value<kind::Number>(
      "variation.slow_factor", "How many times as long those compute.", "1.5", between(1.0, 100.0),
      ORRERY_AT(scenario.step.variation.slow_factor),
      {.fallback = "1.2",
       .idle = {ORRERY_WHEN(d.scenario.step.variation.slow_share == 0.0, "slow_share is 0")}});
  add_slow_gpus(keys);
  keys.count("variation.draws",
             "Sets of machines that are drawn; the step of the median one is shown, step_time has "
             "their quantiles.",
             "100", {1, 10'000}, ORRERY_AT(scenario.step.variation.draws),
             {.fallback = "1", .idle = {kNoSpread}});
  keys.count("variation.seed", "Start of their random streams.", "7",
             yaml::at_least<std::int64_t>(0), ORRERY_AT(scenario.step.variation.seed),
             {.fallback = "1", .idle = {kNoSpread}});
}

void add_supply(Rows& keys) {
  keys.section("data", "What is read for a step, and how documents fill it.",
               "{bytes_per_token: 4B, read_bandwidth: 1GB/s}",
               {.note = "input is always there, sequences are full"});
  keys.value<kind::Size>(
      "data.bytes_per_token",
      "Read from storage for one token: 2B or 4B of text, hundreds with images.", "2B",
      yaml::above(bytes(0.0)), ORRERY_AT(scenario.step.data.bytes_per_token),
      {.fallback = "4B",
       .idle = {ORRERY_WHEN(!d.scenario.step.data.read_bandwidth, "there is no read_bandwidth")}});
  keys.value<kind::Bandwidth>("data.read_bandwidth", "What one node reads from storage.", "1GB/s",
                              yaml::above(bytes_per_second(0.0)),
                              ORRERY_AT(scenario.step.data.read_bandwidth),
                              {.note = "never short"});
  keys.value<kind::Number>(
      "data.tokens_per_second", "What the loader processes of one node prepare.", "500000",
      yaml::above(0.0), ORRERY_AT(scenario.step.data.tokens_per_second), {.note = "never short"});
  keys.flag("data.prefetch", "The next batch is prepared while the step runs.", "false",
            ORRERY_AT(scenario.step.data.prefetch),
            {.fallback = "true",
             .idle = {ORRERY_WHEN(
                 !d.scenario.step.data.read_bandwidth && !d.scenario.step.data.tokens_per_second,
                 "the input is never short")}});
}

void add_documents(Rows& keys) {
  keys.choice<Packing>(
      "data.packing",
      "packed: documents follow one another and attend across their borders; masked: attention "
      "stays inside a document; padded: one document a sequence.",
      "masked",
      {{"packed", Packing::packed}, {"masked", Packing::masked}, {"padded", Packing::padded}},
      ORRERY_AT(scenario.step.data.packing), {.fallback = "packed"});
  keys.count("data.document_length",
             "Mean length of a document, tokens; those longer than a sequence are cut.", "1200",
             {1, std::int64_t{1} << 40U}, ORRERY_AT(scenario.step.data.document_length),
             {.note = "required by masked and padded",
              .idle = {ORRERY_WHEN(d.scenario.step.data.packing == Packing::packed,
                                   "packed documents attend across their borders")}});
  keys.value<kind::Number>("data.document_sigma",
                           "Deviation of the logarithm of a document's length; 0: all alike.",
                           "1.2", between(0.0, 3.0), ORRERY_AT(scenario.step.data.document_sigma),
                           {.fallback = "0",
                            .idle = {ORRERY_WHEN(!d.scenario.step.data.document_length,
                                                 "there is no document_length")}});
}

}  // namespace

void imperfection_keys(Rows& keys) {
  add_local_steps(keys);
  add_variation(keys);
  add_supply(keys);
  add_documents(keys);
}

}  // namespace orrery::scenario
