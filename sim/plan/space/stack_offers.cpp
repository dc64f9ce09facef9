#include "sim/plan/space/stack_offers.hpp"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "sim/layout/sharding_names.hpp"

namespace orrery::plan {

namespace {

using layout::Sharding;
using schedule::ScheduleKind;

constexpr std::array<StackOffer, 16> kOffers = {{
    {.stack = "megatron-lm",
     .splits = "tensor sequence",
     .shardings = "none zero1",
     .beside_pipeline = "none zero1",
     .source = "Narayanan et al. 2021 (arXiv 2104.04473) and Korthikanti et al. 2022 (2205.05198): "
               "1F1B, interleaved, selective and by layers, sequence parallelism; "
               "--use-distributed-optimizer"},
    {.stack = "megatron-core",
     .splits = "tensor sequence context",
     .exchange = "deepep hidden",
     .shardings = "none zero1 zero2 zero3 hsdp",
     .beside_pipeline = "none zero1",
     .source = "Megatron Core developer guide: the distributed optimizer with "
               "--num-distributed-optimizer-instances; Megatron FSDP (optim_grads, "
               "optim_grads_params) beside tensor, expert and context parallelism; "
               "--sequence-parallel, --context-parallel-size; --moe-enable-deepep, "
               "--overlap-moe-expert-parallel-comm with virtual stages"},
    {.stack = "nemo",
     .splits = "tensor sequence context",
     .exchange = "deepep hidden",
     .shardings = "none zero1 zero2 zero3 hsdp",
     .beside_pipeline = "none zero1",
     .source = "runs Megatron Core"},
    {.stack = "megatron-bridge",
     .splits = "tensor sequence context",
     .exchange = "deepep hidden",
     .shardings = "none zero1 zero2 zero3 hsdp",
     .beside_pipeline = "none zero1",
     .source = "runs Megatron Core"},
    {.stack = "megatron-deepspeed",
     .splits = "tensor",
     .chunks = false,
     .shardings = "none zero1 zero2 zero3",
     .beside_pipeline = "none zero1",
     .selective = false,
     .layers = false,
     .source = "DeepSpeed runtime/pipe/engine.py: \"ZeRO-2 and ZeRO-3 are incompatible with "
               "pipeline parallelism\"; its TrainSchedule is 1F1B; --checkpoint-activations; "
               "bigscience-workshop/Megatron-DeepSpeed, megatron/arguments.py: degrees of tensor "
               "and pipeline parallelism, no --sequence-parallel, no --context-parallel-size"},
    {.stack = "meta-llama3",
     .splits = "tensor sequence context",
     .shardings = "zero2 zero3",
     .beside_pipeline = "zero2 zero3",
     .source = "Llama 3 (arXiv 2407.21783), section 3.3.2: FSDP shards optimizer states and "
               "gradients, and does not reshard parameters before the backward; tensor "
               "parallelism after Korthikanti et al. (with sequence parallelism), context "
               "parallelism by all-gather"},
    {.stack = "torchtitan",
     .splits = "tensor sequence context",
     .shardings = "none zero2 zero3 hsdp",
     .beside_pipeline = "none zero2 zero3 hsdp",
     .layers = false,
     .source = "Liang et al. 2024 (arXiv 2410.06511): FSDP2, HSDP and DDP; 1F1B and interleaved; "
               "activation checkpointing full or selective; tensor with sequence parallelism, "
               "context parallelism"},
    {.stack = "automodel",
     .splits = "tensor sequence context",
     .shardings = "none zero2 zero3 hsdp",
     .beside_pipeline = "none zero2 zero3 hsdp",
     .layers = false,
     .source = "NeMo AutoModel documentation: FSDP2 and HSDP, tensor, context, pipeline and expert "
               "parallelism of torch.distributed; activation checkpointing"},
    {.stack = "llm-foundry",
     .pipeline = false,
     .chunks = false,
     .shardings = "none zero2 zero3 hsdp",
     .selective = false,
     .layers = false,
     .source = "Composer documentation of 2023: FSDP alone, FULL_SHARD, SHARD_GRAD_OP, "
               "HYBRID_SHARD, NO_SHARD; "
               "activation checkpointing of whole blocks"},
    {.stack = "metaseq",
     .splits = "tensor",
     .pipeline = false,
     .chunks = false,
     .shardings = "none zero2 zero3",
     .selective = false,
     .layers = false,
     .source = "OPT (arXiv 2205.01068), section 2.4: fairscale FSDP with Megatron's tensor "
               "parallelism"},
    {.stack = "pytorch-ddp",
     .pipeline = false,
     .chunks = false,
     .shardings = "none",
     .layers = false,
     .source = "PyTorch DistributedDataParallel: replicas"},
    {.stack = "internevo",
     .splits = "tensor sequence",
     .shardings = "none zero1 zero3",
     .beside_pipeline = "none zero1",
     .selective = false,
     .source =
         "InternEvo documentation: parallel.tensor with modes mtp and msp (sequence "
         "parallelism) or fsp and isp, parallel.zero1 with its size, pipeline.interleaved_overlap, "
         "model.checkpoint as a share of the layers; weight parallelism"},
    {.stack = "hai-llm",
     .splits = "tensor sequence",
     .exchange = "deepep hidden",
     .shardings = "none zero1",
     .beside_pipeline = "none zero1",
     .source =
         "DeepSeek-V3 (arXiv 2412.19437), section 3.2: DualPipe, ZeRO-1, all-to-all over nodes "
         "behind compute; DeepSeek LLM (2401.02954), section 2.4: tensor and sequence "
         "parallelism"},
    {.stack = "nanochat",
     .pipeline = false,
     .chunks = false,
     .shardings = "none zero1 zero2",
     .selective = false,
     .layers = false,
     .source = "nanochat/optim.py at commit 348fbb3: gradients reduce-scattered, states sharded, "
               "parameters gathered; data parallelism only"},
    {.stack = "nanotron",
     .splits = "tensor sequence context",
     .chunks = false,
     .shardings = "none zero1",
     .beside_pipeline = "none zero1",
     .selective = false,
     .layers = false,
     .source = "nanotron: 1F1B and all-forward-all-backward, optimizer.zero_stage 0 or 1, "
               "recompute_layer; config/parallelism_config.py: tp_mode reduce_scatter (sequence "
               "parallelism), context_parallel_size"},
    {.stack = "smp-mics",
     .pipeline = false,
     .chunks = false,
     .shardings = "none zero3 hsdp",
     .selective = false,
     .layers = false,
     .source = "BloombergGPT (arXiv 2303.17564), section 3.3: ZeRO-3 by sharded data parallelism, "
               "within groups (MiCS); activation checkpointing"},
}};

std::string names_of(const std::vector<Sharding>& shardings) {
  std::string names;
  for (const Sharding sharding : shardings) {
    names += fmt::format("{}{}",
                         names.empty() ? "" : ", ",
                         sharding == Sharding::none ? "no sharding" : name_of(sharding));
  }
  return names;
}

bool has_word(std::string_view words, std::string_view word) {
  return words.find(word) != std::string_view::npos;
}

}  // namespace

bool StackOffer::offers(Sharding sharding, bool with_pipeline) const {
  return has_word(with_pipeline ? beside_pipeline : shardings, name_of(sharding));
}

bool StackOffer::offers(ScheduleKind schedule) const {
  return schedule == ScheduleKind::none ||
         (pipeline && (chunks || schedule != ScheduleKind::interleaved));
}

bool StackOffer::offers(Axis axis) const {
  switch (axis) {
    case Axis::tensor:
      return has_word(splits, "tensor");
    case Axis::sequence_parallel:
      return has_word(splits, "sequence");
    case Axis::context:
      return has_word(splits, "context");
    case Axis::expert_dispatcher:
      return has_word(exchange, "deepep");
    case Axis::expert_overlap:
      return has_word(exchange, "hidden");
    default:
      return true;
  }
}

const StackOffer* offer_of(std::string_view stack) {
  const StackOffer* best = nullptr;
  for (const StackOffer& offer : kOffers) {
    if (stack.starts_with(offer.stack) &&
        (best == nullptr || best->stack.size() < offer.stack.size())) {
      best = &offer;
    }
  }
  return best;
}

std::vector<std::string> lacks_of(const StackOffer& offer, const PlanSpec& spec, bool mixture) {
  std::vector<std::string> lacks;
  const auto add = [&](Axis axis, bool offered, std::string words) {
    if (!offered && spec[axis].mode == AxisChoice::Mode::automatic) {
      lacks.push_back(std::move(words));
    }
  };
  add(Axis::tensor, offer.offers(Axis::tensor), "tensor parallelism");
  add(Axis::sequence_parallel,
      !offer.offers(Axis::tensor) || offer.offers(Axis::sequence_parallel),
      "sequence parallelism");
  add(Axis::context, offer.offers(Axis::context), "context parallelism");
  add(Axis::expert_dispatcher, !mixture || offer.offers(Axis::expert_dispatcher), "DeepEP");
  add(Axis::expert_overlap,
      !mixture || offer.offers(Axis::expert_overlap),
      "that exchange behind compute");
  add(Axis::schedule, offer.pipeline, "pipelines");
  add(Axis::schedule, offer.chunks || !offer.pipeline, "interleaved schedules");
  std::vector<Sharding> never;
  std::vector<Sharding> alone;
  for (std::size_t i = 0; i < layout::kShardingNames.size(); ++i) {
    const auto sharding = static_cast<Sharding>(i);
    if (!offer.offers(sharding, false)) {
      never.push_back(sharding);
    } else if (offer.pipeline && !offer.offers(sharding, true)) {
      alone.push_back(sharding);
    }
  }
  add(Axis::sharding, never.empty(), names_of(never));
  add(Axis::sharding, alone.empty(), names_of(alone) + " beside a pipeline");
  add(Axis::recompute, offer.selective, "selective recomputation");
  add(Axis::recompute, offer.layers, "recomputation of some layers");
  return lacks;
}

}  // namespace orrery::plan
