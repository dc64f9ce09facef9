#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "sim/step/layout/layout_spec.hpp"

namespace orrery::layout {

namespace {

// Stages from the middle outwards, so that remainders stay away from the embedding and the loss.
std::vector<std::size_t> middle_first(std::size_t stages) {
  std::vector<std::size_t> order(stages);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto distance = [stages](std::size_t g) {
    return std::abs(2 * static_cast<std::int64_t>(g) + 1 - static_cast<std::int64_t>(stages));
  };
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
  return order;
}

std::optional<LayoutProblem> check_stage_layers(const std::vector<std::int64_t>& layers,
                                                std::int64_t stages, std::int64_t num_layers) {
  if (static_cast<std::int64_t>(layers.size()) != stages) {
    return LayoutProblem{"layout.stage_layers",
                         fmt::format("has {} entries, pipeline x virtual_stages = {} are needed",
                                     layers.size(), stages),
                         fmt::format("auto, or {} numbers", stages)};
  }
  const auto sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (sum != num_layers) {
    return LayoutProblem{"layout.stage_layers",
                         fmt::format("adds up to {}, the model has {} layers", sum, num_layers),
                         "auto"};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::int64_t> balanced_stage_layers(std::int64_t num_layers, std::int64_t stages,
                                                std::int64_t mtp_layers) {
  const auto count = static_cast<std::size_t>(stages);
  if (mtp_layers > 0 && stages > 1) {
    const std::int64_t behind = 2 * mtp_layers + 1;
    const std::int64_t slots = (num_layers + behind + stages - 1) / stages;
    const std::int64_t last = std::max<std::int64_t>(slots - behind, 0);
    const std::int64_t others = num_layers - last;
    std::vector<std::int64_t> layers(count, others / (stages - 1));
    for (std::int64_t i = 0; i < others % (stages - 1); ++i) {
      ++layers[count - 2 - static_cast<std::size_t>(i)];
    }
    layers.back() = last;
    return layers;
  }
  if (stages > 1 && (num_layers + 2) % stages == 0 && num_layers % stages != 0) {
    std::vector<std::int64_t> layers(count, (num_layers + 2) / stages);
    --layers.front();
    --layers.back();
    return layers;
  }
  std::vector<std::int64_t> layers(count, num_layers / stages);
  auto remainder = static_cast<std::size_t>(num_layers % stages);
  for (const std::size_t g : middle_first(count)) {
    if (remainder == 0) {
      break;
    }
    ++layers[g];
    --remainder;
  }
  return layers;
}

StagePlan plan_stages(const LayoutSpec& spec, const model::ModelSpec& model,
                      StagePlacement placement) {
  StagePlan plan;
  const bool twice = placement == StagePlacement::bidirectional;
  const std::int64_t stages = stages_of(placement, spec.pipeline, spec.virtual_stages);
  if (spec.pipeline > 1 && stages > most_stages(model)) {
    const bool chunks = spec.virtual_stages > 1 && spec.pipeline <= most_stages(model);
    const std::int64_t most =
        most_stages(model) * (chunks ? spec.virtual_stages : spec.pipeline) / stages;
    plan.problem =
        LayoutProblem{chunks ? "layout.virtual_stages" : "layout.pipeline",
                      fmt::format("pipeline x virtual_stages = {} x {} = {} stages for {} layers",
                                  spec.pipeline, spec.virtual_stages, stages, model.num_layers),
                      fmt::format("at most {}, for {} stages", most, most_stages(model))};
    return plan;
  }
  std::vector<std::int64_t> layers;
  if (spec.stage_layers) {
    plan.problem = check_stage_layers(*spec.stage_layers, stages, model.num_layers);
    if (plan.problem) {
      return plan;
    }
    layers = *spec.stage_layers;
  } else {
    layers = balanced_stage_layers(model.num_layers, stages, model.mtp_layers);
  }
  plan.stages.resize(static_cast<std::size_t>(spec.pipeline),
                     std::vector<ChunkLayers>(static_cast<std::size_t>(spec.virtual_stages)));
  const auto at = [&plan](std::int64_t device, std::int64_t chunk) -> ChunkLayers& {
    return plan.stages[static_cast<std::size_t>(device)][static_cast<std::size_t>(chunk)];
  };
  std::int64_t first = 0;
  for (std::int64_t g = 0; g < stages; ++g) {
    const std::int64_t chunk = g / spec.pipeline;
    const std::int64_t along = g % spec.pipeline;
    const bool back = placement == StagePlacement::vee && chunk % 2 == 1;
    const ChunkLayers part = {.first_layer = first,
                              .num_layers = layers[static_cast<std::size_t>(g)],
                              .has_embedding = g == 0,
                              .has_head = g == stages - 1};
    at(back ? spec.pipeline - 1 - along : along, chunk) = part;
    if (twice) {
      at(spec.pipeline - 1 - g, 1) = part;
    }
    first += part.num_layers;
  }
  return plan;
}

namespace {

std::string list_divisors_near(std::int64_t value, std::int64_t wanted) {
  constexpr std::size_t kShown = 6;
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= value && d <= 1'000'000; ++d) {
    if (value % d == 0) {
      found.push_back(d);
    }
  }
  std::ranges::sort(found, [wanted](std::int64_t a, std::int64_t b) {
    return std::pair(std::abs(a - wanted), a) < std::pair(std::abs(b - wanted), b);
  });
  found.resize(std::min(found.size(), kShown));
  std::ranges::sort(found);
  return fmt::format("nearest valid: {}", fmt::join(found, ", "));
}

std::string multiples_near(std::int64_t step, std::int64_t wanted) {
  const std::int64_t below = wanted / step * step;
  return below > 0 ? fmt::format("nearest valid: {} or {}", below, below + step)
                   : fmt::format("nearest valid: {}", step);
}

class Problems {
 public:
  void add(std::string key, std::string message, std::string allowed = {}) {
    list_.push_back({std::move(key), std::move(message), std::move(allowed)});
  }

  // `value` must be divisible by `divisor`; the equation and the remainder are part of the message.
  bool require_divides(const char* key, std::int64_t divisor, const char* what,
                       std::int64_t value) {
    if (value % divisor == 0) {
      return true;
    }
    add(key,
        fmt::format("{} does not divide {} = {} (remainder {})", divisor, what, value,
                    value % divisor),
        list_divisors_near(value, divisor));
    return false;
  }

  [[nodiscard]] bool empty() const { return list_.empty(); }

  std::vector<LayoutProblem> take() { return std::move(list_); }

 private:
  std::vector<LayoutProblem> list_;
};

bool check_positive(const LayoutSpec& spec, const BatchSpec& batch, Problems& problems) {
  const std::array<std::pair<const char*, std::int64_t>, 9> values = {{
      {"layout.tensor", spec.tensor},
      {"layout.context", spec.context},
      {"layout.pipeline", spec.pipeline},
      {"layout.virtual_stages", spec.virtual_stages},
      {"layout.expert", spec.expert},
      {"layout.expert_tensor", spec.expert_tensor.value_or(1)},
      {"layout.data", spec.data.value_or(1)},
      {"batch.global", batch.global},
      {"batch.micro", batch.micro},
  }};
  for (const auto& [key, value] : values) {
    if (value < 1) {
      problems.add(key, fmt::format("{} is below 1", value), "1 or more");
    }
  }
  return problems.empty();
}

void check_model_split(const LayoutSpec& spec, const model::ModelSpec& model, Problems& problems) {
  if (spec.tensor > 1 && model.lora && model.lora->kind != model::AdapterKind::lora) {
    problems.add("layout.tensor",
                 "model.lora.kind dora and bottleneck are not known of split layers", "1");
  }
  const std::int64_t groups = attention_groups(model);
  problems.require_divides("layout.tensor", spec.tensor, "model.num_attention_heads",
                           model.num_attention_heads);
  if (!tensor_splits_groups(model, spec.tensor) && spec.tensor > groups) {
    problems.add(
        "layout.tensor",
        fmt::format("{} is neither a divisor nor a multiple of model.num_query_groups = {}",
                    spec.tensor, groups),
        list_divisors_near(model.num_attention_heads, spec.tensor));
  } else if (!tensor_splits_groups(model, spec.tensor)) {
    problems.require_divides("layout.tensor", spec.tensor, "model.num_query_groups", groups);
  }
  if (model.ffn_hidden_size > 0) {
    problems.require_divides("layout.tensor", spec.tensor, "model.ffn_hidden_size",
                             model.ffn_hidden_size);
  }
  if (const auto& linear = model.linear_attention) {
    problems.require_divides("layout.tensor", spec.tensor, "model.linear_attention.key_heads",
                             linear->key_heads);
    problems.require_divides("layout.context", spec.tensor * spec.context,
                             "model.linear_attention.value_heads", linear->value_heads);
  }
  if (spec.sequence_parallel) {
    const std::int64_t slice = spec.tensor * spec.context;
    if (!sequence_splits(model, spec.tensor, spec.context)) {
      problems.add("layout.sequence_parallel",
                   fmt::format("tensor x context = {} x {} = {} does not divide "
                               "model.sequence_length = {} (remainder {})",
                               spec.tensor, spec.context, slice, model.sequence_length,
                               model.sequence_length % slice),
                   multiples_near(slice, model.sequence_length));
    }
  }
  if (!context_splits(model, spec.context)) {
    problems.add("layout.context",
                 fmt::format("2 x context = {} does not divide model.sequence_length = {} "
                             "(remainder {})",
                             2 * spec.context, model.sequence_length,
                             model.sequence_length % (2 * spec.context)),
                 list_divisors_near(model.sequence_length / 2, spec.context));
  }
}

void check_experts(const LayoutSpec& spec, const model::ModelSpec& model, std::int64_t data,
                   Problems& problems) {
  if (!model.moe) {
    if (spec.expert > 1) {
      problems.add(
          "layout.expert",
          fmt::format("{} needs a mixture-of-experts model, this one is dense", spec.expert), "1");
    }
    return;
  }
  problems.require_divides("layout.expert", spec.expert, "model.moe.num_experts",
                           model.moe->num_experts);
  const std::int64_t pool = spec.tensor * spec.context * data;
  const std::int64_t used = spec.expert * spec.expert_tensor.value_or(spec.tensor);
  if (pool % used != 0) {
    const bool whole_experts_fit = !spec.expert_tensor && pool % spec.expert == 0;
    problems.add(
        "layout.expert",
        fmt::format("expert_tensor x expert = {} x {} = {} does not divide "
                    "tensor x context x data = {} x {} x {} = {}",
                    spec.expert_tensor.value_or(spec.tensor), spec.expert, used, spec.tensor,
                    spec.context, data, pool),
        (whole_experts_fit ? "layout.expert_tensor: 1; " : "") +
            list_divisors_near(pool / spec.expert_tensor.value_or(spec.tensor), spec.expert));
  }
}

// The data degree: stated or what is left over; 0 when the product rule is broken.
std::int64_t data_degree(const LayoutSpec& spec, std::int64_t gpus, Problems& problems) {
  const std::int64_t model_gpus = spec.tensor * spec.context * spec.pipeline;
  if (spec.data) {
    const std::int64_t product = model_gpus * *spec.data;
    if (product != gpus) {
      problems.add("layout.data",
                   fmt::format("tensor x context x pipeline x data = {} x {} x {} x {} = {}, but "
                               "the cluster has {} GPUs",
                               spec.tensor, spec.context, spec.pipeline, *spec.data, product, gpus),
                   gpus % model_gpus == 0 ? fmt::format("data: {}", gpus / model_gpus)
                                          : fmt::format("GPUs in multiples of {}", model_gpus));
      return 0;
    }
    return *spec.data;
  }
  if (gpus % model_gpus != 0) {
    problems.add(
        "layout.data",
        fmt::format("tensor x context x pipeline = {} x {} x {} = {} does not divide the "
                    "cluster's {} GPUs (remainder {})",
                    spec.tensor, spec.context, spec.pipeline, model_gpus, gpus, gpus % model_gpus),
        multiples_near(model_gpus, gpus) + " GPUs");
    return 0;
  }
  return gpus / model_gpus;
}

std::int64_t shard_group_size(const LayoutSpec& spec, std::int64_t group, Problems& problems) {
  if (spec.sharding == Sharding::none) {
    return 1;
  }
  if (!spec.shard_group) {
    if (spec.sharding == Sharding::hsdp) {
      problems.add("layout.shard_group",
                   "hsdp needs the number of ranks that share one copy of the states",
                   "for example the GPUs of one node");
    }
    return group;
  }
  if (*spec.shard_group < 1 || group % *spec.shard_group != 0) {
    problems.add("layout.shard_group",
                 fmt::format("{} does not divide data x context = {}", *spec.shard_group, group),
                 list_divisors_near(group, *spec.shard_group));
    return group;
  }
  return *spec.shard_group;
}

void check_order(const LayoutSpec& spec, Problems& problems) {
  std::vector<Axis> sorted = spec.order;
  std::ranges::sort(sorted);
  const std::vector<Axis> all = {Axis::tensor, Axis::context, Axis::pipeline, Axis::data};
  if (sorted != all) {
    problems.add("layout.order", "every axis must appear exactly once",
                 "tp, cp, dp, pp in any order");
  }
}

}  // namespace

std::variant<Layout, std::vector<LayoutProblem>> resolve_layout(const LayoutSpec& spec,
                                                                const BatchSpec& batch,
                                                                const model::ModelSpec& model,
                                                                const ClusterShape& cluster,
                                                                StagePlacement placement) {
  Problems problems;
  if (!check_positive(spec, batch, problems)) {
    return problems.take();
  }
  check_order(spec, problems);
  check_model_split(spec, model, problems);
  const std::int64_t data = data_degree(spec, cluster.gpus, problems);
  if (data > 0) {
    check_experts(spec, model, data, problems);
    if (batch.global % (batch.micro * data) != 0) {
      problems.add(
          "batch.global",
          fmt::format("micro x data = {} x {} = {} does not divide {} (remainder {})", batch.micro,
                      data, batch.micro * data, batch.global, batch.global % (batch.micro * data)),
          multiples_near(batch.micro * data, batch.global));
    }
  }
  Layout layout;
  layout.gpus = cluster.gpus;
  layout.tensor = spec.tensor;
  layout.sequence_parallel = spec.sequence_parallel && spec.tensor > 1;
  layout.context = spec.context;
  layout.pipeline = spec.pipeline;
  layout.virtual_stages = spec.virtual_stages;
  layout.data = std::max<std::int64_t>(data, 1);
  layout.expert = spec.expert;
  layout.expert_tensor = spec.expert_tensor.value_or(spec.tensor);
  layout.order = spec.order;
  layout.sharding = spec.sharding;
  layout.micro_batch = batch.micro;
  layout.shard_group = shard_group_size(spec, layout.data * layout.context, problems);
  StagePlan plan = plan_stages(spec, model, placement);
  if (plan.problem) {
    problems.add(plan.problem->key, plan.problem->message, plan.problem->allowed);
  }
  if (!problems.empty()) {
    return problems.take();
  }
  layout.expert_data =
      layout.tensor * layout.context * layout.data / (layout.expert_tensor * layout.expert);
  layout.micro_batches = batch.global / (batch.micro * layout.data);
  layout.stages = std::move(plan.stages);
  return layout;
}

}  // namespace orrery::layout
