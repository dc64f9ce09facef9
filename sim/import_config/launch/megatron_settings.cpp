#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <string_view>
#include <vector>

#include "sim/import_config/key_fates.hpp"
#include "sim/import_config/launch/launch_settings.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::import_config {

namespace {

using scenario::Scenario;

// Said with its value, unless that is what Megatron-LM takes anyway.
struct Valued {
  std::string_view key;
  std::string_view argument;
  std::string_view silent = {};
};

constexpr std::array<Valued, 23> kValued = {
    {{"model.num_layers", "--num-layers"},
     {"model.hidden_size", "--hidden-size"},
     {"model.ffn_hidden_size", "--ffn-hidden-size"},
     {"model.num_attention_heads", "--num-attention-heads"},
     {"model.sequence_length", "--seq-length"},
     {"model.mtp", "--mtp-num-layers", "0"},
     {"model.moe.num_experts", "--num-experts"},
     {"model.moe.top_k", "--moe-router-topk"},
     {"model.moe.ffn_hidden_size", "--moe-ffn-hidden-size"},
     {"model.mla.q_lora_rank", "--q-lora-rank", "0"},
     {"model.mla.kv_lora_rank", "--kv-lora-rank"},
     {"model.mla.qk_nope_head_dim", "--qk-head-dim"},
     {"model.mla.qk_rope_head_dim", "--qk-pos-emb-head-dim"},
     {"model.mla.v_head_dim", "--v-head-dim"},
     {"batch.micro", "--micro-batch-size"},
     {"batch.global", "--global-batch-size"},
     {"layout.tensor", "--tensor-model-parallel-size", "1"},
     {"layout.context", "--context-parallel-size", "1"},
     {"layout.pipeline", "--pipeline-model-parallel-size", "1"},
     {"layout.virtual_stages", "--num-virtual-stages-per-pipeline-rank", "1"},
     {"layout.expert", "--expert-model-parallel-size", "1"},
     {"model.attention_window.full_every", "--window-attn-skip-freq", "1"},
     {"training.steps", "--train-iters"}}};

// Said where the key has this value. `beside`: only where that key is above 1.
struct Switch {
  std::string_view key;
  std::string_view value;
  std::string_view arguments;
  std::string_view beside = {};
};

constexpr std::array<Switch, 40> kSwitches = {{
    {"model.activation", "swiglu", "--swiglu"},
    {"model.activation", "squared_relu", "--squared-relu"},
    {"model.norm", "rms_norm", "--normalization RMSNorm"},
    {"model.position", "rotary", "--position-embedding-type rope"},
    {"model.position", "none", "--position-embedding-type none"},
    {"model.tie_embeddings", "false", "--untie-embeddings-and-output-weights"},
    {"model.linear_bias", "false", "--disable-bias-linear"},
    {"model.qkv_bias", "true", "--add-qkv-bias"},
    {"layout.sequence_parallel", "true", "--sequence-parallel"},
    {"layout.order", "[tp, cp, pp, dp]", "--use-tp-pp-dp-mapping"},
    {"layout.sharding", "zero1", "--use-distributed-optimizer"},
    {"layout.sharding",
     "zero2",
     "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads"},
    {"layout.sharding",
     "zero3",
     "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params"},
    {"layout.context_method", "ring", "--cp-comm-type p2p", "layout.context"},
    {"layout.context_method", "all_gather", "--cp-comm-type all_gather", "layout.context"},
    {"layout.context_method", "all_to_all", "--cp-comm-type a2a", "layout.context"},
    {"precision.compute", "bf16", "--bf16"},
    {"precision.compute", "fp16", "--fp16"},
    {"precision.compute", "fp8-delayed", "--bf16 --fp8-format hybrid --fp8-recipe delayed"},
    {"precision.compute", "fp8-tensorwise", "--bf16 --fp8-format hybrid --fp8-recipe tensorwise"},
    {"precision.compute", "fp8-block", "--bf16 --fp8-format e4m3 --fp8-recipe blockwise"},
    {"precision.compute", "mxfp8", "--bf16 --fp8-format e4m3 --fp8-recipe mxfp8"},
    {"precision.compute", "nvfp4", "--bf16 --fp4-format e2m1"},
    {"precision.gradient_dtype", "bf16", "--grad-reduce-in-bf16"},
    {"precision.gradient_dtype", "fp32", "--accumulate-allreduce-grads-in-fp32"},
    {"precision.deterministic", "true", "--deterministic-mode"},
    {"precision.parameters", "fp8", "--fp8-param-gather"},
    {"overlap.data", "true", "--overlap-grad-reduce --overlap-param-gather"},
    {"overlap.tensor", "true", "--tp-comm-overlap"},
    {"overlap.expert", "true", "--overlap-moe-expert-parallel-comm"},
    {"overlap.pipeline", "false", "--no-overlap-p2p-communication", "layout.virtual_stages"},
    {"software_options.dropout", "false", "--hidden-dropout 0 --attention-dropout 0"},
    {"software_options.gradient_fusion", "false", "--no-gradient-accumulation-fusion"},
    {"software_options.grouped_gemm", "grouped", "--moe-grouped-gemm", "model.moe.num_experts"},
    {"software_options.expert_dispatcher",
     "alltoall",
     "--moe-token-dispatcher-type alltoall",
     "model.moe.num_experts"},
    {"software_options.expert_dispatcher",
     "deepep",
     "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep",
     "model.moe.num_experts"},
    {"software_options.expert_dispatcher",
     "hybridep",
     "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep",
     "model.moe.num_experts"},
    {"offload.optimizer", "cpu", "--optimizer-cpu-offload"},
    {"recompute", "selective", "--recompute-granularity selective"},
    {"recompute",
     "full",
     "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"},
}};

class Arguments {
 public:
  explicit Arguments(const Scenario& scenario) : scenario_(scenario) {}

  [[nodiscard]] std::string value(std::string_view key) const {
    return scenario::value_of(scenario_, key).value_or("");
  }

  [[nodiscard]] std::int64_t count(std::string_view key) const {
    const std::string text = value(key);
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  // Words of a command line: "--bf16 --fp8-format hybrid".
  void add(std::string_view words) {
    for (const LaunchSetting& one : settings_of(words)) {
      settings_.push_back(one);
    }
  }

  void add(std::string_view argument, std::int64_t number) {
    add(fmt::format("{} {}", argument, number));
  }

  std::vector<LaunchSetting> take() {
    return std::move(settings_);
  }

 private:
  const Scenario& scenario_;
  std::vector<LaunchSetting> settings_;
};

// [a, b] as a b.
std::string words(std::string list) {
  std::erase_if(list, [](char c) { return c == '[' || c == ']' || c == ','; });
  return list;
}

void add_tables(Arguments& arguments) {
  for (const Valued& row : kValued) {
    const std::string value = arguments.value(row.key);
    if (!value.empty() && value != row.silent) {
      arguments.add(fmt::format("{} {}", row.argument, value));
    }
  }
  for (const Switch& row : kSwitches) {
    if (arguments.value(row.key) == row.value &&
        (row.beside.empty() || arguments.count(row.beside) > 1)) {
      arguments.add(row.arguments);
    }
  }
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
    text += fmt::format("{}{}{}",
                        i == 0 ? "E" : "|",
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
  const bool even =
      !stages ||
      std::adjacent_find(stages->begin(), stages->end(), std::not_equal_to<>()) == stages->end();
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
  } else if (recompute.policy == model::Recompute::modules) {
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

std::vector<LaunchSetting> settings_of(std::string_view words) {
  std::vector<LaunchSetting> settings;
  while (!words.empty()) {
    const std::string_view word = cut(words, ' ');
    if (word.starts_with("--")) {
      settings.push_back({std::string(word.substr(2)), ""});
    } else if (!word.empty() && !settings.empty()) {
      settings.back().value += settings.back().value.empty() ? "" : " ";
      settings.back().value += word;
    }
  }
  for (LaunchSetting& one : settings) {
    std::replace(one.key.begin(), one.key.end(), '-', '_');
  }
  return settings;
}

std::vector<LaunchSetting> megatron_settings(const Scenario& scenario) {
  Arguments arguments(scenario);
  add_tables(arguments);
  add_model(scenario, arguments);
  add_experts(scenario, arguments);
  add_layout(scenario, arguments);
  add_step(scenario, arguments);
  add_run(scenario, arguments);
  return arguments.take();
}

}  // namespace orrery::import_config
