#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/layout/stage_plan.hpp"

namespace orrery::layout {

namespace {

std::string list_divisors_near(std::int64_t value, std::int64_t wanted) {
  constexpr std::size_t kShown = 6;
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= value && d <= 1'000'000; ++d) {
    if (value % d == 0) {
      found.push_back(d);
    }
  }
  std::sort(found.begin(), found.end(), [wanted](std::int64_t a, std::int64_t b) {
    return std::pair(std::abs(a - wanted), a) < std::pair(std::abs(b - wanted), b);
  });
  found.resize(std::min(found.size(), kShown));
  std::sort(found.begin(), found.end());
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
    problems.add("layout.expert",
                 fmt::format("expert_tensor x expert = {} x {} = {} does not divide "
                             "tensor x context x data = {} x {} x {} = {}",
                             spec.expert_tensor.value_or(spec.tensor), spec.expert, used,
                             spec.tensor, spec.context, data, pool),
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
  std::sort(sorted.begin(), sorted.end());
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
