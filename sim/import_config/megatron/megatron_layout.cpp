// Megatron-LM: degrees, stages, sharding, batch, and the machines that the launcher names.

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/import_config/hugging_face/layer_patterns.hpp"
#include "sim/import_config/megatron/megatron_keys.hpp"

namespace orrery::import_config {

namespace {

constexpr std::int64_t kMostStages = 10'000;

std::int64_t pipeline_of(const MegatronKeys& keys) {
  return keys.import.draft.count("layout.pipeline").value_or(1);
}

// Layers of each stage when the first or the last one, or embedding and loss, get a share of their
// own; in the order of the layers.
void read_uneven_stages(MegatronKeys& keys, std::int64_t stages) {
  SourceKeys& source = keys.import.keys;
  const std::string first_path =
      keys.path({"decoder_first_pipeline_num_layers", "num_layers_in_first_pipeline_stage"});
  const std::string last_path =
      keys.path({"decoder_last_pipeline_num_layers", "num_layers_in_last_pipeline_stage"});
  const auto first = source.count(first_path);
  const auto last = source.count(last_path);
  // DeepSpeed's `type:transformer|embedding` counts embedding and output as a layer each.
  const auto partition = source.text(keys.path("pp_partition_method")).value_or("");
  const bool ends_count = partition.find("embed") != std::string::npos;
  const bool embedding = ends_count || keys.on("account_for_embedding_in_pipeline_split");
  const bool loss = ends_count || keys.on("account_for_loss_in_pipeline_split");
  const auto layers = keys.import.draft.count("model.num_layers");
  if ((!first && !last && !embedding && !loss) || !layers || stages < 2 || stages > kMostStages) {
    return;
  }
  const std::int64_t chunks = stages / pipeline_of(keys);
  std::vector<std::int64_t> split;
  const SourceItem* item = nullptr;
  if (first || last) {
    item = source.find(first ? first_path : last_path);
    const std::int64_t ends = (first ? 1 : 0) + (last ? 1 : 0);
    const std::int64_t rest = *layers - first.value_or(0) - last.value_or(0);
    const std::int64_t middle = pipeline_of(keys) - ends;
    const bool even = middle > 0 ? rest >= 0 && rest % (middle * chunks) == 0 : rest == 0;
    const bool whole = first.value_or(0) % chunks == 0 && last.value_or(0) % chunks == 0;
    if (!even || !whole) {
      source.error(*item, fmt::format("leaves {} layers for {} devices", rest, middle));
      return;
    }
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      const std::int64_t device = stage % pipeline_of(keys);
      const bool is_first = first && device == 0;
      const bool is_last = last && device == pipeline_of(keys) - 1;
      split.push_back((is_first ? *first : is_last ? *last : rest / middle) / chunks);
    }
  } else {
    item = ends_count  ? keys.find("pp_partition_method")
           : embedding ? keys.find("account_for_embedding_in_pipeline_split")
                       : keys.find("account_for_loss_in_pipeline_split");
    const std::int64_t all = *layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
    if (all % stages != 0) {
      source.error(*item, fmt::format("makes {} layers, no multiple of {} stages", all, stages));
      return;
    }
    split.assign(static_cast<std::size_t>(stages), all / stages);
    split.front() -= embedding ? 1 : 0;
    split.back() -= loss ? 1 : 0;
  }
  if (std::any_of(split.begin(), split.end(), [](std::int64_t n) { return n < 0; })) {
    source.error(*item, "leaves a stage with less than no layers");
    return;
  }
  keys.import.draft.set("layout.stage_layers",
                        fmt::format("[{}]", fmt::join(split, ", ")),
                        derived_from(*item, "layers of each stage"));
}

void read_layout_text(MegatronKeys& keys) {
  const std::string path = keys.path("pipeline_model_parallel_layout");
  const auto text = keys.import.keys.text(path);
  const std::int64_t pipeline = pipeline_of(keys);
  if (!text || pipeline < 2) {
    return;
  }
  const SourceItem& item = *keys.import.keys.find(path);
  const auto layout = parse_stage_layout(*text);
  const auto stages = layout ? static_cast<std::int64_t>(layout->layers.size()) : 0;
  if (!layout || stages > kMostStages || stages % pipeline != 0) {
    keys.import.keys.error(
        item,
        layout ? fmt::format("has {} stages, no multiple of {} devices", stages, pipeline)
               : fmt::format("{} is no layout of a pipeline", yaml::display(*text)),
        "such as Et*3|(tt|)*29,m|L");
    return;
  }
  keys.import.draft.set(
      "layout.virtual_stages",
      stages / pipeline,
      derived_from(item, fmt::format("{} stages on {} devices", stages, pipeline)));
  keys.import.draft.set("layout.stage_layers",
                        fmt::format("[{}]", fmt::join(layout->layers, ", ")),
                        derived_from(item, "layers of each stage"));
  if (layout->prediction_apart) {
    keys.import.draft.note(
        "pipeline_model_parallel_layout: the prediction layers stand on another stage than the "
        "loss; a scenario has them on the last");
  }
}

// Three ways to say it: layers of a virtual stage, virtual stages of a device, or a layout.
void read_virtual_stages(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  Draft& draft = keys.import.draft;
  const std::string per_stage_path = keys.path("num_layers_per_virtual_pipeline_stage");
  const auto per_stage = source.count(per_stage_path);
  const std::string count_path =
      keys.path({"num_virtual_stages_per_pipeline_rank", "virtual_pipeline_model_parallel_size"});
  const auto chunks = source.count(count_path);
  const auto layers = draft.count("model.num_layers");
  const std::int64_t pipeline = pipeline_of(keys);
  if (pipeline < 2) {
    return;
  }
  if (per_stage && *per_stage > 0 && layers) {
    const SourceItem& item = *source.find(per_stage_path);
    const std::int64_t all = *layers +
                             (keys.on("account_for_embedding_in_pipeline_split") ? 1 : 0) +
                             (keys.on("account_for_loss_in_pipeline_split") ? 1 : 0);
    if (*per_stage > all || pipeline > all || all % (pipeline * *per_stage) != 0) {
      source.error(
          item,
          fmt::format(
              "{} layers on {} devices do not fall into stages of {}", all, pipeline, *per_stage));
      return;
    }
    draft.set("layout.virtual_stages",
              all / pipeline / *per_stage,
              derived_from(item, fmt::format("{} / {} / {}", all, pipeline, *per_stage)));
  } else if (chunks && *chunks > 0) {
    draft.set("layout.virtual_stages", *chunks, read_from(*source.find(count_path)));
  }
}

void read_schedule(MegatronKeys& keys) {
  Draft& draft = keys.import.draft;
  const std::int64_t pipeline = pipeline_of(keys);
  const std::int64_t chunks = draft.count("layout.virtual_stages").value_or(1);
  const bool combined = keys.on("overlap_moe_expert_parallel_comm");
  if (combined) {
    draft.set("overlap.expert", true, read_from(*keys.find("overlap_moe_expert_parallel_comm")));
  }
  if (pipeline > 1) {
    const char* name = chunks < 2 ? "1f1b" : combined ? "interleaved_combined" : "interleaved";
    draft.set(
        "layout.schedule",
        name,
        default_of(keys.import,
                   chunks > 1 ? "virtual stages run interleaved" : "one stage a device: 1F1B"));
  } else if (combined) {
    draft.set("layout.schedule",
              "interleaved_combined",
              read_from(*keys.find("overlap_moe_expert_parallel_comm")));
  }
  read_uneven_stages(keys, pipeline * chunks);
}

void read_degrees(MegatronKeys& keys) {
  Draft& draft = keys.import.draft;
  for (const std::string& prefix : keys.prefixes) {
    for (const std::string_view special :
         {"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"}) {
      static_cast<void>(keys.import.keys.take(prefix + std::string(special)));
    }
    copy_known_counts(keys.import, prefix, "layout");
  }
  const std::int64_t tensor = draft.count("layout.tensor").value_or(1);
  const std::string sequence_path = keys.path("sequence_parallel");
  const auto sequence = keys.import.keys.flag(sequence_path);
  if (sequence.value_or(false) && tensor > 1) {
    draft.set("layout.sequence_parallel", true, read_from(*keys.import.keys.find(sequence_path)));
  }
  if (draft.count("layout.expert").value_or(1) > 1 && tensor > 1 &&
      draft.find("layout.expert_tensor") == nullptr) {
    draft.set("layout.expert_tensor",
              tensor,
              default_of(keys.import,
                         "expert_tensor_parallel_size is that of tensor parallelism when unset"));
  }
}

// Sharding strategies of Megatron-FSDP, and what they are called here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kStrategies = {
    {{"no_shard", "none"},
     {"optim", "zero1"},
     {"optim_grads", "zero2"},
     {"optim_grads_params", "zero3"}}};

void read_sharding(MegatronKeys& keys) {
  SourceKeys& source = keys.import.keys;
  Draft& draft = keys.import.draft;
  const bool own_fsdp = keys.on("use_megatron_fsdp") || keys.on("use_custom_fsdp");
  const bool torch_fsdp = keys.on("use_torch_fsdp2");
  const bool distributed = keys.on("use_distributed_optimizer");
  const std::string path = keys.path("data_parallel_sharding_strategy");
  const auto strategy = source.text(path);
  const auto* known = std::find_if(kStrategies.begin(), kStrategies.end(), [&](const auto& s) {
    return strategy && s.first == *strategy;
  });
  if (strategy && known == kStrategies.end()) {
    source.error(*source.find(path),
                 fmt::format("{} is no strategy", yaml::display(*strategy)),
                 "no_shard, optim, optim_grads, optim_grads_params");
  } else if (source.is_unread(path)) {
    draft.leave_open(
        "layout.sharding", *source.find(path), unread_reason(source.find(path)->value));
  } else if (own_fsdp && strategy) {
    draft.set("layout.sharding", std::string(known->second), read_from(*source.find(path)));
  } else if (own_fsdp) {
    draft.set("layout.sharding",
              "zero3",
              default_of(keys.import, "data_parallel_sharding_strategy is optim_grads_params"));
  } else if (torch_fsdp) {
    draft.set("layout.sharding", "zero3", read_from(*keys.find("use_torch_fsdp2")));
  } else if (distributed) {
    draft.set("layout.sharding", "zero1", read_from(*keys.find("use_distributed_optimizer")));
  } else if (const auto stage = source.count(keys.path("zero_stage"));
             stage && *stage <= 3 && keys.on("deepspeed")) {
    // DeepSpeed's optimizer for bf16 shares its state over the data-parallel ranks at stage 0, too.
    const bool own = *stage == 0 && keys.on("bf16");
    draft.set("layout.sharding",
              *stage > 0 ? fmt::format("zero{}", *stage) : std::string(own ? "zero1" : "none"),
              own ? derived_from(*keys.find("zero_stage"),
                                 "DeepSpeed shards the state of bf16 training at stage 0, too")
                  : read_from(*keys.find("zero_stage")));
  } else {
    draft.set("layout.sharding",
              "none",
              default_of(keys.import, "without a distributed optimizer nothing is sharded"));
  }
  keep_count(keys.import,
             keys.path("num_distributed_optimizer_instances"),
             keys.import.pending.instances,
             "layout.shard_group");
}

void read_batch(MegatronKeys& keys) {
  for (const std::string& prefix : keys.prefixes) {
    copy_known_counts(keys.import, prefix, "batch");
  }
  const auto micro = keys.import.draft.count("batch.micro");
  if (micro && keys.import.draft.find("batch.global") == nullptr &&
      !keys.import.keys.is_unread(keys.path("global_batch_size"))) {
    keys.import.pending.local_batch = PendingCount{
        *micro, default_of(keys.import, "without --global-batch-size one micro-batch a rank")};
  }
  const std::string path = keys.path("rampup_batch_size");
  const SourceItem* ramp = keys.import.keys.take(path);
  if (ramp == nullptr) {
    return;
  }
  constexpr std::array<std::string_view, 3> kParts = {
      "training.batch_ramp.start", "training.batch_ramp.increment", "training.batch_ramp.samples"};
  if (ramp->value.kind != yaml::Value::Kind::sequence || ramp->value.items.size() != 3) {
    keys.import.keys.error(*ramp, "is no list of start, increment and samples");
    return;
  }
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    std::string figure = ramp->value.items[i].text;
    std::erase(figure, '_');  // Python takes 9_765_625
    keys.import.draft.set(kParts[i], figure, read_from(*ramp));
  }
}

}  // namespace

// What a launcher or the batch system says of the machines; a text that is no number says nothing.
void read_launcher(Import& import) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kNames = {
      {{"nnodes", "cluster.nodes"},
       {"num_nodes", "cluster.nodes"},
       {"sbatch.nodes", "cluster.nodes"},
       {"nodes", "cluster.nodes"},
       {"nproc_per_node", "cluster.gpus_per_node"},
       {"num_gpus", "cluster.gpus_per_node"},
       {"sbatch.gpus_per_node", "cluster.gpus_per_node"},
       {"sbatch.gres", "cluster.gpus_per_node"},
       {"sbatch.ntasks_per_node", "cluster.gpus_per_node"},
       {"gpus_per_node", "cluster.gpus_per_node"}}};
  for (const auto& [name, target] : kNames) {
    const SourceItem* item = import.keys.take(name);
    const ImportedSetting* known = import.draft.find(target);
    const bool open = known == nullptr || known->origin.kind == OriginKind::given;
    if (item == nullptr) {
      if (import.keys.is_unread(name)) {
        const SourceItem& unread = *import.keys.find(name);
        import.draft.leave_open(target, unread, unread_reason(unread.value));
      }
      continue;
    }
    // gpu:h100:8 of the batch system; one task a node starts the processes of all its GPUs.
    const bool batch = std::string_view(name).starts_with("sbatch.g");
    const std::string figure =
        batch ? item->value.text.substr(item->value.text.rfind(':') + 1) : item->value.text;
    const bool number = !figure.empty() && figure.size() < 7 &&
                        figure.find_first_not_of("0123456789") == std::string::npos;
    const bool starter = name == "sbatch.ntasks_per_node" && figure == "1";
    if (number && open && !starter) {
      import.draft.set(target, static_cast<std::int64_t>(std::stoll(figure)), read_from(*item));
    } else if (!number && open && !batch) {
      import.draft.leave_open(
          target, *item, fmt::format("{} is no number", yaml::display(item->value.text)));
    }
  }
  keep_count(import, "world_size", import.pending.ranks, "cluster.nodes");
}

void read_megatron_layout(MegatronKeys& keys) {
  read_degrees(keys);
  read_layout_text(keys);
  read_virtual_stages(keys);
  read_schedule(keys);
  read_sharding(keys);
  read_batch(keys);
  read_launcher(keys.import);
}

}  // namespace orrery::import_config
