// FSDP as the Trainer, Accelerate and Axolotl state it.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "sim/base/text/text.hpp"
#include "sim/base/units.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

// FSDP1 gathers nothing ahead in the backward unless it is told to (transformers/training_args.py,
// accelerate/utils/dataclasses.py); FSDP2 always does.
void read_prefetch(Import& import, bool second) {
  const auto name =
      first_of(import, {"fsdp_config.fsdp_backward_prefetch", "fsdp_config.backward_prefetch"});
  const auto said = import.keys.text(name);
  const std::string word = lower_case(said.value_or("NO_PREFETCH"));
  if (second || import.draft.is("layout.sharding", "none")) {
    return;
  }
  constexpr std::string_view kTarget = "overlap.fsdp.backward_prefetch";
  if (said && !word.ends_with("pre") && !word.ends_with("post") && !word.starts_with("no")) {
    import.leave_unknown(kTarget, name);
    return;
  }
  import.draft.set(kTarget,
                   word.ends_with("pre")    ? "before"
                   : word.ends_with("post") ? "after"
                                            : "none",
                   said ? read_from(*import.keys.find(name))
                        : default_of(import, "backward_prefetch is NO_PREFETCH"));
}

// Copies of a group that shares the parameters: HSDP. Whether there are any. With FSDP the ranks
// that the copies leave share them, unless the file says how many do.
bool read_copies(Import& import, bool fsdp) {
  SourceKeys& keys = import.keys;
  constexpr std::string_view kParallel = "parallelism_config.parallelism_config_";
  const auto name = [&](std::string_view key) {
    return keys.find(key) != nullptr ? std::string(key) : fmt::format("{}{}", kParallel, key);
  };
  const auto copies = keys.count(name("dp_replicate_size"));
  const auto shard = keys.count(name("dp_shard_size"));
  const bool copied = copies.value_or(1) > 1 && (shard ? *shard > 1 : fsdp);
  if (copied) {
    import.pending.fsdp = true;
    import.pending.replicate =
        PendingCount{*copies, read_from(*keys.find(name("dp_replicate_size")))};
    if (shard) {
      import.pending.shard = PendingCount{*shard, read_from(*keys.find(name("dp_shard_size")))};
    }
  }
  return copied;
}

void read_offload(Import& import, bool optional) {
  if (optional) {
    import.set("offload.optimizer", "cpu", "fsdp");
    import.set("offload.parameters", "cpu", "fsdp");
  }
  for (const std::string_view name :
       {"fsdp_config.fsdp_offload_params", "fsdp_config.offload_params",
        "fsdp_config.fsdp_cpu_offload"}) {
    if (import.on(name)) {
      import.set("offload.optimizer", "cpu", name);
      import.set("offload.parameters", "cpu", name);
    }
  }
}

// Of a section over those of `fsdp`; of two the one that says no.
std::pair<std::string, const SourceItem*> named_strategy(SourceKeys& keys,
                                                         const std::string& options) {
  std::string strategy = options;
  const SourceItem* from = keys.find("fsdp");
  for (const std::string_view name :
       {"fsdp_config.fsdp_sharding_strategy", "fsdp_config.sharding_strategy",
        "fsdp_config.fsdp_reshard_after_forward", "fsdp_config.reshard_after_forward"}) {
    const auto text = keys.text(name);
    if (text && (strategy == options || lower_case(*text) == "false")) {
      strategy = lower_case(*text);
      from = keys.find(name);
    }
  }
  return {strategy, from};
}

}  // namespace

// FULL_SHARD or 1, SHARD_GRAD_OP or 2, NO_SHARD or 3, HYBRID_SHARD or 4, HYBRID_SHARD_ZERO2 or 5,
// which keeps the gathered weights; of FSDP2 true and false.
void read_fsdp(Import& import) {
  SourceKeys& keys = import.keys;
  const auto type = keys.text("distributed_type");
  std::string options;
  for (const std::string& option : keys.texts("fsdp")) {
    options += lower_case(option) + " ";
  }
  if (options == "true " || options == "false ") {
    options = options == "true " ? "full_shard" : "";
  } else if (options.ends_with(".json ")) {  // of ms-swift: a file of Accelerate
    import.draft.leave_open("layout.sharding", *keys.find("fsdp"),
                            "give that file as a further one");
    options.clear();
  }
  const auto second = first_of(import, {"fsdp_config.fsdp_version", "fsdp_version"});
  const auto [strategy, from] = named_strategy(keys, options);
  const auto is = [&strategy = strategy](std::string_view word, std::string_view digit) {
    return strategy.find(word) != std::string::npos || strategy == digit;
  };
  const bool half = is("hybrid_shard_zero2", "5");
  const bool hybrid = half || is("hybrid_shard", "4");
  const bool kept = strategy == "false" || half;
  const bool new_one =
      keys.count(second).value_or(1) == 2 || strategy == "false" || strategy == "true";
  const auto& items = keys.items();
  const bool section = std::any_of(items.begin(), items.end(), [](const SourceItem& item) {
    return item.path.starts_with("fsdp_config.") && item.path != "fsdp_config.fsdp_version";
  });
  const bool asked = import.on("use_fsdp");
  const bool fsdp =
      asked || hybrid || (type && *type == "FSDP") || !strategy.empty() || (!type && section);
  const bool shards = read_copies(import, fsdp) || fsdp;
  if (!strategy.empty() && from != nullptr && !new_one && !hybrid && !is("full_shard", "1") &&
      !is("shard_grad_op", "2") && !is("no_shard", "3")) {
    keys.error(*from, fmt::format("{} is no strategy of FSDP", yaml::display(strategy)),
               "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, HYBRID_SHARD_ZERO2");
    return;
  }
  if (shards && kept) {
    import.draft.set("overlap.fsdp.reshard", false, read_from(*from));
  }
  if (import.pending.replicate) {
    read_prefetch(import, new_one);
  } else if (hybrid) {
    import.pending.fsdp = true;
    import.pending.per_host = derived_from(*from, "the ranks of a host share them");
    read_prefetch(import, new_one);
  } else if (shards) {
    import.draft.set(
        "layout.sharding",
        is("no_shard", "3")        ? "none"
        : is("shard_grad_op", "2") ? "zero2"
                                   : "zero3",
        from != nullptr ? read_from(*from) : default_of(import, "FSDP shards the parameters"));
    read_prefetch(import, new_one);
  } else if (type && (*type == "MULTI_GPU" || *type == "NO")) {
    import.set("layout.sharding", "none", "distributed_type");
  } else if (type && *type != "DEEPSPEED") {
    keys.error(*keys.find("distributed_type"), fmt::format("{} is not read", yaml::display(*type)),
               "NO, MULTI_GPU, FSDP, DEEPSPEED; of Megatron its own arguments");
  }
  read_offload(import, options.find("offload") != std::string::npos);
}

// ds_config.json: batch, ZeRO, offload. The model and the other degrees are not in it.
//
// Meaning and defaults of the keys: DeepSpeed configuration documentation
// (deepspeed.ai/docs/config-json).
namespace {

// The three figures of a batch are bound: train = micro x accumulation x data-parallel ranks.
void read_batch(Import& import) {
  SourceKeys& keys = import.keys;
  const auto train = copy_count(import, "train_batch_size", "batch.global");
  const auto micro = copy_count(import, "train_micro_batch_size_per_gpu", "batch.micro");
  keep_count(import, "gradient_accumulation_steps", import.pending.accumulation, "batch.global");
  const auto steps = keys.count("gradient_accumulation_steps");
  if (!train || !micro || !steps) {
    return;
  }
  const SourceItem& item = *keys.find("train_batch_size");
  const bool tiny = *micro > 0 && *steps > 0 && *train > 0;
  const bool large = !tiny || *steps > *train || *micro > *train / *steps;
  if (large || *train % (*micro * *steps) != 0) {
    keys.error(item, fmt::format("{} is no multiple of train_micro_batch_size_per_gpu x "
                                 "gradient_accumulation_steps = {} x {}",
                                 *train, *micro, *steps));
    return;
  }
  import.pending.data =
      PendingCount{*train / (*micro * *steps),
                   derived_from(item, fmt::format("{} / ({} x {})", *train, *micro, *steps))};
}

void read_zero_stage(Import& import) {
  SourceKeys& keys = import.keys;
  const auto stage = keys.count("zero_optimization.stage");
  const SourceItem* item = keys.find("zero_optimization.stage");
  if (!stage) {
    if (item != nullptr) {
      import.draft.leave_open("layout.sharding", *item, unread_reason(item->value));
    } else {
      import.usual("layout.sharding", "none", "without a stage no ZeRO");
    }
    return;
  }
  constexpr std::array<std::string_view, 4> kStages = {"none", "zero1", "zero2", "zero3"};
  if (*stage >= static_cast<std::int64_t>(kStages.size())) {
    keys.error(*item, fmt::format("{} is no stage of ZeRO", *stage), "0 to 3");
    return;
  }
  const auto group = keys.count("zero_optimization.mics_shard_size");
  if (group && *group > 0) {
    import.set("layout.sharding", "hsdp", "zero_optimization.mics_shard_size");
    copy_count(import, "zero_optimization.mics_shard_size", "layout.shard_group");
    return;
  }
  import.draft.set("layout.sharding", std::string(kStages[static_cast<std::size_t>(*stage)]),
                   read_from(*item));
  if (*stage == 3) {
    constexpr std::string_view kKept = "zero_optimization.stage3_param_persistence_threshold";
    constexpr double kOfAMatrix = 10.0 * kMega;
    const SourceItem* kept = keys.find(kKept);
    if (kept != nullptr && std::strtod(kept->value.text.c_str(), nullptr) > kOfAMatrix) {
      leave_out(import, kKept, Effect::large,
                "parameters up to this size stay whole on every rank, as at stage 2",
                "layout.sharding");
    }
    const auto partition = keys.count("zero_optimization.zero_hpz_partition_size");
    if (partition && *partition > 1) {
      copy_count(import, "zero_optimization.zero_hpz_partition_size", "overlap.fsdp.reshard_group");
    }
    if (import.on("zero_optimization.zero_quantized_weights")) {
      copy_flag(import, "zero_optimization.zero_quantized_weights",
                "overlap.fsdp.quantized_weights");
    }
    if (import.on("zero_optimization.zero_quantized_gradients")) {
      copy_flag(import, "zero_optimization.zero_quantized_gradients",
                "overlap.fsdp.quantized_gradients");
    }
  }
}

// Without a section of its own for a type DeepSpeed trains in fp32.
void read_precision(Import& import) {
  SourceKeys& keys = import.keys;
  bool stated = false;
  for (const std::string_view name : {"bf16", "fp16", "bfloat16"}) {
    const std::string path = fmt::format("{}.enabled", name);
    const auto on = keys.flag(path);
    import.pending.full_precision |= on.has_value() && !*on;  // unless another is on
    import.pending.no_short_type |= on.has_value();
    const SourceItem* item = keys.find(path);
    stated |= item != nullptr;
    if (on.value_or(false)) {
      import.draft.set("precision.compute", name == "fp16" ? "fp16" : "bf16", read_from(*item));
    } else if (item != nullptr && item->unread) {
      import.draft.leave_open("precision.compute", *item, unread_reason(item->value));
    }
  }
  import.pending.full_precision |= !stated;
}

void read_offload(Import& import) {
  SourceKeys& keys = import.keys;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kParts = {
      {{"offload_optimizer", "offload.optimizer"}, {"offload_param", "offload.parameters"}}};
  for (const auto& [name, target] : kParts) {
    const std::string path = fmt::format("zero_optimization.{}.device", name);
    const auto device = keys.text(path);
    if (!device || *device == "none") {
      continue;
    }
    if (*device != "cpu" && *device != "nvme") {
      keys.error(*keys.find(path), fmt::format("{} is no place for it", yaml::display(*device)),
                 "none, cpu, nvme");
      continue;
    }
    import.set(target, *device, path);
    if (*device == "nvme") {
      for (const std::string_view rate : {"offload.nvme_read", "offload.nvme_write"}) {
        import.draft.leave_open(rate, *keys.find(path), "the drives' rates are not in the file");
      }
    }
  }
}

}  // namespace

void read_zero(Import& import) {
  SourceKeys& keys = import.keys;
  read_zero_stage(import);
  read_offload(import);
  const auto overlap = copy_flag(import, "zero_optimization.overlap_comm", "overlap.data");
  if (!overlap && !import.draft.is("layout.sharding", "none") &&
      !keys.is_unread("zero_optimization.overlap_comm")) {
    const bool third =
        import.draft.is("layout.sharding", "zero3") || import.draft.is("layout.sharding", "hsdp");
    import.usual(
        "overlap.data", third,
        third ? "overlap_comm is true for stage 3" : "overlap_comm is false below stage 3");
  }
  const auto bucket = keys.count("zero_optimization.reduce_bucket_size");
  if (bucket && *bucket > 0) {
    constexpr std::int64_t kBytesOfElement = 2;
    import.derive("overlap.bucket", fmt::format("{}B", *bucket * kBytesOfElement),
                  "zero_optimization.reduce_bucket_size", "elements of two bytes");
  }
}

void read_deepspeed(Import& import) {
  SourceKeys& keys = import.keys;
  read_batch(import);
  read_zero(import);
  read_precision(import);
  const auto stages = keys.count("pipeline.stages");
  if (stages) {
    copy_count(import, "pipeline.stages", "layout.pipeline");
    if (*stages > 1) {
      import.usual("layout.schedule", "1f1b", "pipelines run 1F1B");
    }
  }
  import.draft.note(
      "DeepSpeed's file does not say whether activations are recomputed: that is in the model's "
      "code; state `recompute` where they are");
}

}  // namespace orrery::import_config
