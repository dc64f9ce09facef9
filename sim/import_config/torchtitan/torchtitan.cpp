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

#include "sim/import_config/torchtitan/torchtitan_flavors.hpp"
#include "sim/import_config/trees/key_fates.hpp"
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
    read_sharding();
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
    const auto name = keys_.text(saved_ ? "model_spec.name" : command_ ? "module" : "model.name");
    const std::string_view flavor_key = saved_     ? "model_spec.flavor"
                                        : command_ ? "config"
                                                   : "model.flavor";
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
          "model.num_layers", item,
          fmt::format("the dimensions of {} {} are in torchtitan's code; give the config.json of "
                      "the model as a second file, or state them (known: {})",
                      yaml::display(*name), yaml::display(*flavor), known_flavors()));
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
      import_.usual(target, std::int64_t{1}, fmt::format("{} is 1", key));
    }
    return value.value_or(1);
  }

  void read_degrees() {
    const std::int64_t tensor = degree("tensor_parallel_degree", "layout.tensor");
    const std::int64_t context = degree("context_parallel_degree", "layout.context");
    pipeline_ = degree("pipeline_parallel_degree", "layout.pipeline");
    if (degree("expert_parallel_degree", "layout.expert") > 1) {
      copy_count(import_, "parallelism.expert_tensor_parallel_degree", "layout.expert_tensor");
      import_.usual("layout.expert_tensor", std::int64_t{1},
                    "experts are not split by tensor parallelism");
    }
    static_cast<void>(keys_.take("parallelism.expert_tensor_parallel_degree"));
    if (tensor > 1) {
      copy_flag(import_, "parallelism.enable_sequence_parallel", "layout.sequence_parallel");
      import_.usual("layout.sequence_parallel", true, "tensor parallelism is sequence-parallel");
    }
    const std::string async = keys_.find("compile.enable_async_tensor_parallel") != nullptr
                                  ? "compile.enable_async_tensor_parallel"
                                  : "parallelism.enable_async_tensor_parallel";
    copy_flag(import_, async, "overlap.tensor");
    const std::string_view rotate = "parallelism.context_parallel_rotate_method";
    if (keys_.text(rotate) && context > 1) {
      set_word("layout.context_method", rotate,
               {{"alltoall", "ring"}, {"allgather", "all_gather"}});
    }
  }

  void keep(std::string_view path, std::optional<PendingCount>& slot, std::string_view target) {
    const SourceItem* item = keys_.take(path);
    if (item == nullptr || item->value.text != "-1") {
      keep_count(import_, path, slot, target);
    }
  }

  // -1 takes the ranks that the other degrees leave over: only known with the number of GPUs.
  void read_sharding() {
    Pending& pending = import_.pending;
    pending.fsdp = true;
    keep_count(import_, "parallelism.data_parallel_replicate_degree", pending.replicate,
               "layout.sharding");
    keep("parallelism.data_parallel_shard_degree", pending.shard, "layout.sharding");
    const std::string_view reshards = "parallelism.fsdp_reshard_after_forward";
    const auto reshard = keys_.text(reshards);
    if (reshard && *reshard != "default") {
      set_word("overlap.fsdp.reshard", reshards, {{"always", "true"}, {"never", "false"}});
    } else if (pipeline_ > 1) {
      import_.usual("overlap.fsdp.reshard", false, "with a pipeline gathered parameters stay");
    }
    import_.set_if("training.enable_cpu_offload", "offload.optimizer", "cpu");
    import_.set_if("training.enable_cpu_offload", "offload.parameters", "cpu");
  }

  void read_pipeline() {
    const std::string_view key = "parallelism.pipeline_parallel_schedule";
    const auto name = keys_.text(key);
    const std::string wanted = name.value_or("1F1B");
    const auto* known = std::find_if(kSchedules.begin(), kSchedules.end(),
                                     [&](const auto& s) { return s.theirs == wanted; });
    if (pipeline_ <= 1) {
      return;
    }
    if (known == kSchedules.end()) {
      import_.draft.leave_open("layout.schedule", *keys_.find(key),
                               fmt::format("{} is a schedule that a scenario does not have (orrery "
                                           "list schedules)",
                                           yaml::display(wanted)));
      return;
    }
    if (name) {
      import_.set("layout.schedule", std::string(known->ours), key);
    } else {
      import_.usual("layout.schedule", std::string(known->ours), "1F1B");
    }
    split_layers(known->many_stages);
    if (keys_.take("parallelism.module_fqns_per_model_part") != nullptr) {
      leave_out(import_, "parallelism.module_fqns_per_model_part", Effect::large,
                "an explicit split of modules: state layout.stage_layers");
    }
  }

  // Layers are dealt evenly, with embedding and output counted as some of them.
  void split_layers(bool many_stages) {
    const std::string_view per_stage_key = "parallelism.pipeline_parallel_layers_per_stage";
    const auto less = [this](std::string_view end) {
      return keys_.count(fmt::format("parallelism.pipeline_parallel_{}_stage_less_layers", end))
          .value_or(1);
    };
    const std::int64_t first = less("first");
    const std::int64_t last = less("last");
    const auto per_stage = keys_.count(per_stage_key);
    const auto layers = import_.draft.count("model.num_layers");
    constexpr std::int64_t kMost = 10'000;
    if (!layers || *layers > kMost || pipeline_ > kMost || first > kMost || last > kMost) {
      return;
    }
    const std::int64_t all = *layers + first + last;
    std::int64_t stages = pipeline_ * (many_stages ? 2 : 1);
    Origin origin = default_of(import_, many_stages ? "two stages a device" : "one stage a device");
    if (per_stage && *per_stage > 0) {
      const SourceItem& item = *keys_.find(per_stage_key);
      stages = (all + *per_stage - 1) / *per_stage;
      origin = derived_from(item, fmt::format("{} layers in stages of {}", all, *per_stage));
      if (stages % pipeline_ != 0) {
        keys_.error(item, fmt::format("makes {} stages, which {} devices do not share evenly",
                                      stages, pipeline_));
        return;
      }
    }
    import_.draft.set("layout.virtual_stages", stages / pipeline_, origin);
    std::vector<std::int64_t> split;
    for (std::int64_t stage = 0; stage < stages; ++stage) {
      split.push_back(all / stages + (stage < all % stages ? 1 : 0) - (stage == 0 ? first : 0) -
                      (stage == stages - 1 ? last : 0));
    }
    if (std::all_of(split.begin(), split.end(), [](std::int64_t n) { return n >= 0; })) {
      import_.usual("layout.stage_layers", fmt::format("[{}]", fmt::join(split, ", ")),
                    fmt::format("embedding and output count as {} and {} layers", first, last));
    }
  }

  // Tokens in place of sequences, since the summer of 2026.
  void read_batch_in_tokens() {
    Pending& pending = import_.pending;
    copy_count(import_, "training.max_context_length", "model.sequence_length");
    keep_count(import_, "training.num_tokens_per_microbatch_per_dp_rank", pending.local_tokens,
               "batch.micro");
    keep("training.num_tokens_per_train_step", pending.step_tokens, "batch.global");
    if (pipeline_ > 1) {  // ignored without a pipeline
      keep_count(import_, "parallelism.num_pp_microbatches", pending.accumulation, "batch.global");
    }
    static_cast<void>(keys_.take("parallelism.num_pp_microbatches"));
  }

  void read_batch() {
    if (command_ && keys_.find("training.local_batch_size") == nullptr &&
        keys_.find("training.seq_len") == nullptr) {
      read_batch_in_tokens();
      return;
    }
    copy_count(import_, "training.seq_len", "model.sequence_length");
    keep_count(import_, "training.local_batch_size", import_.pending.local_batch, "batch.global");
    const SourceItem* global = keys_.take("training.global_batch_size");
    if (global != nullptr && global->value.text != "-1") {
      copy_count(import_, "training.global_batch_size", "batch.global");
    }
    const std::string_view micro = "parallelism.pipeline_parallel_microbatch_size";
    static_cast<void>(keys_.take(micro));
    if (pipeline_ <= 1) {
      copy_count(import_, "training.local_batch_size", "batch.micro");
    } else if (!copy_count(import_, micro, "batch.micro")) {
      import_.usual("batch.micro", std::int64_t{1}, "pipeline_parallel_microbatch_size is 1");
    }
  }

  [[nodiscard]] bool converts(std::string_view word) {
    const auto converters = keys_.texts("model.converters");
    return std::any_of(converters.begin(), converters.end(), [word](const std::string& name) {
      return name.find(word) != std::string::npos;
    });
  }

  // Experts alone in 8 bits, adapters and what a module brings of its own are not read.
  void judge_converters() {
    constexpr std::array<std::string_view, 4> kKnown = {"float8", "quantize.linear.float8", "mx",
                                                        "quantize.linear.mx"};
    const auto is_known = [&kKnown](const std::string& name) {
      return std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
    };
    const std::vector<std::string> names = keys_.texts("model.converters");
    const bool linear = std::any_of(names.begin(), names.end(), is_known);
    for (const std::string& name : names) {
      if (!is_known(name) && !(linear && name.starts_with("quantize.grouped_mm"))) {
        leave_out(import_, "model.converters", Effect::large,
                  fmt::format("what {} does to the model is not known", yaml::display(name)),
                  "precision.compute");
      }
    }
  }

  void read_compute() {
    judge_converters();
    const std::string_view target = "precision.compute";
    const std::string_view converters = "model.converters";
    const std::string_view recipe_key = "quantize.linear.float8.recipe_name";
    const std::string_view dtype_key = "training.mixed_precision_param";
    if (converts("mx")) {
      import_.set(target, "mxfp8", converters);
    } else if (const bool eight = converts("float8");
               eight || import_.on("float8.enable_float8_linear")) {
      if (const auto recipe = keys_.text(recipe_key)) {
        import_.set(target, recipe->starts_with("rowwise") ? "fp8-rowwise" : "fp8-tensorwise",
                    recipe_key);
      } else {
        import_.derive(
            target, "fp8-tensorwise",
            keys_.find(converters) != nullptr ? converters : "float8.enable_float8_linear",
            "scales per tensor by default");
      }
      if (import_.draft.is(target, "fp8-tensorwise")) {
        import_.usual("precision.parameters", "bf16", "enable_fsdp_float8_all_gather is false");
      }
    } else if (const auto dtype = keys_.text(dtype_key)) {
      set_word(target, dtype_key, {{"bfloat16", "bf16"}, {"float32", "fp32"}});
    } else {
      import_.usual(target, "bf16", "mixed_precision_param is bfloat16");
    }
  }

  // One of the words that the key takes.
  void set_word(std::string_view target, std::string_view path,
                std::initializer_list<std::pair<std::string_view, const char*>> words) {
    const std::string text = keys_.text(path).value_or("");
    const auto* known = std::find_if(words.begin(), words.end(),
                                     [&text](const auto& one) { return one.first == text; });
    if (known == words.end()) {
      import_.leave_unknown(target, path);
    } else {
      import_.set(target, known->second, path);
    }
  }

  void read_precision() {
    read_compute();
    const std::string_view reduce = "training.mixed_precision_reduce";
    if (keys_.text(reduce)) {
      set_word("precision.gradient_dtype", reduce, {{"float32", "fp32"}});
    }
    import_.usual("precision.gradient_dtype", "fp32", "mixed_precision_reduce is float32");
    const std::string_view state = "precision.optimizer.state_bytes";
    const std::string dtype = keys_.text("training.dtype").value_or("float32");
    if (dtype == "bfloat16") {
      import_.derive(state, "4B", "training.dtype", "two moments in bf16, no copy in fp32");
    } else if (dtype != "float32") {
      import_.leave_unknown(state, "training.dtype");
    }
    const auto compile = keys_.flag("compile.enable");
    const auto parts = keys_.texts("compile.components");
    const bool model_too =
        parts.empty() || std::find(parts.begin(), parts.end(), "model") != parts.end();
    if (compile) {
      import_.set("compile", *compile && model_too, "compile.enable");
    }
  }

  void read_recompute() {
    const std::string_view mode_key = "activation_checkpoint.mode";
    const std::string_view option_key = "activation_checkpoint.selective_ac_option";
    if (saved_ && keys_.find(mode_key) == nullptr) {
      read_saved_recompute(import_);
      return;
    }
    const auto mode = keys_.text(mode_key);
    const auto option = keys_.text(option_key);
    const SourceItem* item = keys_.find(mode_key);
    if (command_ && !mode) {
      return;
    }
    if (mode && (*mode == "full" || *mode == "none")) {
      import_.set("recompute", *mode, mode_key);
    } else if (mode && *mode == "memory_budget") {
      const std::string_view key = "activation_checkpoint.memory_budget";
      const auto share = keys_.text(key);
      import_.draft.set(
          "recompute.memory_budget", share.value_or("0.5"),
          share ? read_from(*keys_.find(key)) : derived_from(*item, "0.5 by default"));
    } else if (mode && *mode != "selective") {
      import_.draft.leave_open(
          "recompute", *item,
          fmt::format("{} is a mode that a scenario does not have", yaml::display(*mode)));
    } else if (option && *option == kNotPrinted) {
      import_.draft.leave_open("recompute", *item,
                               "the log does not say what is recomputed; selective_operations with "
                               "the option `op`");
    } else if (option && *option == "op") {
      import_.set("recompute", "selective_operations", option_key);
    } else {
      recompute_layers(option ? keys_.count(option_key).value_or(2) : 2,
                       option ? keys_.find(option_key) : item);
    }
  }

  void recompute_layers(std::int64_t every, const SourceItem* item) {
    every = std::max<std::int64_t>(every, 1);
    const auto layers = import_.draft.count("model.num_layers");
    const auto chunks = import_.draft.count("layout.virtual_stages").value_or(1) * pipeline_;
    if (layers && chunks > 0 && *layers / chunks / every > 0) {
      const std::string why = fmt::format("every {}th layer of each chunk", every);
      Origin origin = item == nullptr ? default_of(import_, why) : derived_from(*item, why);
      const bool stated = item != nullptr && item->path != "activation_checkpoint.mode";
      origin.kind = stated ? origin.kind : OriginKind::by_default;
      import_.draft.set("recompute.layers", *layers / chunks / every, origin);
    }
  }

  void read_run() {
    copy_count(import_, "training.steps", "training.steps");
    const auto interval = keys_.count("checkpoint.interval");
    const auto mode = keys_.text("checkpoint.async_mode");
    if (!import_.on("checkpoint.enable")) {
      return;
    }
    if (interval) {
      import_.set("checkpoint.interval", fmt::format("{} steps", *interval), "checkpoint.interval");
    }
    if (mode) {
      set_word("checkpoint.mode", "checkpoint.async_mode",
               {{"disabled", "sync"}, {"async", "async"}, {"async_with_pinned_mem", "async"}});
    } else {
      import_.usual("checkpoint.mode", "sync", "async_mode is disabled");
    }
  }

  Import& import_;
  SourceKeys& keys_;
  bool command_ = false;  // the keys of the command line, since February 2026
  bool saved_ = false;
  std::int64_t pipeline_ = 1;
};

}  // namespace

std::optional<std::string_view> torchtitan_schedule(std::string_view schedule) {
  const auto* known = std::find_if(kSchedules.begin(), kSchedules.end(),
                                   [&](const auto& one) { return one.ours == schedule; });
  return known == kSchedules.end() ? std::nullopt : std::optional(known->theirs);
}

void read_torchtitan(Import& import) { Torchtitan(import).read(); }

}  // namespace orrery::import_config
