#include "sim/import_config/write_arguments.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "sim/import_config/import_config.hpp"
#include "sim/scenario/load.hpp"
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

// What a launch file says of a scenario; the run and the machines are not its.
constexpr std::array<std::string_view, 8> kSections = {
    "model", "layout", "batch", "precision", "recompute", "overlap", "software_options", "offload"};

// Facts of the machine, which no launch file states.
constexpr std::array<std::string_view, 5> kOfTheMachine = {"offload.link",
                                                           "offload.host_bandwidth",
                                                           "offload.host_memory",
                                                           "offload.nvme_read",
                                                           "offload.nvme_write"};

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

  void add(std::string line) {
    lines_.push_back(std::move(line));
  }

  void add(std::string_view argument, std::int64_t number) {
    add(fmt::format("{} {}", argument, number));
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (const std::string& line : lines_) {
      text += " \\\n  " + line;
    }
    return text;
  }

 private:
  const Scenario& scenario_;
  std::vector<std::string> lines_;
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
      arguments.add(std::string(row.arguments));
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

void add_layout(const Scenario& scenario, Arguments& arguments) {
  const layout::LayoutSpec& layout = scenario.layout;
  if (layout.shard_group && layout.sharding == layout::Sharding::zero1) {
    const std::int64_t ranks =
        scenario.cluster.nodes * scenario.cluster.gpus_per_node / (layout.tensor * layout.pipeline);
    arguments.add("--num-distributed-optimizer-instances", ranks / *layout.shard_group);
  }
  const auto& stages = layout.stage_layers;
  if (stages && layout.virtual_stages == 1 && stages->size() > 2 &&
      std::adjacent_find(stages->begin() + 1, stages->end() - 1, std::not_equal_to<>()) ==
          stages->end() - 1) {
    arguments.add("--decoder-first-pipeline-num-layers", stages->front());
    arguments.add("--decoder-last-pipeline-num-layers", stages->back());
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
    arguments.add("--save-interval " + interval.substr(0, steps) + " --save \"$CHECKPOINTS\"");
    if (arguments.value("checkpoint.mode") == "async") {
      arguments.add("--async-save");
    }
  }
  if (scenario.run && scenario.run->training.tokens) {
    arguments.add("--train-samples",
                  static_cast<std::int64_t>(in_tokens(*scenario.run->training.tokens) /
                                            static_cast<double>(scenario.model.sequence_length)));
  }
  arguments.add("--data-path \"$DATA\"");
}

// One line of a comment, whatever the name holds.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

std::string script(const Scenario& scenario) {
  Arguments arguments(scenario);
  add_tables(arguments);
  add_model(scenario, arguments);
  add_experts(scenario, arguments);
  add_layout(scenario, arguments);
  add_step(scenario, arguments);
  add_run(scenario, arguments);
  return fmt::format(
      "#!/bin/bash\n"
      "# {}\n"
      "# {} nodes of {} GPUs. Set NODE_RANK, MASTER_ADDR, DATA and CHECKPOINTS on every node.\n"
      "torchrun --nnodes {} --nproc-per-node {} --node-rank \"$NODE_RANK\" \\\n"
      "  --master-addr \"$MASTER_ADDR\" pretrain_gpt.py{}\n",
      one_line(scenario.name),
      scenario.cluster.nodes,
      scenario.cluster.gpus_per_node,
      scenario.cluster.nodes,
      scenario.cluster.gpus_per_node,
      arguments.text());
}

// What the scenario says of these sections, by the file or by recipes.
std::set<std::string> said_keys(const Scenario& scenario) {
  std::set<std::string> keys;
  for (const Valued& row : kValued) {
    keys.emplace(row.key);
  }
  for (const auto& [key, where] : scenario.locations) {
    keys.insert(key);
  }
  for (const scenario::RecipeSetting& setting : scenario.recipe.settings) {
    keys.insert(setting.key);
  }
  std::erase_if(keys, [](const std::string& key) {
    const std::string_view section = std::string_view(key).substr(0, key.find('.'));
    const bool counted = std::find(kSections.begin(), kSections.end(), section) != kSections.end();
    return !counted || key == "model" || key == "model.preset" || key == "model.name" ||
           key == "layout.data" ||
           std::find(kOfTheMachine.begin(), kOfTheMachine.end(), key) != kOfTheMachine.end();
  });
  return keys;
}

// Whether the value is what Megatron-LM does without a word about it.
bool is_usual(const Scenario& scenario, const std::string& key, const std::string& value) {
  if (key == "layout.stage_layers") {
    const std::vector<std::int64_t>& layers = *scenario.layout.stage_layers;
    return std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to<>()) == layers.end();
  }
  return value == "false" || value == "[]" || (key == "overlap.reduction" && value == "per_step");
}

std::optional<Scenario> read_back(const std::string& text,
                                  const Scenario& scenario,
                                  Diagnostics& diagnostics) {
  ImportOptions options;
  options.name = scenario.name;
  for (const std::string_view key : {"cluster.gpu", "cluster.nodes", "cluster.gpus_per_node"}) {
    options.settings.push_back(
        {std::string(key), scenario::value_of(scenario, key).value_or(""), "export"});
  }
  if (scenario.cluster.nodes > 1) {  // which one is the machine's, not the launch file's
    options.settings.push_back({"cluster.network.preset", "infiniband-400g", "export"});
  }
  options.settings.push_back({"software", scenario.software, "export"});
  const std::vector<ConfigFile> files = {{"launch.sh", text, ConfigFormat::megatron_args}};
  Diagnostics found;
  const ImportResult result = import_configs(files, options, found);
  auto again = found.has_errors() || result.scenario.empty()
                   ? std::nullopt
                   : scenario::load_text(result.scenario, scenario.file, found);
  if (!again) {
    diagnostics.error(scenario.where(""),
                      "export",
                      fmt::format("the arguments cannot be read back: {}", to_string(found)),
                      "a report of this defect");
  }
  return again;
}

}  // namespace

std::optional<std::string> megatron_arguments(const Scenario& scenario, Diagnostics& diagnostics) {
  constexpr const char* kDispatcher = "software_options.expert_dispatcher";
  if (scenario.model.moe && scenario.layout.expert > 1 &&
      !scenario::value_of(scenario, kDispatcher)) {
    diagnostics.error(scenario.where(kDispatcher),
                      kDispatcher,
                      "is not stated, and Megatron-LM by itself gathers all tokens",
                      "alltoall, deepep or hybridep");
    return std::nullopt;
  }
  const std::string text = script(scenario);
  const auto again = read_back(text, scenario, diagnostics);
  if (!again) {
    return std::nullopt;
  }
  for (const std::string& key : said_keys(scenario)) {
    const auto value = scenario::value_of(scenario, key);
    const auto got = scenario::value_of(*again, key);
    const bool silent = !got || key == "layout.stage_layers";
    if (value && value != got && !(silent && is_usual(scenario, key, *value))) {
      diagnostics.error(scenario.where(key),
                        key,
                        fmt::format("Megatron-LM has no argument for {}", *value),
                        got ? fmt::format("it would run {}", *got) : "leave it out");
    }
  }
  return diagnostics.has_errors() ? std::nullopt : std::optional(text);
}

}  // namespace orrery::import_config
