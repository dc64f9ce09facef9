#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "sim/import_config/launch/launch_file.hpp"
#include "sim/import_config/trees/key_fates.hpp"

namespace orrery::import_config {

namespace {

using scenario::Scenario;

class Arguments {
 public:
  explicit Arguments(const Scenario& scenario) : scenario_(scenario) {
    add_rows(scenario, "megatron-lm", settings_);
  }

  [[nodiscard]] std::string value(std::string_view key) const { return value_at(scenario_, key); }

  [[nodiscard]] std::int64_t count(std::string_view key) const { return count_at(scenario_, key); }

  // Words of a command line: "--bf16 --fp8-format hybrid".
  void add(std::string_view words) {
    const std::vector<LaunchSetting> more = settings_of(words);
    settings_.insert(settings_.end(), more.begin(), more.end());
  }

  void add(std::string_view argument, std::int64_t number) {
    add(fmt::format("{} {}", argument, number));
  }

  std::vector<LaunchSetting> take() { return std::move(settings_); }

 private:
  const Scenario& scenario_;
  std::vector<LaunchSetting> settings_;
};

// [a, b] as a b.
std::string words(std::string list) {
  std::erase_if(list, [](char c) { return c == '[' || c == ']' || c == ','; });
  return list;
}

void add_model(const Scenario& scenario, Arguments& arguments) {
  const std::int64_t groups = arguments.count("model.num_query_groups");
  if (scenario.model.mla) {
    arguments.add("--multi-latent-attention");
  } else {
    arguments.add("--kv-channels", arguments.count("model.head_dim"));
    if (groups != arguments.count("model.num_attention_heads")) {
      arguments.add("--group-query-attention");
      arguments.add("--num-query-groups", groups);
    }
  }
  const std::int64_t positions = arguments.count("model.max_positions");
  arguments.add("--max-position-embeddings",
                positions > 0 ? positions : arguments.count("model.sequence_length"));
  arguments.add("--vocab-size", arguments.count("model.vocab_size"));
  arguments.add("--make-vocab-size-divisible-by 1");
  if (const std::int64_t window = arguments.count("model.attention_window.size"); window > 0) {
    arguments.add(fmt::format("--window-size {} 0", window - 1));
  }
}

void add_experts(const Scenario& scenario, Arguments& arguments) {
  if (!scenario.model.moe) {
    return;
  }
  const std::int64_t shared = arguments.count("model.moe.shared");
  if (shared > 0) {
    arguments.add("--moe-shared-expert-intermediate-size",
                  shared * arguments.count("model.moe.ffn_hidden_size"));
  }
  const std::int64_t layers = arguments.count("model.num_layers");
  if (const std::int64_t dense = arguments.count("model.moe.dense_layers"); dense > 0) {
    arguments.add(fmt::format("--moe-layer-freq '([0]*{}+[1]*{})'", dense, layers - dense));
  }
  if (const std::string capacity = arguments.value("model.moe.capacity");
      !capacity.empty() && capacity != "0" && capacity != "none") {
    arguments.add("--moe-expert-capacity-factor " + capacity);
  }
  if (arguments.value("model.moe.imbalance") == "1") {
    arguments.add("--moe-router-force-load-balancing");
  }
  const std::int64_t tensor = arguments.count("layout.expert_tensor");
  if (tensor > 0 && tensor != arguments.count("layout.tensor")) {
    arguments.add("--expert-tensor-parallel-size", tensor);
  }
}

// Et*3|t*29|t*3L, as --pipeline-model-parallel-layout takes it.
std::string stage_text(const std::vector<std::int64_t>& stages) {
  std::string text;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    text += fmt::format("{}{}{}", i == 0 ? "E" : "|",
                        stages[i] > 0 ? fmt::format("t*{}", stages[i]) : "",
                        i + 1 == stages.size() ? "L" : "");
  }
  return text;
}

void add_layout(const Scenario& scenario, Arguments& arguments) {
  const layout::LayoutSpec& layout = scenario.layout;
  if (layout.shard_group && layout.sharding != layout::Sharding::hsdp) {
    const std::int64_t ranks =
        scenario.cluster.nodes * scenario.cluster.gpus_per_node / (layout.tensor * layout.pipeline);
    arguments.add("--num-distributed-optimizer-instances", ranks / *layout.shard_group);
  }
  const auto& stages = layout.stage_layers;
  const bool even = !stages || std::adjacent_find(stages->begin(), stages->end(),
                                                  std::not_equal_to<>()) == stages->end();
  if (!even && layout.virtual_stages == 1 && stages->size() > 2 &&
      std::adjacent_find(stages->begin() + 1, stages->end() - 1, std::not_equal_to<>()) ==
          stages->end() - 1) {
    arguments.add("--decoder-first-pipeline-num-layers", stages->front());
    arguments.add("--decoder-last-pipeline-num-layers", stages->back());
  } else if (!even && std::ssize(*stages) == layout.pipeline * layout.virtual_stages) {
    arguments.add("--pipeline-model-parallel-layout " + stage_text(*stages));
  }
  if (arguments.value("layout.schedule") == "interleaved_combined") {
    arguments.add("--overlap-moe-expert-parallel-comm");
  }
}

// Of {modules: [a, b], layers: 2}.
std::string modules_of(const std::string& recompute) {
  const std::size_t begin = std::min(recompute.find('['), recompute.size());
  return words(recompute.substr(begin, recompute.find(']') - begin));
}

void add_step(const Scenario& scenario, Arguments& arguments) {
  // Megatron-LM drops a tenth where nothing is said.
  if (arguments.value("software_options.dropout").empty()) {
    arguments.add("--hidden-dropout 0 --attention-dropout 0");
  }
  const step::RecomputeSpec& recompute = scenario.step.recompute;
  if (recompute.policy == model::Recompute::full && recompute.layers) {
    arguments.add(fmt::format(
        "--recompute-granularity full --recompute-method block --recompute-num-layers {}",
        *recompute.layers));
  } else if (recompute.policy == model::Recompute::modules && !recompute.memory_budget) {
    arguments.add("--recompute-granularity selective --recompute-modules " +
                  modules_of(arguments.value("recompute")));
  }
  if (scenario.step.bucket) {
    const double bytes = arguments.value("precision.gradient_dtype") == "bf16" ? 2.0 : 4.0;
    arguments.add("--ddp-bucket-size",
                  static_cast<std::int64_t>(in_bytes(*scenario.step.bucket) / bytes));
  }
  if (const std::string graphs = words(arguments.value("software_options.cuda_graphs"));
      !graphs.empty()) {
    arguments.add("--cuda-graph-impl transformer_engine --cuda-graph-scope " + graphs);
  }
}

void add_run(const Scenario& scenario, Arguments& arguments) {
  const std::string interval = arguments.value("checkpoint.interval");
  if (const std::size_t steps = interval.find(" steps"); steps != std::string::npos) {
    arguments.add("--save-interval " + interval.substr(0, steps) + " --save $CHECKPOINTS");
    if (arguments.value("checkpoint.mode") == "async") {
      arguments.add("--async-save");
    }
  }
  if (scenario.run && scenario.run->training.tokens) {
    arguments.add("--train-samples",
                  static_cast<std::int64_t>(in_tokens(*scenario.run->training.tokens) /
                                            static_cast<double>(scenario.model.sequence_length)));
  }
  arguments.add("--data-path $DATA");
}

}  // namespace

std::vector<LaunchSetting> megatron_settings(const Scenario& scenario) {
  Arguments arguments(scenario);
  add_model(scenario, arguments);
  add_experts(scenario, arguments);
  add_layout(scenario, arguments);
  add_step(scenario, arguments);
  add_run(scenario, arguments);
  return arguments.take();
}

namespace {

// Lists stand with blanks on a command line.
std::string file_value(const LaunchSetting& setting) {
  if (setting.value.empty()) {
    return "true";
  }
  const bool several = setting.value.find(' ') != std::string::npos;
  const bool list = setting.key == "recompute_modules" || setting.key == "cuda_graph_scope";
  if (!several && !list) {
    std::string value = setting.value;
    std::erase(value, '\'');
    return value;
  }
  std::string text = setting.value;
  for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 2)) {
    text.replace(at, 1, ", ");
  }
  return "[" + text + "]";
}

// Megatron-Bridge and NeMo run Megatron Core: their files hold its arguments in sections, most of
// them under the same name.
std::vector<LaunchSetting> translated(const Scenario& scenario, std::string_view program) {
  std::vector<LaunchSetting> settings;
  for (const LaunchSetting& argument : megatron_settings(scenario)) {
    if (translate(program, argument, file_value(argument), settings)) {
      continue;
    }
    std::string key = key_ending_in(program, argument.key);
    if (key.empty() && program == "nemo") {
      key = "model." + argument.key;
    }
    if (!key.empty()) {
      settings.push_back({std::move(key), file_value(argument)});
    }
  }
  if (scenario.model.moe && value_at(scenario, "software_options.grouped_gemm") == "per_expert") {
    settings.push_back({"model.moe_grouped_gemm", "false"});
  }
  return settings;
}

}  // namespace

std::vector<LaunchSetting> bridge_settings(const Scenario& scenario) {
  std::vector<LaunchSetting> settings = {
      {"_target_", "megatron.bridge.training.config.ConfigContainer"}};
  const auto more = translated(scenario, "megatron-bridge");
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::vector<LaunchSetting> nemo_settings(const Scenario& scenario) {
  std::vector<LaunchSetting> settings = {
      {"trainer.num_nodes", fmt::format("{}", scenario.cluster.nodes)},
      {"trainer.devices", fmt::format("{}", scenario.cluster.gpus_per_node)}};
  const auto more = translated(scenario, "nemo");
  settings.insert(settings.end(), more.begin(), more.end());
  if (scenario.step.bucket) {
    settings.push_back(
        {"model.optim.bucket_cap_mb",
         fmt::format("{}", static_cast<std::int64_t>(in_mebibytes(*scenario.step.bucket)))});
  }
  return settings;
}

}  // namespace orrery::import_config
