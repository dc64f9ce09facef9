// From the keys of `model` to dimensions without gaps.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <variant>
#include <vector>

#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/rules/rules.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/schedule/schedule_spec.hpp"

namespace orrery::scenario {

namespace {

using model::Activation;
using model::LayerType;
using model::ModelSpec;

struct Needed {
  std::string_view name;
  std::int64_t value;
};

// One diagnostic that lists every dimension that neither the file nor a preset gives.
bool require_all(Reading& reading, std::string_view key, std::span<const Needed> needed,
                 std::string_view allowed) {
  std::vector<std::string_view> missing;
  for (const Needed& dimension : needed) {
    if (dimension.value == 0) {
      missing.push_back(dimension.name);
    }
  }
  if (!missing.empty()) {
    error(reading, key, fmt::format("needs {}", fmt::join(missing, ", ")), allowed);
  }
  return missing.empty();
}

bool require_dimensions(Reading& reading) {
  const ModelSpec& model = reading.draft.scenario.model;
  const std::array<Needed, 5> dimensions = {{{"num_layers", model.num_layers},
                                             {"hidden_size", model.hidden_size},
                                             {"num_attention_heads", model.num_attention_heads},
                                             {"vocab_size", model.vocab_size},
                                             {"sequence_length", model.sequence_length}}};
  bool complete = require_all(reading, "model", dimensions,
                              "the dimensions, or a preset such as preset: llama3-8b");
  if (model.moe) {
    const std::array<Needed, 3> moe = {{{"num_experts", model.moe->num_experts},
                                        {"top_k", model.moe->top_k},
                                        {"ffn_hidden_size", model.moe->ffn_hidden_size}}};
    complete = require_all(reading, "model.moe", moe, "for a mixture of experts") && complete;
  }
  if (model.mla) {
    const std::array<Needed, 4> mla = {{{"kv_lora_rank", model.mla->kv_lora_rank},
                                        {"qk_nope_head_dim", model.mla->qk_nope_head_dim},
                                        {"qk_rope_head_dim", model.mla->qk_rope_head_dim},
                                        {"v_head_dim", model.mla->v_head_dim}}};
    complete = require_all(reading, "model.mla", mla, "for latent attention") && complete;
  }
  if (const auto& sparse = model.sparse_attention) {
    const std::array<Needed, 3> indexer = {{{"index_heads", sparse->heads},
                                            {"index_head_dim", sparse->dim},
                                            {"top_k", sparse->top_k}}};
    complete =
        require_all(reading, "model.sparse_attention", indexer, "for its indexer") && complete;
    if (!model.compressed_attention && (!model.mla || model.mla->q_lora_rank == 0)) {
      error(reading, "model.sparse_attention",
            "works on latents or compressed entries, but the model has none",
            "model.mla with a q_lora_rank, or model.compressed_attention");
      complete = false;
    }
  }
  if (const auto& compressed = model.compressed_attention) {
    const std::array<Needed, 3> needed = {{{"q_lora_rank", compressed->q_lora_rank},
                                           {"output_groups", compressed->output_groups},
                                           {"output_rank", compressed->output_rank}}};
    complete = require_all(reading, "model.compressed_attention", needed, "for its projections") &&
               complete;
    if (model.mla || model.linear_attention || model.full_attention || model.output_gate ||
        !model.attention_window || model.attention_window->full_every > 0) {
      error(reading, "model.compressed_attention",
            "needs a window in every layer, and no latent, linear or gated attention beside it",
            "model.attention_window: {size: 128}");
      complete = false;
    }
  }
  if (model.output_gate && model.mla) {
    error(reading, "model.output_gate", "is not known of latent attention", "false");
    complete = false;
  }
  if (model.attention_window) {
    const std::array<Needed, 1> window = {{{"size", model.attention_window->size}}};
    complete =
        require_all(reading, "model.attention_window", window, "the keys that a query sees") &&
        complete;
  }
  if (model.lora) {
    const std::array<Needed, 1> lora = {{{"rank", model.lora->rank}}};
    complete = require_all(reading, "model.lora", lora, "the rank of the adapters") && complete;
  }
  return complete;
}

// Routed experts have no adapters.
void check_adapters(Reading& reading) {
  const ModelSpec& model = reading.draft.scenario.model;
  if (model.trainable == model::TrainedModules{}) {
    error(reading, "model.trainable", "names no module", "embedding, head, attention, mlp");
  }
  if (!model.lora) {
    return;
  }
  const model::AdapterTargets& targets = model.lora->targets;
  if (model.lora->kind == model::AdapterKind::bottleneck) {
    if (model.moe) {
      error(reading, "model.lora.kind", "bottleneck is not known of mixtures of experts", "lora");
    } else if (!targets.proj && !targets.fc2) {
      error(reading, "model.lora.targets", "bottlenecks stand behind attention and MLP alone",
            "proj, fc2");
    } else if (model.lora->dropout > 0.0) {
      error(reading, "model.lora.dropout", "a bottleneck has none", "0");
    }
  }
  if (model.linear_attention || model.sparse_attention || model.compressed_attention ||
      model.residual_streams > 1 || model.output_gate || model.full_attention ||
      (model.moe && model.moe->latent_size > 0)) {
    error(
        reading, "model.lora",
        "is not known of linear mixers, of attention with a gate, to chosen or compressed keys or "
        "with heads of two kinds, of several residual streams and of latent experts",
        "a model without them");
  }
  const bool dense = !model.moe || model.moe->dense_layers > 0 || model.moe->shared_width() > 0;
  if (!targets.qkv && !targets.proj && !(dense && (targets.fc1 || targets.fc2))) {
    error(reading, "model.lora.targets", "adapts no layer: routed experts have no adapters",
          "qkv, proj");
  }
}

// What the layers are made of, and what that needs.
bool check_layer_types(Reading& reading) {
  const ModelSpec& model = reading.draft.scenario.model;
  std::set<LayerType> types(model.layer_types.begin(), model.layer_types.end());
  const std::size_t count = types.size();
  const auto has = [&types](LayerType type) { return types.count(type) > 0; };
  const bool sparse = has(LayerType::compressed_sparse_attention);
  std::string problem;
  if (count > model::kMostLayerTypes) {
    problem = fmt::format("names {} types", count);
  } else if (has(LayerType::sliding_attention) && !model.attention_window) {
    problem = "has sliding_attention, but model.attention_window no size";
  } else if ((has(LayerType::compressed_attention) || sparse) && !model.compressed_attention) {
    problem = "has compressed attention, but the model no model.compressed_attention";
  } else if (model.compressed_attention && sparse != model.sparse_attention.has_value()) {
    problem =
        "has compressed_sparse_attention where model.sparse_attention is not stated, or not "
        "where it is";
  } else if (model.compressed_attention && has(LayerType::attention)) {
    problem = "has attention to all keys beside compressed attention";
  } else if (has(LayerType::moe) && !model.moe) {
    problem = "has moe, but the model no model.moe";
  } else if (model.has_single_blocks() && model.moe && model.moe->dense_layers > 0) {
    problem = "names the MLP of each layer, so model.moe.dense_layers says nothing";
  } else if (!types.empty() && model.attention_window && model.attention_window->full_every > 0) {
    problem = "says which layers have a window, so model.attention_window.full_every is in its way";
  }
  if (!problem.empty()) {
    error(
        reading, "model.layer_types", problem,
        fmt::format("at most {} types, with the sections that they need", model::kMostLayerTypes));
  }
  for (const LayerType type :
       {LayerType::attention, LayerType::sliding_attention, LayerType::compressed_attention,
        LayerType::compressed_sparse_attention, LayerType::mlp, LayerType::moe}) {
    types.erase(type);
  }
  types.erase(LayerType::attention_mamba2);
  const bool recurs = !types.empty() || has(LayerType::attention_mamba2);
  if (types.size() > 1) {
    error(reading, "model.layer_types",
          "has several kinds of linear mixers, which model.linear_attention describes as one",
          "mamba2, gated_delta, kda or lightning");
  }
  if (!recurs) {
    return problem.empty();
  }
  const auto linear = model.linear_attention.value_or(model::LinearAttentionSpec{});
  const std::array<Needed, 2> needed = {
      {{"value_heads", linear.value_heads}, {"key_dim", linear.key_dim}}};
  const bool complete = require_all(reading, "model.linear_attention", needed,
                                    "for the linear mixers of layer_types");
  if (complete && linear.key_heads > 0 && linear.value_heads % linear.key_heads != 0) {
    error(reading, "model.linear_attention.key_heads",
          fmt::format("{} does not divide value_heads = {}", linear.key_heads, linear.value_heads));
  }
  return complete && problem.empty();
}

void settle_activation(Reading& reading) {
  Draft& draft = reading.draft;
  Activation& activation = draft.scenario.model.activation;
  if (draft.activation) {
    activation = *draft.activation;
  }
  if (!draft.gated_mlp) {
    return;
  }
  const bool gated = activation == Activation::swiglu;
  if (draft.activation && gated != *draft.gated_mlp) {
    error(reading, "model.gated_mlp",
          gated ? "is false, but swiglu has a gate" : "is true, but only swiglu has a gate",
          "leave it out: it follows from model.activation");
  } else if (gated != *draft.gated_mlp) {
    activation = *draft.gated_mlp ? Activation::swiglu : Activation::gelu;
  }
}

// Dimensions that a preset derived from one that the file replaces are derived again.
void follow_replaced_dimensions(Draft& draft) {
  ModelSpec& model = draft.scenario.model;
  const ModelSpec& preset = draft.preset;
  if (draft.scenario.model_preset.empty()) {
    return;
  }
  const bool reshaped =
      draft.stated("model.hidden_size") || draft.stated("model.num_attention_heads");
  if (reshaped && !draft.stated("model.head_dim") &&
      preset.head_dim * preset.num_attention_heads == preset.hidden_size) {
    model.head_dim = 0;
  }
  if (draft.stated("model.num_attention_heads") && !draft.stated("model.num_query_groups") &&
      preset.num_query_groups == preset.num_attention_heads) {
    model.num_query_groups = 0;
  }
  if (draft.stated("model.position") && !draft.stated("model.max_positions")) {
    model.max_positions = 0;
  }
}

void check_shapes(Reading& reading) {
  const ModelSpec& model = reading.draft.scenario.model;
  const auto divides = [](std::int64_t divisor, std::int64_t value) {
    return value % divisor == 0;
  };
  if (!model.mla && model.head_dim == 0 && !divides(model.num_attention_heads, model.hidden_size)) {
    error(
        reading, "model.num_attention_heads",
        fmt::format("{} does not divide hidden_size = {} (remainder {})", model.num_attention_heads,
                    model.hidden_size, model.hidden_size % model.num_attention_heads),
        "a divisor, or state model.head_dim");
  }
  if (model.num_query_groups > 0 && !divides(model.num_query_groups, model.num_attention_heads)) {
    error(reading, "model.num_query_groups",
          fmt::format("{} does not divide num_attention_heads = {}", model.num_query_groups,
                      model.num_attention_heads));
  }
  if (model.moe && model.moe->top_k > model.moe->num_experts) {
    error(
        reading, "model.moe.top_k",
        fmt::format("{} is more than num_experts = {}", model.moe->top_k, model.moe->num_experts));
  }
  if (model.moe && model.moe->dense_layers > model.num_layers) {
    error(
        reading, "model.moe.dense_layers",
        fmt::format("{} is more than num_layers = {}", model.moe->dense_layers, model.num_layers));
  }
  if (model.attention_window && model.attention_window->full_every > model.num_layers) {
    error(reading, "model.attention_window.full_every",
          fmt::format("{} is more than num_layers = {}", model.attention_window->full_every,
                      model.num_layers),
          "0: no layer sees the whole sequence");
  }
  if (model.max_positions > 0 && model.max_positions < model.sequence_length &&
      model.position == model::PositionEmbedding::learned &&
      reading.draft.stated("model.max_positions")) {
    error(reading, "model.max_positions",
          fmt::format("{} rows do not hold sequence_length = {}", model.max_positions,
                      model.sequence_length),
          "at least sequence_length");
  }
}

}  // namespace

void finish_model(Reading& reading) {
  Draft& draft = reading.draft;
  if (!draft.stated("model") || is_broken(reading.diagnostics, "model")) {
    return;
  }
  if (!require_dimensions(reading) || !check_layer_types(reading)) {
    return;
  }
  check_adapters(reading);
  settle_activation(reading);
  follow_replaced_dimensions(draft);
  check_shapes(reading);
  ModelSpec& model = draft.scenario.model;
  if (is_broken(reading.diagnostics, "model")) {
    return;
  }
  if (model.name.empty()) {
    model.name = "custom";
  }
  if (model.position == model::PositionEmbedding::learned && model.max_positions > 0 &&
      model.max_positions < model.sequence_length) {
    model.max_positions = model.sequence_length;  // the preset's table, longer
  }
  model = model::resolve(model);
}

std::string words_of(const layout::LayoutProblem& problem, const Scenario& scenario) {
  if (scenario.is_set_by_recipe(problem.key)) {
    return fmt::format("{}; the recipes of {} set it, what the scenario states holds over them",
                       problem.message, scenario.software);
  }
  const auto layout = scenario.locations.lower_bound("layout");
  const bool stated = layout != scenario.locations.end() && layout->first.starts_with("layout");
  return stated ? problem.message
                : problem.message +
                      "; no layout is stated, which is data parallelism over all GPUs: `orrery "
                      "plan` finds a better one";
}

void report_later_errors(Reading& reading) {
  const Scenario& scenario = reading.draft.scenario;
  const auto is_right = [&reading](std::string_view section) {
    return !is_broken(reading.diagnostics, section);
  };
  if (!is_right("")) {
    return;  // the text is no mapping of keys
  }
  hardware::ProfileSearch search = presets_of(scenario).search();
  search.allow_foreign = true;  // foreign files are refused elsewhere, whatever the scenario says
  Diagnostics later;
  bool has_nvlink = true;
  if (is_right("cluster")) {
    const auto gpu = hardware::load_gpu_profile(
        scenario.cluster.gpu, search, scenario.where("cluster.gpu"), "cluster.gpu", later);
    has_nvlink = !gpu || gpu->nvlink;
  }
  if (is_right("software") && !scenario.software.empty()) {
    static_cast<void>(hardware::load_software_profile(
        scenario.software, search, scenario.where("software"), "software", later));
  }
  constexpr std::array<std::string_view, 4> kOfLayouts = {"model", "cluster", "layout", "batch"};
  if (std::ranges::all_of(kOfLayouts, is_right)) {
    const auto resolved =
        layout::resolve_layout(scenario.layout, scenario.batch, scenario.model,
                               hardware::cluster_shape(scenario.cluster, has_nvlink),
                               schedule::traits_of(scenario.step.schedule).placement);
    if (const auto* problems = std::get_if<std::vector<layout::LayoutProblem>>(&resolved)) {
      for (const layout::LayoutProblem& problem : *problems) {
        later.error(scenario.where(problem.key), problem.key, words_of(problem, scenario),
                    problem.allowed);
      }
    }
  }
  for (const Diagnostic& diagnostic : later.all()) {
    if (diagnostic.severity == Severity::error) {
      reading.diagnostics.add(diagnostic);
    }
  }
}

}  // namespace orrery::scenario
