// Keys of axes beside the layout: `offload`.

#include <fmt/ranges.h>

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

Key offload_target(KeyText text, Lens<OffloadTarget> lens) {
  return choice_key<OffloadTarget>(
      std::move(text),
      {{"none", OffloadTarget::none}, {"cpu", OffloadTarget::cpu}, {"nvme", OffloadTarget::nvme}},
      std::move(lens));
}

Key offload_rate(KeyText text, Lens<BytesPerSecond> lens) {
  return value_key<kind::Bandwidth>(std::move(text), yaml::above(bytes_per_second(0.0)),
                                    std::move(lens));
}

std::vector<std::string_view> offload_words() {
  std::vector<std::string_view> words;
  for (const model::OffloadModuleWord& word : model::kOffloadModuleWords) {
    words.push_back(word.name);
  }
  return words;
}

void add_offload_targets(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "offload",
                              .note = "everything stays on the GPU",
                              .meaning = "What waits in host memory or on NVMe between its uses.",
                              .example = "{optimizer: cpu, activations: 0.5}"}));
  keys.push_back(offload_target(
      {.path = "offload.optimizer",
       .fallback = "none",
       .meaning = "Where the optimizer's state lives; the host then updates the parameters.",
       .example = "cpu"},
      ORRERY_AT(scenario.step.offload.optimizer)));
  keys.push_back(
      offload_target({.path = "offload.parameters",
                      .fallback = "none",
                      .meaning = "Where the 16-bit parameters live; every pass copies its own in.",
                      .example = "nvme"},
                     ORRERY_AT(scenario.step.offload.parameters)));
  keys.push_back(value_key<kind::Number>(
      {.path = "offload.activations",
       .fallback = "0",
       .meaning = "Share of the layers' kept activations that waits in host memory.",
       .example = "0.5"},
      between(0.0, 1.0), ORRERY_AT(scenario.step.offload.activations)));
  keys.push_back(words_key(
      {.path = "offload.modules",
       .aliases = {"offload_modules"},
       .note = "a share of all: offload.activations",
       .meaning = "Modules whose input waits in host memory, by Megatron-Core's names: attn_norm "
                  "and mlp_norm the residual stream, qkv_linear the norm's result, core_attn Q, K "
                  "and V, attn_proj the core's output, expert_fc1 the experts' rows, moe_act what "
                  "their activation starts from.",
       .example = "[core_attn, attn_proj]",
       .idle = {ORRERY_WHEN(!d.scenario.model.moe && (d.scenario.step.offload.modules.expert_fc1 ||
                                                      d.scenario.step.offload.modules.moe_act),
                            "expert_fc1, moe_act: the model is dense")}},
      offload_words(), [](Draft& draft) { draft.scenario.step.offload.modules = {}; },
      [](Draft& draft, std::size_t word) {
        draft.scenario.step.offload.modules.*model::kOffloadModuleWords[word].member = true;
      }));
  keys.back().print = [](Draft& draft) -> std::optional<std::string> {
    std::vector<std::string_view> chosen;
    for (const model::OffloadModuleWord& word : model::kOffloadModuleWords) {
      if (draft.scenario.step.offload.modules.*word.member) {
        chosen.push_back(word.name);
      }
    }
    return chosen.empty() ? std::nullopt
                          : std::optional(fmt::format("[{}]", fmt::join(chosen, ", ")));
  };
}

void add_offload_rates(std::vector<Key>& keys) {
  keys.push_back(offload_rate({.path = "offload.link",
                               .note = "host_bandwidth of the GPU profile",
                               .meaning = "Copies between one GPU and its host, each direction.",
                               .example = "25GB/s",
                               .idle = {kNothingAway}},
                              ORRERY_AT(scenario.step.offload.link)));
  keys.push_back(
      offload_rate({.path = "offload.host_bandwidth",
                    .note = "117GB/s, what the CPU Adam of ZeRO-Offload moves",
                    .meaning = "Memory traffic that the host of one node reaches in the update; "
                               "its GPUs share it.",
                    .example = "250GB/s",
                    .idle = {kNothingAway}},
                   ORRERY_AT(scenario.step.offload.host_bandwidth)));
  keys.push_back(offload_rate({.path = "offload.nvme_read",
                               .note = "required where something lives on nvme",
                               .meaning = "Reads of all drives of one node.",
                               .example = "25GB/s",
                               .idle = {kNothingOnNvme}},
                              ORRERY_AT(scenario.step.offload.nvme_read)));
  keys.push_back(offload_rate({.path = "offload.nvme_write",
                               .note = "required where something lives on nvme",
                               .meaning = "Writes of all drives of one node.",
                               .example = "12GB/s",
                               .idle = {kNothingOnNvme}},
                              ORRERY_AT(scenario.step.offload.nvme_write)));
  keys.push_back(value_key<kind::Size>(
      {.path = "offload.host_memory",
       .note = "not checked",
       .meaning =
           "Memory of one node's host that may be used, for what is offloaded and the copies of "
           "asynchronous saves; beyond it nothing fits.",
       .example = "1TB",
       .idle = {kNothingInHostMemory}},
      yaml::above(bytes(0.0)), ORRERY_AT(scenario.step.offload.host_memory)));
  keys.push_back(
      flag_key({.path = "offload.overlap",
                .fallback = "true",
                .meaning = "Copies run beside the passes, and the update beside its own copies.",
                .example = "false",
                .idle = {kNothingAway}},
               ORRERY_AT(scenario.step.offload.overlap)));
}

}  // namespace

std::vector<Key> axis_keys() {
  std::vector<Key> keys;
  add_offload_targets(keys);
  add_offload_rates(keys);
  return keys;
}

}  // namespace orrery::scenario
