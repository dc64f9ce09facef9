// Keys of `overlap`: which communication hides behind compute.

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/step/simulate/step_spec.hpp"

namespace orrery::scenario {

namespace {

using hardware::GradientReduction;
namespace kind = yaml::kind;

bool is_fully_sharded(const Draft& draft) {
  const layout::Sharding sharding = draft.scenario.layout.sharding;
  return sharding == layout::Sharding::zero3 || sharding == layout::Sharding::hsdp;
}

constexpr Idle kNoGradientsShared =
    ORRERY_WHEN(shares_no_gradients(d), "no rank shares its gradients (data x context is 1)");
constexpr Idle kNoGatherBackward = ORRERY_WHEN(is_fully_sharded(d) && !d.scenario.step.fsdp.reshard,
                                               "the backward gathers nothing (reshard: false)");
constexpr Idle kGivenStep =
    ORRERY_WHEN(d.scenario.step.given_time.has_value(), "step.time gives the time of a step");

void add_overlap(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "overlap",
                              .note = "data and pipeline",
                              .meaning = "Which communication may hide behind compute, where the "
                                         "software can do it.",
                              .example = "{data: true, tensor: true}"}));
  keys.push_back(flag_key({.path = "overlap.data",
                           .fallback = "true",
                           .meaning = "Gradient reduction and parameter gathering.",
                           .example = "false",
                           .idle = {kNoGradientsShared, kGivenStep}},
                          ORRERY_AT(scenario.step.overlap.data)));
  keys.push_back(flag_key({.path = "overlap.tensor",
                           .fallback = "false",
                           .meaning = "Tensor-parallel collectives behind their products, with "
                                      "layout.sequence_parallel.",
                           .example = "true",
                           .idle = {ORRERY_WHEN(d.scenario.layout.tensor == 1, "tensor is 1"),
                                    ORRERY_WHEN(!d.scenario.layout.sequence_parallel,
                                                "layout.sequence_parallel is false"),
                                    kGivenStep}},
                          ORRERY_AT(scenario.step.overlap.tensor)));
  keys.push_back(count_key(
      {.path = "overlap.tensor_chunks",
       .note = "the software's own share stays exposed",
       .meaning = "Chunks into which a tensor-parallel collective and its product are cut (with "
                  "overlap.tensor): only the first chunk of the wire is waited for, where products "
                  "are long enough. A ring has layout.tensor of them.",
       .example = "8",
       .idle = {ORRERY_WHEN(!d.scenario.step.overlap.tensor, "overlap.tensor is false")}},
      {1, 1024}, ORRERY_AT(scenario.step.overlap.tensor_chunks)));
  keys.push_back(flag_key(
      {.path = "overlap.pipeline",
       .fallback = "true",
       .meaning = "Sending and receiving of schedules other than 1f1b, "
                  "whose transfers the software profile describes.",
       .example = "false",
       .idle = {ORRERY_WHEN(d.scenario.layout.pipeline == 1, "pipeline is 1"),
                ORRERY_WHEN(d.scenario.layout.pipeline > 1 &&
                                d.scenario.step.schedule == schedule::ScheduleKind::one_f_one_b,
                            "the software profile says how 1f1b transfers"),
                kGivenStep}},
      ORRERY_AT(scenario.step.overlap.pipeline)));
  keys.push_back(flag_key(
      {.path = "overlap.expert",
       .note = "where the schedule is made for it",
       .meaning = "The experts' all-to-all: beside the other direction's compute in the combined "
                  "steps of dualpipe, dualpipev and interleaved_combined, elsewhere beside shared "
                  "experts and weight gradients.",
       .example = "true",
       .idle = {kNoExchange}},
      ORRERY_AT(scenario.step.overlap.expert)));
  keys.push_back(value_key<kind::Size>({.path = "overlap.bucket",
                                        .note = "one bucket per layer",
                                        .meaning = "Gradients of one data-parallel communication.",
                                        .example = "25MiB",
                                        .idle = {kNoGradientsShared}},
                                       yaml::at_least(bytes(1.0)),
                                       ORRERY_AT(scenario.step.bucket)));
  keys.push_back(choice_key<GradientReduction>(
      {.path = "overlap.reduction",
       .note = "as the software does it",
       .meaning = "Gradients are reduced once per step or after every micro-batch.",
       .example = "per_micro_batch",
       .idle = {kNoGradientsShared}},
      {{"per_step", GradientReduction::per_step},
       {"per_micro_batch", GradientReduction::per_micro_batch}},
      ORRERY_AT(scenario.step.reduction)));
}

void add_fsdp(std::vector<Key>& keys) {
  using schedule::BackwardPrefetch;
  keys.push_back(section_key(
      {.path = "overlap.fsdp",
       .note = "as the software does it",
       .meaning = "What sharding zero3 or hsdp does with its gathers and "
                  "reductions.",
       .example = "{backward_prefetch: after, reshard: false}",
       .idle = {ORRERY_WHEN(!is_fully_sharded(d), "sharding is neither zero3 nor hsdp")}}));
  keys.push_back(
      count_key({.path = "overlap.fsdp.prefetch",
                 .note = "as the software does it",
                 .meaning = "Layers that may be gathered ahead of the one that computes.",
                 .example = "2"},
                {0, 10'000}, ORRERY_AT(scenario.step.fsdp.prefetch)));
  keys.push_back(choice_key<BackwardPrefetch>(
      {.path = "overlap.fsdp.backward_prefetch",
       .fallback = "before",
       .meaning = "The gather for the next layer's backward starts before the running one "
                  "computes, after it and ahead of its reduction, or (none) behind that "
                  "reduction.",
       .example = "after",
       .idle = {kNoGatherBackward}},
      {{"before", BackwardPrefetch::before},
       {"after", BackwardPrefetch::after},
       {"none", BackwardPrefetch::none}},
      ORRERY_AT(scenario.step.fsdp.backward_prefetch)));
  keys.push_back(flag_key({.path = "overlap.fsdp.reshard",
                           .fallback = "true",
                           .meaning = "Gathered parameters are freed after the forward; else they "
                                      "stay and the backward gathers nothing.",
                           .example = "false"},
                          ORRERY_AT(scenario.step.fsdp.reshard)));
  keys.push_back(count_key(
      {.path = "overlap.fsdp.reshard_group",
       .note = "the shard group",
       .meaning = "After the forward, parameters stay split over that many neighbouring ranks, "
                  "from which the backward gathers (ZeRO++'s hierarchical partition).",
       .example = "8",
       .idle = {kNoGatherBackward}},
      {1, std::int64_t{1} << 24U}, ORRERY_AT(scenario.step.fsdp.reshard_group)));
  keys.push_back(flag_key({.path = "overlap.fsdp.quantized_weights",
                           .fallback = "false",
                           .meaning = "Parameters are gathered as int8 (ZeRO++).",
                           .example = "true"},
                          ORRERY_AT(scenario.step.fsdp.quantized_weights)));
  keys.push_back(flag_key({.path = "overlap.fsdp.quantized_gradients",
                           .fallback = "false",
                           .meaning = "Gradients cross as int4, first inside nodes, then between "
                                      "them (ZeRO++).",
                           .example = "true"},
                          ORRERY_AT(scenario.step.fsdp.quantized_gradients)));
}

}  // namespace

std::vector<Key> overlap_keys() {
  std::vector<Key> keys;
  add_overlap(keys);
  add_fsdp(keys);
  return keys;
}

}  // namespace orrery::scenario
