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
constexpr Idle kNoTensorBuckets =
    ORRERY_WHEN(d.scenario.layout.sharding != layout::Sharding::none,
                "gradients of sharded states are reduced by whole layers");
constexpr Idle kNoGatherBackward = ORRERY_WHEN(is_fully_sharded(d) && !d.scenario.step.fsdp.reshard,
                                               "the backward gathers nothing (reshard: false)");
constexpr Idle kGivenStep =
    ORRERY_WHEN(d.scenario.step.given_time.has_value(), "step.time gives the time of a step");

void add_overlap(Rows& keys) {
  keys.section("overlap",
               "Which communication may hide behind compute, where the software can do it.",
               "{data: true, tensor: true}", {.note = "data and pipeline"});
  keys.flag("overlap.data", "Gradient reduction and parameter gathering.", "false",
            ORRERY_AT(scenario.step.overlap.data),
            {.fallback = "true", .idle = {kNoGradientsShared, kGivenStep}});
  keys.flag("overlap.tensor",
            "Tensor-parallel collectives behind their products, with layout.sequence_parallel.",
            "true", ORRERY_AT(scenario.step.overlap.tensor),
            {.fallback = "false",
             .idle = {ORRERY_WHEN(d.scenario.layout.tensor == 1, "tensor is 1"),
                      ORRERY_WHEN(!d.scenario.layout.sequence_parallel,
                                  "layout.sequence_parallel is false"),
                      kGivenStep}});
  keys.count("overlap.tensor_chunks",
             "Chunks into which a tensor-parallel collective and its product are cut (with "
             "overlap.tensor): only the first chunk of the wire is waited for, where products are "
             "long enough. A ring has layout.tensor of them.",
             "8", {1, 1024}, ORRERY_AT(scenario.step.overlap.tensor_chunks),
             {.note = "the software's own share stays exposed",
              .idle = {ORRERY_WHEN(!d.scenario.step.overlap.tensor, "overlap.tensor is false")}});
  keys.flag(
      "overlap.pipeline",
      "Sending and receiving of schedules other than 1f1b, whose transfers the software profile "
      "describes.",
      "false", ORRERY_AT(scenario.step.overlap.pipeline),
      {.fallback = "true",
       .idle = {ORRERY_WHEN(d.scenario.layout.pipeline == 1, "pipeline is 1"),
                ORRERY_WHEN(d.scenario.layout.pipeline > 1 &&
                                d.scenario.step.schedule == schedule::ScheduleKind::one_f_one_b,
                            "the software profile says how 1f1b transfers"),
                kGivenStep}});
  keys.flag("overlap.expert",
            "The experts' all-to-all: beside the other direction's compute in the combined steps "
            "of dualpipe, dualpipev and interleaved_combined, elsewhere beside shared experts and "
            "weight gradients.",
            "true", ORRERY_AT(scenario.step.overlap.expert),
            {.note = "where the schedule is made for it", .idle = {kNoExchange}});
  keys.value<kind::Size>("overlap.bucket",
                         "Gradients of one data-parallel communication: whole layers, with "
                         "sharding none parameter tensors in backward order until they are so much "
                         "(PyTorch's bucket_cap_mb).",
                         "25MiB", yaml::at_least(bytes(1.0)), ORRERY_AT(scenario.step.bucket),
                         {.aliases = {"bucket_cap_mb", "ddp_bucket_cap_mb", "fusion_threshold"},
                          .note = "one bucket per layer",
                          .idle = {kNoGradientsShared}});
  keys.value<kind::Size>("overlap.first_bucket",
                         "The first of a backward, with sharding none: reduced sooner where it is "
                         "smaller than the others.",
                         "1MiB", yaml::at_least(bytes(1.0)), ORRERY_AT(scenario.step.first_bucket),
                         {.note = "as the others", .idle = {kNoGradientsShared, kNoTensorBuckets}});
  keys.value<kind::Time>("overlap.cycle",
                         "Time between two looks for gradients that are ready (Horovod's cycle "
                         "time): a bucket holds what a cycle brings, overlap.bucket at most, and "
                         "the last waits half a cycle in the mean.",
                         "1ms", kPositiveSpan, ORRERY_AT(scenario.step.cycle),
                         {.aliases = {"cycle_time", "horovod_cycle_time"},
                          .note = "reduced when they are ready",
                          .idle = {kNoGradientsShared, kNoTensorBuckets}});
  keys.choice<GradientReduction>("overlap.reduction",
                                 "Gradients are reduced once per step or after every micro-batch.",
                                 "per_micro_batch",
                                 {{"per_step", GradientReduction::per_step},
                                  {"per_micro_batch", GradientReduction::per_micro_batch}},
                                 ORRERY_AT(scenario.step.reduction),
                                 {.note = "as the software does it", .idle = {kNoGradientsShared}});
}

void add_fsdp(Rows& keys) {
  using schedule::BackwardPrefetch;
  keys.section("overlap.fsdp", "What sharding zero3 or hsdp does with its gathers and reductions.",
               "{backward_prefetch: after, reshard: false}",
               {.note = "as the software does it",
                .idle = {ORRERY_WHEN(!is_fully_sharded(d), "sharding is neither zero3 nor hsdp")}});
  keys.count("overlap.fsdp.prefetch", "Layers that may be gathered ahead of the one that computes.",
             "2", {0, 10'000}, ORRERY_AT(scenario.step.fsdp.prefetch),
             {.note = "as the software does it"});
  keys.choice<BackwardPrefetch>(
      "overlap.fsdp.backward_prefetch",
      "The gather for the next layer's backward starts before the running one computes, after it "
      "and ahead of its reduction, or (none) behind that reduction.",
      "after",
      {{"before", BackwardPrefetch::before},
       {"after", BackwardPrefetch::after},
       {"none", BackwardPrefetch::none}},
      ORRERY_AT(scenario.step.fsdp.backward_prefetch),
      {.fallback = "before", .idle = {kNoGatherBackward}});
  keys.flag("overlap.fsdp.reshard",
            "Gathered parameters are freed after the forward; else they stay and the backward "
            "gathers nothing.",
            "false", ORRERY_AT(scenario.step.fsdp.reshard), {.fallback = "true"});
  keys.count("overlap.fsdp.reshard_group",
             "After the forward, parameters stay split over that many neighbouring ranks, from "
             "which the backward gathers (ZeRO++'s hierarchical partition).",
             "8", {1, std::int64_t{1} << 24U}, ORRERY_AT(scenario.step.fsdp.reshard_group),
             {.note = "the shard group", .idle = {kNoGatherBackward}});
  keys.flag("overlap.fsdp.quantized_weights", "Parameters are gathered as int8 (ZeRO++).", "true",
            ORRERY_AT(scenario.step.fsdp.quantized_weights), {.fallback = "false"});
  keys.flag("overlap.fsdp.quantized_gradients",
            "Gradients cross as int4, first inside nodes, then between them (ZeRO++).", "true",
            ORRERY_AT(scenario.step.fsdp.quantized_gradients), {.fallback = "false"});
}

}  // namespace

void overlap_keys(Rows& keys) {
  add_overlap(keys);
  add_fsdp(keys);
}

}  // namespace orrery::scenario
