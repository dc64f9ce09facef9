// Megatron-LM: degrees, stages, sharding, batch, and the machines that the launcher names.

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/import_config/megatron/megatron_keys.hpp"
#include "sim/import_config/trees/key_fates.hpp"

namespace orrery::import_config {

namespace {

constexpr std::int64_t kMostStages = 10'000;
constexpr std::string_view kFirst =
    "decoder_first_pipeline_num_layers|num_layers_in_first_pipeline_stage";
constexpr std::string_view kLast =
    "decoder_last_pipeline_num_layers|num_layers_in_last_pipeline_stage";
constexpr std::string_view kEmbeddingCounts = "account_for_embedding_in_pipeline_split";
constexpr std::string_view kLossCounts = "account_for_loss_in_pipeline_split";

std::int64_t pipeline_of(const MegatronKeys& keys) {
  return keys.import.draft.count("layout.pipeline").value_or(1);
}

void put_stages(const MegatronKeys& keys, const SourceItem& item,
                const std::vector<std::int64_t>& layers) {
  keys.import.draft.set("layout.stage_layers", fmt::format("[{}]", fmt::join(layers, ", ")),
                        derived_from(item, "layers of each stage"));
}

// The first and the last device with layers of their own; nothing where that does not work out.
std::vector<std::int64_t> split_by_ends(const MegatronKeys& keys, const SourceItem& item,
                                        std::int64_t layers, std::int64_t stages) {
  const auto first = keys.count(kFirst);
  const auto last = keys.count(kLast);
  const std::int64_t pipeline = pipeline_of(keys);
  const std::int64_t chunks = stages / pipeline;
  const std::int64_t rest = layers - first.value_or(0) - last.value_or(0);
  const std::int64_t middle = pipeline - (first ? 1 : 0) - (last ? 1 : 0);
  const bool even = middle > 0 ? rest >= 0 && rest % (middle * chunks) == 0 : rest == 0;
  if (!even || first.value_or(0) % chunks != 0 || last.value_or(0) % chunks != 0) {
    keys.import.keys.error(item, fmt::format("leaves {} layers for {} devices", rest, middle));
    return {};
  }
  std::vector<std::int64_t> split;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const std::int64_t device = stage % pipeline;
    const bool is_last = last && device == pipeline - 1;
    split.push_back((first && device == 0 ? *first : is_last ? *last : rest / middle) / chunks);
  }
  return split;
}

// Layers of each stage when the first or the last one, or embedding and loss, get a share of their
// own; in the order of the layers.
void read_uneven_stages(const MegatronKeys& keys, std::int64_t stages) {
  SourceKeys& source = keys.import.keys;
  const bool ends = keys.count(kFirst) || keys.count(kLast);
  // DeepSpeed's `type:transformer|embedding` counts embedding and output as a layer each.
  const auto partition = keys.text("pp_partition_method").value_or("");
  const bool both = partition.find("embed") != std::string::npos;
  const bool embedding = keys.on(kEmbeddingCounts) || both;
  const bool loss = keys.on(kLossCounts) || both;
  const auto layers = keys.import.draft.count("model.num_layers");
  if ((!ends && !embedding && !loss) || !layers || stages < 2 || stages > kMostStages) {
    return;
  }
  std::vector<std::int64_t> split;
  const SourceItem& item = *keys.find(ends        ? keys.count(kFirst) ? kFirst : kLast
                                      : both      ? "pp_partition_method"
                                      : embedding ? kEmbeddingCounts
                                                  : kLossCounts);
  if (ends) {
    split = split_by_ends(keys, item, *layers, stages);
    if (split.empty()) {
      return;
    }
  } else {
    const std::int64_t all = *layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
    if (all % stages != 0) {
      source.error(item, fmt::format("makes {} layers, no multiple of {} stages", all, stages));
      return;
    }
    split.assign(static_cast<std::size_t>(stages), all / stages);
    split.front() -= embedding ? 1 : 0;
    split.back() -= loss ? 1 : 0;
  }
  if (std::any_of(split.begin(), split.end(), [](std::int64_t n) { return n < 0; })) {
    source.error(item, "leaves a stage with less than no layers");
    return;
  }
  put_stages(keys, item, split);
}

void read_layout_text(const MegatronKeys& keys) {
  const std::string_view key = "pipeline_model_parallel_layout";
  const auto text = keys.text(key);
  const std::int64_t pipeline = pipeline_of(keys);
  if (!text || pipeline < 2) {
    return;
  }
  const SourceItem& item = *keys.find(key);
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
      "layout.virtual_stages", stages / pipeline,
      derived_from(item, fmt::format("{} stages on {} devices", stages, pipeline)));
  put_stages(keys, item, layout->layers);
  if (layout->prediction_apart) {
    keys.import.draft.note(
        "pipeline_model_parallel_layout: the prediction layers stand on another stage than the "
        "loss; a scenario has them on the last");
  }
}

// Three ways to say it: layers of a virtual stage, virtual stages of a device, or a layout.
void read_virtual_stages(const MegatronKeys& keys) {
  const std::string_view per_stage_key = "num_layers_per_virtual_pipeline_stage";
  const std::string_view count_key =
      "num_virtual_stages_per_pipeline_rank|virtual_pipeline_model_parallel_size";
  const auto per_stage = keys.count(per_stage_key);
  const auto chunks = keys.count(count_key);
  const auto layers = keys.import.draft.count("model.num_layers");
  const std::int64_t pipeline = pipeline_of(keys);
  if (pipeline < 2) {
    return;
  }
  if (per_stage && *per_stage > 0 && layers) {
    const SourceItem& item = *keys.find(per_stage_key);
    const std::int64_t all =
        *layers + (keys.on(kEmbeddingCounts) ? 1 : 0) + (keys.on(kLossCounts) ? 1 : 0);
    if (*per_stage > all || pipeline > all || all % (pipeline * *per_stage) != 0) {
      keys.import.keys.error(
          item, fmt::format("{} layers on {} devices do not fall into stages of {}", all, pipeline,
                            *per_stage));
      return;
    }
    keys.import.draft.set(
        "layout.virtual_stages", all / pipeline / *per_stage,
        derived_from(item, fmt::format("{} / {} / {}", all, pipeline, *per_stage)));
  } else if (chunks && *chunks > 0) {
    keys.set("layout.virtual_stages", *chunks, count_key);
  }
}

void read_schedule(const MegatronKeys& keys) {
  const std::string_view overlap = "overlap_moe_expert_parallel_comm";
  const std::int64_t pipeline = pipeline_of(keys);
  const std::int64_t chunks = keys.import.draft.count("layout.virtual_stages").value_or(1);
  const bool combined = keys.set_if(overlap, "overlap.expert", true);
  if (pipeline > 1) {
    keys.usual("layout.schedule",
               chunks < 2 ? "1f1b"
               : combined ? "interleaved_combined"
                          : "interleaved",
               chunks > 1 ? "virtual stages run interleaved" : "one stage a device: 1F1B");
  } else if (combined) {
    keys.set("layout.schedule", "interleaved_combined", overlap);
  }
  read_uneven_stages(keys, pipeline * chunks);
}

void read_degrees(const MegatronKeys& keys) {
  for (const std::string& prefix : keys.prefixes) {
    for (const std::string_view special :
         {"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"}) {
      static_cast<void>(keys.import.keys.take(prefix + std::string(special)));
    }
  }
  keys.copy_known("layout");
  constexpr std::string_view kUlysses = "ds_sequence_parallel_size";  // of Megatron-DeepSpeed
  if (const auto ranks = keys.count(kUlysses); ranks && *ranks > 1) {
    keys.set("layout.context", *ranks, kUlysses);
    keys.set("layout.context_method", "all_to_all", kUlysses);
  }
  const Draft& draft = keys.import.draft;
  const std::int64_t tensor = draft.count("layout.tensor").value_or(1);
  if (keys.on("sequence_parallel") && tensor > 1) {
    keys.set("layout.sequence_parallel", true, "sequence_parallel");
  }
  if (draft.count("layout.expert").value_or(1) > 1 && tensor > 1) {
    keys.usual("layout.expert_tensor", tensor,
               "expert_tensor_parallel_size is that of tensor parallelism when unset");
  }
}

// Sharding strategies of Megatron-FSDP, and what they are called here.
constexpr std::array<std::pair<std::string_view, const char*>, 4> kStrategies = {
    {{"no_shard", "none"},
     {"optim", "zero1"},
     {"optim_grads", "zero2"},
     {"optim_grads_params", "zero3"}}};

void read_sharding(const MegatronKeys& keys) {
  const std::string_view target = "layout.sharding";
  const std::string_view key = "data_parallel_sharding_strategy";
  SourceKeys& source = keys.import.keys;
  const bool custom_fsdp = keys.on("use_custom_fsdp");
  const bool own_fsdp = keys.on("use_megatron_fsdp") || custom_fsdp;
  const bool torch_fsdp = keys.on("use_torch_fsdp2");
  const bool distributed = keys.on("use_distributed_optimizer");
  const SourceItem* deepspeed = source.take(keys.path("deepspeed_config"));
  const auto strategy = keys.text(key);
  const auto* known = std::find_if(kStrategies.begin(), kStrategies.end(),
                                   [&](const auto& s) { return strategy && s.first == *strategy; });
  keep_count(keys.import, keys.path("num_distributed_optimizer_instances"),
             keys.import.pending.instances, "layout.shard_group");
  if (strategy && known == kStrategies.end()) {
    source.error(*keys.find(key), fmt::format("{} is no strategy", yaml::display(*strategy)),
                 "no_shard, optim, optim_grads, optim_grads_params");
  } else if (source.is_unread(keys.path(key))) {
    keys.import.draft.leave_open(target, *keys.find(key), unread_reason(keys.find(key)->value));
  } else if (own_fsdp && strategy) {
    keys.set(target, known->second, key);
  } else if (own_fsdp) {
    keys.usual(target, "zero3", "data_parallel_sharding_strategy is optim_grads_params");
  } else if (torch_fsdp) {
    keys.set(target, "zero3", "use_torch_fsdp2");
  } else if (distributed) {
    keys.set(target, "zero1", "use_distributed_optimizer");
  } else if (const auto stage = keys.count("zero_stage");
             stage && *stage <= 3 && keys.on("deepspeed")) {
    // DeepSpeed's optimizer for bf16 shares its state over the data-parallel ranks at stage 0, too.
    if (*stage == 0 && keys.on("bf16")) {
      keys.derive(target, "zero1", "zero_stage",
                  "DeepSpeed shards the state of bf16 training at stage 0, too");
    } else {
      keys.set(target, *stage > 0 ? fmt::format("zero{}", *stage) : "none", "zero_stage");
    }
  } else if (deepspeed != nullptr && !stage) {
    keys.import.draft.leave_open(
        target, *deepspeed, "the stage of ZeRO stands in this file: give it as a further file");
  } else {
    keys.usual(target, "none", "without a distributed optimizer nothing is sharded");
  }
}

void read_batch(const MegatronKeys& keys) {
  keys.copy_known("batch");
  const auto micro = keys.import.draft.count("batch.micro");
  if (micro && keys.import.draft.find("batch.global") == nullptr &&
      !keys.import.keys.is_unread(keys.path("global_batch_size"))) {
    keys.import.pending.local_batch = PendingCount{
        *micro, default_of(keys.import, "without --global-batch-size one micro-batch a rank")};
  }
  const SourceItem* ramp = keys.import.keys.take(keys.path("rampup_batch_size"));
  if (ramp == nullptr) {
    return;
  }
  constexpr std::array<std::string_view, 3> kParts = {"start", "increment", "samples"};
  if (ramp->value.items.size() != kParts.size()) {
    keys.import.keys.error(*ramp, "is no list of start, increment and samples");
    return;
  }
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    std::string figure = ramp->value.items[i].text;
    std::erase(figure, '_');  // Python takes 9_765_625
    keys.import.draft.set(fmt::format("training.batch_ramp.{}", kParts[i]), figure,
                          read_from(*ramp));
  }
}

// torchrun's --nnodes MIN:MAX; false for other texts.
bool read_elastic(Import& import, const SourceItem& item) {
  std::string_view text = item.value.text;
  const auto least = whole_number(cut(text, ':'));
  const auto most = whole_number(text);
  if (!least || !most || *least < 1 || *most < *least) {
    return false;
  }
  import.draft.set("cluster.nodes", *most, derived_from(item, "the most of the range"));
  if (*least == *most) {
    return true;
  }
  if (import.draft.has_below("failures.")) {
    import.draft.set("capacity.elastic.min_nodes", *least, read_from(item));
  } else {
    import.draft.note(fmt::format(
        "--nnodes {}: nothing fails in this scenario; with failures (--set failures.preset=NAME) "
        "the job goes on with {} of {} nodes (capacity.elastic), and --max-restarts and the "
        "rendezvous count",
        item.value.text, *least, *most));
  }
  return true;
}

// deepspeed's --include worker-0:0,1@worker-1:0,1: hosts, and the devices of each.
void read_included(Import& import) {
  const SourceItem* item = import.keys.take("include");
  if (item == nullptr) {
    return;
  }
  std::string_view rest = item->value.text;
  std::int64_t hosts = 0;
  std::int64_t devices = 0;
  bool alike = true;
  while (!rest.empty()) {
    std::string_view slots = cut(rest, '@');
    (void)cut(slots, ':');
    const std::int64_t here = slots.empty() ? 0 : 1 + std::count(slots.begin(), slots.end(), ',');
    alike = alike && (hosts == 0 || here == devices);
    devices = here;
    ++hosts;
  }
  import.draft.set("cluster.nodes", hosts, derived_from(*item, "its hosts"));
  if (!alike) {
    import.draft.leave_open("cluster.gpus_per_node", *item, "names more devices of one host");
  } else if (devices > 0) {
    import.draft.set("cluster.gpus_per_node", devices, derived_from(*item, "devices of a host"));
  }
}

// gpu:h100:8,nvme:2 of Slurm, without a number one; of --gpus-per-node h100:8. Empty: no GPU of it.
std::string gpus_of_batch(std::string_view text, bool resources) {
  constexpr std::string_view kGpu = "gpu";
  while (!text.empty()) {
    const std::string_view one = cut(text, ',');
    if (resources && one != kGpu && !one.starts_with("gpu:")) {
      continue;
    }
    const std::string_view figure = one.substr(one.rfind(':') + 1);
    const bool number = figure.find_first_not_of("0123456789") == std::string_view::npos;
    return std::string(number || !resources ? figure : std::string_view("1"));
  }
  return {};
}

// Transformer Engine falls back to attention that is not fused without either of its two.
void judge_attention(Import& import) {
  for (const std::string_view section : {"env.", "ENV_VARS.", "env_vars."}) {
    const std::string flash = fmt::format("{}NVTE_FLASH_ATTN", section);
    const std::string fused = fmt::format("{}NVTE_FUSED_ATTN", section);
    if (import.keys.text(flash) == "0" && import.keys.text(fused) == "0") {
      leave_out(import, fused, Effect::large,
                "attention that is not fused keeps its scores and takes several times as long", "");
    }
  }
}

}  // namespace

// What a launcher or the batch system says of the machines; a text that is no number says nothing.
void read_launcher(Import& import) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kNames = {
      {{"nnodes", "cluster.nodes"},
       {"num_nodes", "cluster.nodes"},
       {"nodes", "cluster.nodes"},  // of srun, which may take a part of what sbatch has
       {"sbatch.nodes", "cluster.nodes"},
       {"nproc_per_node", "cluster.gpus_per_node"},
       {"num_gpus", "cluster.gpus_per_node"},
       {"sbatch.gpus_per_node", "cluster.gpus_per_node"},
       {"sbatch.gres", "cluster.gpus_per_node"},
       {"sbatch.ntasks_per_node", "cluster.gpus_per_node"},
       {"gpus_per_node", "cluster.gpus_per_node"},
       {"env.NPROC_PER_NODE", "cluster.gpus_per_node"},
       {"env.NNODES", "cluster.nodes"}}};
  read_included(import);
  judge_attention(import);
  for (const auto& [name, target] : kNames) {
    const SourceItem* item = import.keys.take(name);
    const ImportedSetting* known = import.draft.find(target);
    if (item == nullptr) {
      if (import.keys.is_unread(name)) {
        const SourceItem& unread = *import.keys.find(name);
        import.draft.leave_open(target, unread, unread_reason(unread.value));
      }
      continue;
    }
    if (known != nullptr && known->origin.kind != OriginKind::given) {
      continue;
    }
    if (name == "nnodes" && read_elastic(import, *item)) {
      continue;
    }
    // One task a node starts the processes of all its GPUs.
    const bool batch = std::string_view(name).starts_with("sbatch.g");
    const std::string figure =
        batch ? gpus_of_batch(item->value.text, name == "sbatch.gres") : item->value.text;
    const bool number = !figure.empty() && figure.size() < 7 &&
                        figure.find_first_not_of("0123456789") == std::string::npos;
    const bool starter = name == "sbatch.ntasks_per_node" && figure == "1";
    if (number && !starter) {
      import.draft.set(target, static_cast<std::int64_t>(std::stoll(figure)), read_from(*item));
    } else if (!number && !figure.empty()) {
      import.draft.leave_open(target, *item,
                              fmt::format("{} is no number", yaml::display(item->value.text)));
    }
  }
  const SourceItem* visible = import.keys.take("env.CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && import.draft.find("cluster.gpus_per_node") == nullptr &&
      visible->value.text.find_first_not_of("0123456789,") == std::string::npos) {
    import.draft.set("cluster.gpus_per_node",
                     1 + std::count(visible->value.text.begin(), visible->value.text.end(), ','),
                     derived_from(*visible, "the devices that are named"));
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
