// Keys of axes beside the layout: `offload`.

#include <fmt/ranges.h>

#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/step/step_spec.hpp"

namespace orrery::scenario {

namespace {

using step::OffloadTarget;
using yaml::between;
namespace kind = yaml::kind;

constexpr Idle kNothingAway = ORRERY_WHEN(!d.scenario.step.offload.any(), "nothing is offloaded");
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
       .meaning = "Memory of one node's host that may be used; beyond it nothing fits.",
       .example = "1TB",
       .idle = {kNothingAway}},
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

// Keys of `local_steps`, `variation` and `data`: what is not alike, and what is not there in time.

namespace {

using step::Packing;

constexpr Idle kNoSpread = ORRERY_WHEN(!d.scenario.step.variation.drawn(), "no spread is stated");

void add_local_steps(std::vector<Key>& keys) {
  keys.push_back(section_key(
      {.path = "local_steps",
       .note = "all replicas meet in every step",
       .meaning = "Islands of replicas that train alone and meet in an outer step (DiLoCo).",
       .example = "{every: 500, islands: 8, rate: 1Gbps}"}));
  keys.push_back(count_key({.path = "local_steps.every",
                            .meaning = "Inner steps between two outer ones.",
                            .example = "500",
                            .required = true},
                           {1, 1'000'000}, ORRERY_AT(scenario.step.local_steps.every)));
  keys.push_back(count_key({.path = "local_steps.islands",
                            .meaning = "Islands; they divide the replicas (layout.data).",
                            .example = "8",
                            .required = true},
                           {2, 65'536}, ORRERY_AT(scenario.step.local_steps.islands)));
  keys.push_back(value_key<kind::Bandwidth>(
      {.path = "local_steps.rate",
       .note = "the NICs of one island",
       .meaning = "What one island sends to the next, one direction.",
       .example = "1Gbps"},
      yaml::above(bytes_per_second(0.0)), ORRERY_AT(scenario.step.local_steps.rate)));
  keys.push_back(value_key<kind::Time>(
      {.path = "local_steps.latency",
       .fallback = "0",
       .meaning = "One hop between islands; the ring takes 2 (islands - 1) of them.",
       .example = "80ms"},
      between(Seconds{}, hours(1.0)), ORRERY_AT(scenario.step.local_steps.latency)));
  keys.push_back(choice_key<double>(
      {.path = "local_steps.precision",
       .fallback = "fp32",
       .meaning = "Type of the parameters' differences on the wire.",
       .example = "int8"},
      {{"fp32", 32.0}, {"bf16", 16.0}, {"fp8", 8.0}, {"int8", 8.0}, {"int4", 4.0}},
      ORRERY_AT(scenario.step.local_steps.bits)));
  keys.push_back(flag_key({.path = "local_steps.overlap",
                           .fallback = "false",
                           .meaning = "The outer all-reduce streams beside the inner steps.",
                           .example = "true"},
                          ORRERY_AT(scenario.step.local_steps.overlap)));
}

void add_slow_gpus(std::vector<Key>& keys) {
  keys.push_back(list_key({.path = "variation.slow_gpus",
                           .note = "none",
                           .meaning = "GPUs that are slow, by place.",
                           .example = "[{node: 40, gpu: 1, factor: 1.25}]"},
                          ORRERY_AT(scenario.step.variation.slow_gpus)));
  keys.push_back(count_key({.path = "variation.slow_gpus[].node",
                            .meaning = "Number of the node, from 0.",
                            .example = "40",
                            .required = true},
                           {0, 1'000'000},
                           ORRERY_AT(scenario.step.variation.slow_gpus.back().node)));
  keys.push_back(count_key({.path = "variation.slow_gpus[].gpu",
                            .note = "all GPUs of the node",
                            .meaning = "Number of the GPU in the node, from 0.",
                            .example = "1"},
                           {0, 1024}, ORRERY_AT(scenario.step.variation.slow_gpus.back().gpu)));
  keys.push_back(value_key<kind::Number>(
      {.path = "variation.slow_gpus[].factor",
       .meaning = "How many times as long they compute.",
       .example = "1.25",
       .required = true},
      between(1.0, 100.0), ORRERY_AT(scenario.step.variation.slow_gpus.back().factor)));
}

void add_variation(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "variation",
                              .note = "all GPUs of a type are alike",
                              .meaning = "How unequal GPUs are; groups wait for their slowest.",
                              .example = "{gpu_sigma: 0.02, draws: 100}"}));
  keys.push_back(
      value_key<kind::Number>({.path = "variation.gpu_sigma",
                               .fallback = "0",
                               .meaning = "Standard deviation of the compute time between "
                                          "GPUs, relative to its mean.",
                               .example = "0.02"},
                              between(0.0, 0.3), ORRERY_AT(scenario.step.variation.gpu_sigma)));
  keys.push_back(
      value_key<kind::Number>({.path = "variation.node_sigma",
                               .fallback = "0",
                               .meaning = "The same between nodes; the GPUs of a node share it.",
                               .example = "0.01"},
                              between(0.0, 0.3), ORRERY_AT(scenario.step.variation.node_sigma)));
  keys.push_back(
      value_key<kind::Number>({.path = "variation.slow_share",
                               .fallback = "0",
                               .meaning = "Share of GPUs that are slow beyond the spread.",
                               .example = "0.001"},
                              between(0.0, 1.0), ORRERY_AT(scenario.step.variation.slow_share)));
  keys.push_back(value_key<kind::Number>(
      {.path = "variation.slow_factor",
       .fallback = "1.2",
       .meaning = "How many times as long those compute.",
       .example = "1.5",
       .idle = {ORRERY_WHEN(d.scenario.step.variation.slow_share == 0.0, "slow_share is 0")}},
      between(1.0, 100.0), ORRERY_AT(scenario.step.variation.slow_factor)));
  add_slow_gpus(keys);
  keys.push_back(count_key({.path = "variation.draws",
                            .fallback = "1",
                            .meaning = "Sets of machines that are drawn; the step of the "
                                       "median one is shown, step_time has their quantiles.",
                            .example = "100",
                            .idle = {kNoSpread}},
                           {1, 10'000}, ORRERY_AT(scenario.step.variation.draws)));
  keys.push_back(count_key({.path = "variation.seed",
                            .fallback = "1",
                            .meaning = "Start of their random streams.",
                            .example = "7",
                            .idle = {kNoSpread}},
                           yaml::at_least<std::int64_t>(0),
                           ORRERY_AT(scenario.step.variation.seed)));
}

void add_supply(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "data",
                              .note = "input is always there, sequences are full",
                              .meaning = "What is read for a step, and how documents fill it.",
                              .example = "{bytes_per_token: 4B, read_bandwidth: 1GB/s}"}));
  keys.push_back(value_key<kind::Size>(
      {.path = "data.bytes_per_token",
       .fallback = "4B",
       .meaning = "Read from storage for one token: 2B or 4B of text, hundreds with images.",
       .example = "2B",
       .idle = {ORRERY_WHEN(!d.scenario.step.data.read_bandwidth, "there is no read_bandwidth")}},
      yaml::above(bytes(0.0)), ORRERY_AT(scenario.step.data.bytes_per_token)));
  keys.push_back(value_key<kind::Bandwidth>({.path = "data.read_bandwidth",
                                             .note = "never short",
                                             .meaning = "What one node reads from storage.",
                                             .example = "1GB/s"},
                                            yaml::above(bytes_per_second(0.0)),
                                            ORRERY_AT(scenario.step.data.read_bandwidth)));
  keys.push_back(
      value_key<kind::Number>({.path = "data.tokens_per_second",
                               .note = "never short",
                               .meaning = "What the loader processes of one node prepare.",
                               .example = "500000"},
                              yaml::above(0.0), ORRERY_AT(scenario.step.data.tokens_per_second)));
  keys.push_back(flag_key({.path = "data.prefetch",
                           .fallback = "true",
                           .meaning = "The next batch is prepared while the step runs.",
                           .example = "false",
                           .idle = {ORRERY_WHEN(!d.scenario.step.data.read_bandwidth &&
                                                    !d.scenario.step.data.tokens_per_second,
                                                "the input is never short")}},
                          ORRERY_AT(scenario.step.data.prefetch)));
}

void add_documents(std::vector<Key>& keys) {
  keys.push_back(choice_key<Packing>(
      {.path = "data.packing",
       .fallback = "packed",
       .meaning = "packed: documents follow one another and attend across their borders; masked: "
                  "attention stays inside a document; padded: one document a sequence.",
       .example = "masked"},
      {{"packed", Packing::packed}, {"masked", Packing::masked}, {"padded", Packing::padded}},
      ORRERY_AT(scenario.step.data.packing)));
  keys.push_back(count_key(
      {.path = "data.document_length",
       .note = "required by masked and padded",
       .meaning = "Mean length of a document, tokens; those longer than a sequence are cut.",
       .example = "1200",
       .idle = {ORRERY_WHEN(d.scenario.step.data.packing == Packing::packed,
                            "packed documents attend across their borders")}},
      {1, std::int64_t{1} << 40U}, ORRERY_AT(scenario.step.data.document_length)));
  keys.push_back(value_key<kind::Number>(
      {.path = "data.document_sigma",
       .fallback = "0",
       .meaning = "Deviation of the logarithm of a document's length; 0: all alike.",
       .example = "1.2",
       .idle = {ORRERY_WHEN(!d.scenario.step.data.document_length, "there is no document_length")}},
      between(0.0, 3.0), ORRERY_AT(scenario.step.data.document_sigma)));
}

}  // namespace

std::vector<Key> imperfection_keys() {
  std::vector<Key> keys;
  add_local_steps(keys);
  add_variation(keys);
  add_supply(keys);
  add_documents(keys);
  return keys;
}

}  // namespace orrery::scenario
