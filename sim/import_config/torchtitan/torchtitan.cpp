// torchtitan: the TOML of its job_config, commands with --module, --config and overrides, and what
// it saves itself (torchtitan_saved.hpp).
//
// Meaning and defaults of the keys: torchtitan/config/job_config.py before commit 9810191b (TOML)
// and torchtitan/config/configs.py at b5bcd76c (commands); the split of a pipeline from
// torchtitan/distributed/pipeline_parallel.py.

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/import_config/key_fates.hpp"
#include "sim/import_config/torchtitan/torchtitan_flavors.hpp"
#include "sim/import_config/torchtitan/torchtitan_saved.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

struct ScheduleName {
  std::string_view theirs;
  std::string_view ours;
  bool many_stages;  // two or more on a device
};

constexpr std::array<ScheduleName, 6> kSchedules = {{{"1F1B", "1f1b", false},
                                                     {"GPipe", "gpipe", false},
                                                     {"Interleaved1F1B", "interleaved", true},
                                                     {"LoopedBFS", "looped_bfs", true},
                                                     {"ZBVZeroBubble", "zb-v", true},
                                                     {"DualPipeV", "dualpipev", true}}};

class Torchtitan {
 public:
  explicit Torchtitan(Import& import) : import_(import), keys_(import.keys) {}

  void read() {
    saved_ = keys_.find("model_spec.name") != nullptr;
    command_ = saved_ || keys_.find("module") != nullptr || keys_.find("config") != nullptr;
    read_launcher(import_);
    read_model();
    read_degrees();
    read_pipeline();
    read_batch();
    read_precision();
    read_recompute();
    if (saved_) {
      read_saved_remarks(import_);
    }
    read_run();
  }

 private:
  void take_flavor(const TorchtitanFlavor& flavor, const SourceItem& item) {
    const Origin origin =
        derived_from(item, fmt::format("torchtitan's {} {}", flavor.model, flavor.flavor));
    std::string_view rest = flavor.facts;
    while (!rest.empty()) {
      std::string_view value = cut(rest, ' ');
      const std::string_view key = cut(value, '=');
      const std::string path = fmt::format("model.{}", key);
      // A log prints the dimensions beside the flavor: those count.
      const ImportedSetting* printed = import_.draft.find(path);
      const bool said = printed != nullptr && printed->origin.kind == OriginKind::read &&
                        printed->origin.where.file == origin.where.file;
      if (!key.empty() && !said) {
        import_.draft.set(path, std::string(value), origin);
      }
    }
    if (!flavor.remark.empty()) {
      import_.draft.note(fmt::format("{} {}: {}", flavor.model, flavor.flavor, flavor.remark));
    }
  }

  // `--config llama3_8b` names a function of the module; the flavor stands behind its name.
  void read_model() {
    const std::string name_key = saved_ ? "model_spec.name" : command_ ? "module" : "model.name";
    const std::string flavor_key = saved_     ? "model_spec.flavor"
                                   : command_ ? "config"
                                              : "model.flavor";
    const auto name = keys_.text(name_key);
    const auto flavor = keys_.text(flavor_key);
    if (!name || !flavor) {
      return;
    }
    if (keys_.find(kSavedLayers) != nullptr) {
      read_saved_model(import_);
      return;
    }
    std::string wanted = *flavor;
    if (command_ && wanted.starts_with(*name + "_")) {
      wanted.erase(0, name->size() + 1);
    }
    const SourceItem& item = *keys_.find(flavor_key);
    if (const auto known = find_flavor(*name, wanted)) {
      take_flavor(*known, item);
    } else {
      import_.draft.leave_open(
          "model.num_layers",
          item,
          fmt::format("the dimensions of {} {} are in torchtitan's code; give the config.json of "
                      "the model as a second file, or state them (known: {})",
                      yaml::display(*name),
                      yaml::display(*flavor),
                      known_flavors()));
    }
    if (command_ && !saved_) {
      import_.draft.note(
          "the settings of the function that --config names are in torchtitan's code: only what "
          "the command states was read; what it leaves to the function takes torchtitan's defaults "
          "here. `--debug.save_config_file FILE.json` makes torchtitan write all of them, and that "
          "file can be imported");
    }
  }

  std::int64_t degree(std::string_view key, std::string_view target) {
    const std::string path = fmt::format("parallelism.{}", key);
    const auto value = copy_count(import_, path, target);
    if (!value && !keys_.is_unread(path)) {
      import_.draft.set(target, std::int64_t{1}, default_of(import_, fmt::format("{} is 1", key)));
    }
    return value.value_or(1);
  }

  void read_degrees() {
    tensor_ = degree("tensor_parallel_degree", "layout.tensor");
    degree("context_parallel_degree", "layout.context");
    pipeline_ = degree("pipeline_parallel_degree", "layout.pipeline");
    const std::int64_t expert = degree("expert_parallel_degree", "layout.expert");
    if (expert > 1) {
      const auto inner =
          copy_count(import_, "parallelism.expert_tensor_parallel_degree", "layout.expert_tensor");
      if (!inner) {
        import_.draft.set("layout.expert_tensor",
                          std::int64_t{1},
                          default_of(import_, "experts are not split by tensor parallelism"));
      }
    } else {
      static_cast<void>(keys_.take("parallelism.expert_tensor_parallel_degree"));
    }
    if (tensor_ > 1) {
      const auto sequence = keys_.flag("parallelism.enable_sequence_parallel");
      import_.draft.set("layout.sequence_parallel",
                        sequence.value_or(true),
                        sequence ? read_from(*keys_.find("parallelism.enable_sequence_parallel"))
                                 : default_of(import_, "tensor parallelism is sequence-parallel"));
    }
    const std::string async = keys_.find("compile.enable_async_tensor_parallel") != nullptr
                                  ? "compile.enable_async_tensor_parallel"
                                  : "parallelism.enable_async_tensor_parallel";
    copy_flag(import_, async, "overlap.tensor");
    const auto rotate = keys_.text("parallelism.context_parallel_rotate_method");
    if (rotate && keys_.count("parallelism.context_parallel_degree").value_or(1) > 1) {
      import_.draft.set("layout.context_method",
                        *rotate == "alltoall" ? "ring" : "all_gather",
                        derived_from(*keys_.find("parallelism.context_parallel_rotate_method"),
                                     "how keys and values go round"));
    }
    read_sharding();
  }

  // -1 takes the ranks that the other degrees leave over: only known with the number of GPUs.
  void read_sharding() {
    import_.pending.fsdp = true;
    keep_count(import_,
               "parallelism.data_parallel_replicate_degree",
               import_.pending.replicate,
               "layout.sharding");
    const SourceItem* item = keys_.take("parallelism.data_parallel_shard_degree");
    if (item != nullptr && item->value.text != "-1") {
      keep_count(import_,
                 "parallelism.data_parallel_shard_degree",
                 import_.pending.shard,
                 "layout.sharding");
    }
    const auto reshard = keys_.text("parallelism.fsdp_reshard_after_forward");
    if (reshard && *reshard != "default") {
      import_.draft.set("overlap.fsdp.reshard",
                        *reshard == "always",
                        read_from(*keys_.find("parallelism.fsdp_reshard_after_forward")));
    } else if (pipeline_ > 1) {
      import_.draft.set("overlap.fsdp.reshard",
                        false,
                        default_of(import_, "with a pipeline gathered parameters stay"));
    }
    if (keys_.flag("training.enable_cpu_offload").value_or(false)) {
      const Origin origin = read_from(*keys_.find("training.enable_cpu_offload"));
      import_.draft.set("offload.optimizer", "cpu", origin);
      import_.draft.set("offload.parameters", "cpu", origin);
    }
  }

  void read_pipeline() {
    const auto name = keys_.text("parallelism.pipeline_parallel_schedule");
    const std::string wanted = name.value_or("1F1B");
    const auto* known = std::find_if(
        kSchedules.begin(), kSchedules.end(), [&](const auto& s) { return s.theirs == wanted; });
    if (pipeline_ <= 1) {
      return;
    }
    const SourceItem* item = keys_.find("parallelism.pipeline_parallel_schedule");
    if (known == kSchedules.end()) {
      import_.draft.leave_open("layout.schedule",
                               *item,
                               fmt::format("{} is a schedule that a scenario does not have (orrery "
                                           "list schedules)",
                                           yaml::display(wanted)));
      return;
    }
    import_.draft.set("layout.schedule",
                      std::string(known->ours),
                      name ? read_from(*item) : default_of(import_, "1F1B"));
    split_layers(known->many_stages);
    if (keys_.take("parallelism.module_fqns_per_model_part") != nullptr) {
      leave_out(import_,
                "parallelism.module_fqns_per_model_part",
                Effect::large,
                "an explicit split of modules: state layout.stage_layers");
    }
  }

  [[nodiscard]] std::int64_t less_layers(std::string_view end) {
    return keys_.count(fmt::format("parallelism.pipeline_parallel_{}_stage_less_layers", end))
        .value_or(1);
  }

  // Layers are dealt evenly, with embedding and output counted as some of them.
  void split_layers(bool many_stages) {
    const std::int64_t first = less_layers("first");
    const std::int64_t last = less_layers("last");
    const auto per_stage = keys_.count("parallelism.pipeline_parallel_layers_per_stage");
    const auto layers = import_.draft.count("model.num_layers");
    constexpr std::int64_t kMost = 10'000;
    if (!layers || *layers > kMost || pipeline_ > kMost || first > kMost || last > kMost) {
      return;
    }
    const std::int64_t all = *layers + first + last;
    std::int64_t stages = pipeline_ * (many_stages ? 2 : 1);
    Origin origin = default_of(import_, many_stages ? "two stages a device" : "one stage a device");
    if (per_stage && *per_stage > 0) {
      const SourceItem& item = *keys_.find("parallelism.pipeline_parallel_layers_per_stage");
      stages = (all + *per_stage - 1) / *per_stage;
      origin = derived_from(item, fmt::format("{} layers in stages of {}", all, *per_stage));
      if (stages % pipeline_ != 0) {
        keys_.error(
            item,
            fmt::format(
                "makes {} stages, which {} devices do not share evenly", stages, pipeline_));
        return;
      }
    }
    import_.draft.set("layout.virtual_stages", stages / pipeline_, origin);
    std::vector<std::int64_t> split;
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      std::int64_t count = all / stages + (stage < all % stages ? 1 : 0);
      count -= stage == 0 ? first : 0;
      count -= stage == stages - 1 ? last : 0;
      split.push_back(count);
    }
    if (std::all_of(split.begin(), split.end(), [](std::int64_t n) { return n >= 0; })) {
      import_.draft.set(
          "layout.stage_layers",
          fmt::format("[{}]", fmt::join(split, ", ")),
          default_of(import_,
                     fmt::format("embedding and output count as {} and {} layers", first, last)));
    }
  }

  void read_batch() {
    // Tokens in place of sequences, since the summer of 2026.
    const bool in_tokens = command_ && keys_.find("training.local_batch_size") == nullptr &&
                           keys_.find("training.seq_len") == nullptr;
    if (in_tokens) {
      copy_count(import_, "training.max_context_length", "model.sequence_length");
      keep_count(import_,
                 "training.num_tokens_per_microbatch_per_dp_rank",
                 import_.pending.local_tokens,
                 "batch.micro");
      const SourceItem* step = keys_.take("training.num_tokens_per_train_step");
      if (step != nullptr && step->value.text != "-1") {
        keep_count(import_,
                   "training.num_tokens_per_train_step",
                   import_.pending.step_tokens,
                   "batch.global");
      }
      if (pipeline_ > 1) {  // ignored without a pipeline
        keep_count(import_,
                   "parallelism.num_pp_microbatches",
                   import_.pending.accumulation,
                   "batch.global");
      } else {
        static_cast<void>(keys_.take("parallelism.num_pp_microbatches"));
      }
      return;
    }
    copy_count(import_, "training.seq_len", "model.sequence_length");
    keep_count(import_, "training.local_batch_size", import_.pending.local_batch, "batch.global");
    const SourceItem* global = keys_.take("training.global_batch_size");
    if (global != nullptr && global->value.text != "-1") {
      copy_count(import_, "training.global_batch_size", "batch.global");
    }
    const auto micro = keys_.count("parallelism.pipeline_parallel_microbatch_size");
    if (pipeline_ > 1) {
      import_.draft.set(
          "batch.micro",
          micro.value_or(1),
          micro ? read_from(*keys_.find("parallelism.pipeline_parallel_microbatch_size"))
                : default_of(import_, "pipeline_parallel_microbatch_size is 1"));
    } else {
      copy_count(import_, "training.local_batch_size", "batch.micro");
    }
  }

  [[nodiscard]] bool converts(std::string_view word) {
    const auto converters = keys_.texts("model.converters");
    return std::any_of(converters.begin(), converters.end(), [word](const std::string& name) {
      return name.find(word) != std::string::npos;
    });
  }

  void read_precision() {
    const SourceItem* converters = keys_.find("model.converters");
    if (converts("mx")) {
      import_.draft.set("precision.compute", "mxfp8", read_from(*converters));
    } else if (converts("float8") || keys_.flag("float8.enable_float8_linear").value_or(false)) {
      const auto recipe = keys_.text("quantize.linear.float8.recipe_name");
      const bool rows = recipe && recipe->starts_with("rowwise");
      const SourceItem& by =
          converters != nullptr ? *converters : *keys_.find("float8.enable_float8_linear");
      import_.draft.set("precision.compute",
                        rows ? "fp8-rowwise" : "fp8-tensorwise",
                        recipe ? read_from(*keys_.find("quantize.linear.float8.recipe_name"))
                               : derived_from(by, "scales per tensor by default"));
    } else {
      const auto dtype = keys_.text("training.mixed_precision_param");
      if (dtype && *dtype == "float32") {
        import_.draft.leave_open("precision.compute",
                                 *keys_.find("training.mixed_precision_param"),
                                 "a scenario has no training in fp32");
        return;
      }
      import_.draft.set("precision.compute",
                        "bf16",
                        dtype ? read_from(*keys_.find("training.mixed_precision_param"))
                              : default_of(import_, "mixed_precision_param is bfloat16"));
    }
    import_.draft.set("precision.gradient_dtype",
                      "fp32",
                      default_of(import_, "mixed_precision_reduce is float32"));
    static_cast<void>(keys_.text("training.mixed_precision_reduce"));
    const auto kept = keys_.text("training.dtype");
    if (kept && *kept == "bfloat16") {
      import_.draft.set(
          "precision.optimizer.state_bytes",
          "4B",
          derived_from(*keys_.find("training.dtype"), "two moments in bf16, no copy in fp32"));
    }
    const auto compile = keys_.flag("compile.enable");
    const auto parts = keys_.texts("compile.components");
    const bool model_too =
        parts.empty() || std::find(parts.begin(), parts.end(), "model") != parts.end();
    if (compile) {
      import_.draft.set("compile", *compile && model_too, read_from(*keys_.find("compile.enable")));
    }
  }

  void read_recompute() {
    if (saved_ && keys_.find("activation_checkpoint.mode") == nullptr) {
      read_saved_recompute(import_);
      return;
    }
    const auto mode = keys_.text("activation_checkpoint.mode");
    const auto option = keys_.text("activation_checkpoint.selective_ac_option");
    const SourceItem* item = keys_.find("activation_checkpoint.mode");
    if (command_ && !mode) {
      return;
    }
    if (mode && (*mode == "full" || *mode == "none")) {
      import_.draft.set("recompute", *mode, read_from(*item));
      return;
    }
    if (mode && *mode != "selective") {
      import_.draft.leave_open(
          "recompute",
          *item,
          fmt::format("{} is a mode that a scenario does not have", yaml::display(*mode)));
      return;
    }
    const Origin origin = option
                              ? read_from(*keys_.find("activation_checkpoint.selective_ac_option"))
                          : mode ? read_from(*item)
                                 : default_of(import_, "every second layer is recomputed");
    if (option && *option == "not printed") {
      import_.draft.leave_open("recompute",
                               *item,
                               "the log does not say what is recomputed; selective_operations with "
                               "the option `op`");
      return;
    }
    if (option && *option == "op") {
      import_.draft.set("recompute", "selective_operations", origin);
      return;
    }
    const auto layers = import_.draft.count("model.num_layers");
    std::int64_t every = 2;
    if (option) {
      every = std::max<std::int64_t>(
          keys_.count("activation_checkpoint.selective_ac_option").value_or(2), 1);
    }
    const auto chunks = import_.draft.count("layout.virtual_stages").value_or(1) * pipeline_;
    if (layers && chunks > 0 && *layers / chunks / every > 0) {
      Origin founded = origin;
      founded.why = fmt::format("every {}th layer of each chunk", every);
      founded.kind = option ? OriginKind::derived : OriginKind::by_default;
      import_.draft.set("recompute.layers", *layers / chunks / every, founded);
    }
  }

  void read_run() {
    copy_count(import_, "training.steps", "training.steps");
    const auto saves = keys_.flag("checkpoint.enable");
    const auto interval = keys_.count("checkpoint.interval");
    const auto mode = keys_.text("checkpoint.async_mode");
    if (!saves.value_or(false)) {
      return;
    }
    if (interval) {
      import_.draft.set("checkpoint.interval",
                        fmt::format("{} steps", *interval),
                        read_from(*keys_.find("checkpoint.interval")));
    }
    import_.draft.set("checkpoint.mode",
                      mode && *mode != "disabled" ? "async" : "sync",
                      mode ? read_from(*keys_.find("checkpoint.async_mode"))
                           : default_of(import_, "async_mode is disabled"));
  }

  Import& import_;
  SourceKeys& keys_;
  bool command_ = false;  // the keys of the command line, since February 2026
  bool saved_ = false;
  std::int64_t tensor_ = 1;
  std::int64_t pipeline_ = 1;
};

}  // namespace

std::optional<std::string_view> torchtitan_schedule(std::string_view schedule) {
  const auto* known = std::find_if(
      kSchedules.begin(), kSchedules.end(), [&](const auto& one) { return one.ours == schedule; });
  return known == kSchedules.end() ? std::nullopt : std::optional(known->theirs);
}

void read_torchtitan(Import& import) {
  Torchtitan(import).read();
}

}  // namespace orrery::import_config
