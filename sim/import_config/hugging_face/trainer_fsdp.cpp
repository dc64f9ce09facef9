// FSDP as the Trainer, Accelerate and Axolotl state it.

#include <fmt/core.h>

#include <algorithm>

#include "sim/base/text/text.hpp"
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
  import.draft.set("overlap.fsdp.backward_prefetch",
                   word.ends_with("pre")    ? "before"
                   : word.ends_with("post") ? "after"
                                            : "none",
                   said ? read_from(*import.keys.find(name))
                        : default_of(import, "backward_prefetch is NO_PREFETCH"));
}

// Copies of a group that shares the parameters: HSDP. Whether there are any.
bool read_copies(Import& import) {
  SourceKeys& keys = import.keys;
  constexpr std::string_view kParallel = "parallelism_config.parallelism_config_";
  const auto name = [&](std::string_view key) {
    return keys.find(key) != nullptr ? std::string(key) : fmt::format("{}{}", kParallel, key);
  };
  const auto copies = keys.count(name("dp_replicate_size"));
  const auto shard = keys.count(name("dp_shard_size"));
  const bool copied = copies.value_or(1) > 1 && shard.value_or(1) > 1;
  if (copied) {
    import.pending.fsdp = true;
    import.pending.replicate =
        PendingCount{*copies, read_from(*keys.find(name("dp_replicate_size")))};
    import.pending.shard = PendingCount{*shard, read_from(*keys.find(name("dp_shard_size")))};
  }
  return copied;
}

void read_offload(Import& import, bool optional) {
  if (optional) {
    import.set("offload.optimizer", "cpu", "fsdp");
    import.set("offload.parameters", "cpu", "fsdp");
  }
  for (const std::string_view name : {"fsdp_config.fsdp_offload_params",
                                      "fsdp_config.offload_params",
                                      "fsdp_config.fsdp_cpu_offload"}) {
    if (import.on(name)) {
      import.set("offload.optimizer", "cpu", name);
      import.set("offload.parameters", "cpu", name);
    }
  }
}

}  // namespace

// FULL_SHARD or 1, SHARD_GRAD_OP or 2, NO_SHARD or 3, HYBRID_SHARD or 4; of FSDP2 true and false.
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
    import.draft.leave_open(
        "layout.sharding", *keys.find("fsdp"), "give that file as a further one");
    options.clear();
  }
  const auto second = first_of(import, {"fsdp_config.fsdp_version", "fsdp_version"});
  std::string strategy = options;
  const SourceItem* from = keys.find("fsdp");
  for (const std::string_view name : {"fsdp_config.fsdp_sharding_strategy",
                                      "fsdp_config.sharding_strategy",
                                      "fsdp_config.fsdp_reshard_after_forward",
                                      "fsdp_config.reshard_after_forward"}) {
    const auto text = keys.text(name);
    if (text && (strategy == options || lower_case(*text) == "false")) {
      strategy = lower_case(*text);
      from = keys.find(name);
    }
  }
  const auto is = [&strategy](std::string_view word, std::string_view digit) {
    return strategy.find(word) != std::string::npos || strategy == digit;
  };
  const bool kept = strategy == "false";
  const bool new_one = keys.count(second).value_or(1) == 2 || kept || strategy == "true";
  const auto& items = keys.items();
  const bool section = std::any_of(items.begin(), items.end(), [](const SourceItem& item) {
    return item.path.starts_with("fsdp_config.") && item.path != "fsdp_config.fsdp_version";
  });
  const bool asked = import.on("use_fsdp");
  const bool shards = read_copies(import) || asked || is("hybrid_shard", "4") ||
                      (type && *type == "FSDP") || !strategy.empty() || (!type && section);
  if (shards && kept) {
    import.draft.set("overlap.fsdp.reshard", false, read_from(*from));
  }
  if (import.pending.replicate) {
    read_prefetch(import, new_one);
  } else if (is("hybrid_shard", "4")) {
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
    keys.error(*keys.find("distributed_type"),
               fmt::format("{} is not read", yaml::display(*type)),
               "NO, MULTI_GPU, FSDP, DEEPSPEED; of Megatron its own arguments");
  }
  read_offload(import, options.find("offload") != std::string::npos);
}

}  // namespace orrery::import_config
