#include "sim/import_config/launch/launch_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "sim/import_config/import_config.hpp"
#include "sim/import_config/torchtitan/torchtitan_flavors.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::import_config {

namespace {

using scenario::Scenario;

struct Program {
  std::string_view name;  // for people
  std::string_view file;
  ConfigFormat format;
  std::vector<LaunchSetting> (*settings)(const Scenario&);
};

constexpr std::array<Program, 5> kPrograms = {{
    {"Megatron-LM", "launch.sh", ConfigFormat::megatron_args, megatron_settings},
    {"Megatron-Bridge", "config.yaml", ConfigFormat::megatron_bridge, bridge_settings},
    {"NeMo", "config.yaml", ConfigFormat::nemo, nemo_settings},
    {"torchtitan", "train.toml", ConfigFormat::torchtitan, torchtitan_settings},
    {"DeepSpeed", "ds_config.json", ConfigFormat::deepspeed, deepspeed_settings},
}};

// What a launch file says of a scenario; the run and the machines are not its.
constexpr std::array<std::string_view, 9> kSections = {"model",     "layout",           "batch",
                                                       "precision", "recompute",        "compile",
                                                       "overlap",   "software_options", "offload"};

// Facts of the machine, which no launch file states.
constexpr std::array<std::string_view, 5> kOfTheMachine = {
    "offload.link", "offload.host_bandwidth", "offload.host_memory", "offload.nvme_read",
    "offload.nvme_write"};

// Said of every scenario, stated or not.
constexpr std::array<std::string_view, 18> kAlways = {"model.num_layers",
                                                      "model.hidden_size",
                                                      "model.ffn_hidden_size",
                                                      "model.num_attention_heads",
                                                      "model.sequence_length",
                                                      "model.mtp",
                                                      "model.moe.num_experts",
                                                      "model.moe.top_k",
                                                      "model.moe.ffn_hidden_size",
                                                      "batch.micro",
                                                      "batch.global",
                                                      "layout.tensor",
                                                      "layout.context",
                                                      "layout.pipeline",
                                                      "layout.virtual_stages",
                                                      "layout.expert",
                                                      "layout.sharding",
                                                      "precision.compute"};

// What a preset or a scenario may say of the model beyond plain layers of attention and MLP.
constexpr std::array<std::string_view, 11> kOfItsLayers = {"model.layer_types",
                                                           "model.moe.dense_branch",
                                                           "model.compressed_attention.q_lora_rank",
                                                           "model.residual_streams",
                                                           "model.output_gate",
                                                           "model.attention_window.size",
                                                           "model.full_attention.head_dim",
                                                           "model.sparse_attention.top_k",
                                                           "model.linear_attention.value_heads",
                                                           "model.lora.rank",
                                                           "model.reference"};

const Program& info(LaunchProgram program) { return kPrograms[static_cast<std::size_t>(program)]; }

// One line of a comment, whatever the name holds.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

// As a shell takes it: variables grow, patterns do not.
std::string shell_word(const std::string& value) {
  if (value.starts_with("$")) {
    return "\"" + value + "\"";
  }
  const bool plain = value.find_first_of("|*()[]") == std::string::npos || value.starts_with("'");
  return plain ? value : "'" + value + "'";
}

std::string script(const Scenario& scenario, const std::vector<LaunchSetting>& settings) {
  std::string arguments;
  for (LaunchSetting one : settings) {
    std::replace(one.key.begin(), one.key.end(), '_', '-');
    arguments += fmt::format(" \\\n  --{}{}{}", one.key, one.value.empty() ? "" : " ",
                             shell_word(one.value));
  }
  return fmt::format(
      "#!/bin/bash\n"
      "# {}\n"
      "# {} nodes of {} GPUs. Set NODE_RANK, MASTER_ADDR, DATA and CHECKPOINTS on every node; add\n"
      "# tokenizer and learning rate{}.\n"
      "torchrun --nnodes {} --nproc-per-node {} --node-rank \"$NODE_RANK\" \\\n"
      "  --master-addr \"$MASTER_ADDR\" pretrain_gpt.py{}\n",
      one_line(scenario.name), scenario.cluster.nodes, scenario.cluster.gpus_per_node,
      scenario.run ? "" : ", and --train-iters", scenario.cluster.nodes,
      scenario.cluster.gpus_per_node, arguments);
}

std::string text_of(const Scenario& scenario, LaunchProgram program) {
  const std::vector<LaunchSetting> settings = info(program).settings(scenario);
  const std::string head = fmt::format("# {}\n# {} nodes of {} GPUs\n", one_line(scenario.name),
                                       scenario.cluster.nodes, scenario.cluster.gpus_per_node);
  switch (program) {
    case LaunchProgram::megatron:
      return script(scenario, settings);
    case LaunchProgram::megatron_bridge:
    case LaunchProgram::nemo:
      return head + as_tree(settings, TreeFormat::yaml);
    case LaunchProgram::torchtitan:
      return head + as_tree(settings, TreeFormat::toml);
    case LaunchProgram::deepspeed:
      return as_tree(settings, TreeFormat::json);
  }
  return {};
}

// The model's code decides these, not DeepSpeed's file.
bool is_of_the_code(std::string_view key) {
  return key.starts_with("model.") || key.starts_with("recompute") ||
         key.starts_with("software_options.") || key == "layout.schedule" ||
         key == "layout.sequence_parallel" || key == "compile" ||
         key.starts_with("precision.optimizer");
}

// What the scenario says of these sections, by the file or by recipes.
std::set<std::string> said_keys(const Scenario& scenario, LaunchProgram program) {
  std::set<std::string> keys(kAlways.begin(), kAlways.end());
  keys.insert(kOfItsLayers.begin(), kOfItsLayers.end());
  for (const auto& [key, where] : scenario.locations) {
    keys.insert(key);
  }
  for (const scenario::RecipeSetting& setting : scenario.recipe.settings) {
    keys.insert(setting.key);
  }
  std::erase_if(keys, [program](const std::string& key) {
    const std::string_view section = std::string_view(key).substr(0, key.find('.'));
    const bool counted = std::find(kSections.begin(), kSections.end(), section) != kSections.end();
    return !counted || key == "model" || key == "model.preset" || key == "model.name" ||
           key == "layout.data" || (program == LaunchProgram::deepspeed && is_of_the_code(key)) ||
           std::find(kOfTheMachine.begin(), kOfTheMachine.end(), key) != kOfTheMachine.end();
  });
  return keys;
}

bool is_even(const std::vector<std::int64_t>& layers) {
  return std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to<>()) == layers.end();
}

// Whether the value is what these programs do without a word about it.
bool is_usual(const Scenario& scenario, const std::string& key, const std::string& value) {
  const layout::LayoutSpec& layout = scenario.layout;
  if (key == "layout.stage_layers") {
    return is_even(*layout.stage_layers);
  }
  if (key == "layout.shard_group") {  // all that hold the same parameters
    const std::int64_t ranks = scenario.cluster.nodes * scenario.cluster.gpus_per_node;
    return *layout.shard_group == ranks / (layout.tensor * layout.pipeline);
  }
  if (key == "layout.order") {
    return layout.pipeline == 1;
  }
  if (key == "overlap.first_bucket") {  // what another program's default was, has its own here
    return scenario.is_set_by_recipe(key);
  }
  if (key == "overlap.tensor") {  // nothing to overlap
    return layout.tensor == 1 || !layout.sequence_parallel;
  }
  if (key == "overlap.reduction") {
    const bool shards_gradients = layout.sharding == layout::Sharding::zero2 ||
                                  layout.sharding == layout::Sharding::zero3 ||
                                  layout.sharding == layout::Sharding::hsdp;
    return value == (shards_gradients ? "per_micro_batch" : "per_step");
  }
  return value == "false" || value == "[]" || value == "1" || value == "none";
}

// What the file leaves to others: machines, and of DeepSpeed the model.
std::vector<GivenKey> given_keys(const Scenario& scenario, LaunchProgram program) {
  std::vector<GivenKey> given;
  const auto give = [&](std::string_view key) {
    if (const auto value = scenario::value_of(scenario, key)) {
      given.push_back({std::string(key), *value, "export"});
    }
  };
  give("cluster.gpu");  // nodes by their number, which a scenario may state as GPUs
  given.push_back({"cluster.nodes", std::to_string(scenario.cluster.nodes), "export"});
  given.push_back(
      {"cluster.gpus_per_node", std::to_string(scenario.cluster.gpus_per_node), "export"});
  if (scenario.cluster.nodes > 1) {  // which one is the machine's, not the launch file's
    given.push_back({"cluster.network.preset", "infiniband-400g", "export"});
  }
  if (program != LaunchProgram::deepspeed) {  // whose importer names a stack itself
    given.push_back({"software", scenario.software, "export"});
    if (scenario.step.precision.is_master()) {  // what silence means to these programs
      const bool titan = program == LaunchProgram::torchtitan;
      given.push_back({"precision.compute", titan ? "bf16" : "fp32", "export"});
    }
  } else {
    for (const std::string_view key : kAlways) {
      if (key.starts_with("model.") && (scenario.model.moe || !key.starts_with("model.moe."))) {
        give(key);
      }
    }
    give("model.vocab_size");
    for (const std::string_view key : kOfTheMachine) {
      give(key);
    }
  }
  return given;
}

std::optional<Scenario> read_back(const std::string& text, const Scenario& scenario,
                                  LaunchProgram program, Diagnostics& diagnostics) {
  ImportOptions options;
  options.name = scenario.name;
  options.settings = given_keys(scenario, program);
  const std::vector<ConfigFile> files = {
      {std::string(info(program).file), text, info(program).format}};
  Diagnostics found;
  const ImportResult result = import_configs(files, options, found);
  auto again = found.has_errors() || result.scenario.empty()
                   ? std::nullopt
                   : scenario::load_text(result.scenario, scenario.file, found);
  if (!again) {
    diagnostics.error(
        scenario.where(""), "export",
        fmt::format("{} could not be read back: {}", info(program).file, to_string(found)),
        "a scenario that this program can run");
  }
  return again;
}

bool can_be_said(const Scenario& scenario, LaunchProgram program, Diagnostics& diagnostics) {
  constexpr const char* kDispatcher = "software_options.expert_dispatcher";
  if (program == LaunchProgram::megatron && scenario.model.moe && scenario.layout.expert > 1 &&
      !scenario::value_of(scenario, kDispatcher)) {
    diagnostics.error(scenario.where(kDispatcher), kDispatcher,
                      "is not stated, and Megatron-LM by itself gathers all tokens",
                      "alltoall, deepep or hybridep");
    return false;
  }
  const std::vector<LaunchSetting> settings = info(program).settings(scenario);
  const bool named = std::any_of(settings.begin(), settings.end(), [](const LaunchSetting& one) {
    return one.key == "model.flavor";
  });
  if (program == LaunchProgram::torchtitan && !named) {
    diagnostics.error(scenario.where("model"), "model",
                      "torchtitan has no model of these dimensions", known_flavors());
    return false;
  }
  return true;
}

}  // namespace

std::optional<LaunchProgram> find_launch_program(std::string_view name) {
  const auto* known = std::find(kLaunchPrograms.begin(), kLaunchPrograms.end(), name);
  return known == kLaunchPrograms.end()
             ? std::nullopt
             : std::optional(static_cast<LaunchProgram>(known - kLaunchPrograms.begin()));
}

std::optional<std::string> launch_file(const Scenario& scenario, LaunchProgram program,
                                       Diagnostics& diagnostics) {
  if (!can_be_said(scenario, program, diagnostics)) {
    return std::nullopt;
  }
  const std::string text = text_of(scenario, program);
  const auto again = read_back(text, scenario, program, diagnostics);
  if (!again) {
    return std::nullopt;
  }
  const std::string_view name = info(program).name;
  for (const std::string& key : said_keys(scenario, program)) {
    const auto value = scenario::value_of(scenario, key);
    const auto got = scenario::value_of(*again, key);
    if (program == LaunchProgram::torchtitan && value == "selective" &&
        got == "selective_operations") {
      continue;  // its stack's word for the same
    }
    const bool silent = !got || key == "layout.stage_layers" || key == "layout.order" ||
                        key == "overlap.reduction" || key == "overlap.tensor";
    if (value && value != got && !(silent && is_usual(scenario, key, *value))) {
      diagnostics.error(
          scenario.where(key), key,
          fmt::format("{} has no {} for {}", name,
                      program == LaunchProgram::megatron ? "argument" : "key", *value),
          got ? fmt::format("it would run {}", *got) : "leave it out");
    }
  }
  return diagnostics.has_errors() ? std::nullopt : std::optional(text);
}

}  // namespace orrery::import_config
