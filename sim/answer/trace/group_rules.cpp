#include "sim/answer/trace/group_rules.hpp"

#include <algorithm>

#include "sim/base/text/text.hpp"

namespace orrery::trace {

namespace {

constexpr std::array<GroupRule, 19> kGroupRules = {{
    {"expert_data", Axis::data, "Megatron-Core"},
    {"data_parallel_group_with_cp", Axis::data, "Megatron-Core"},
    {"expert_tensor", Axis::tensor, "Megatron-Core"},
    {"expert_model_parallel", Axis::expert, "Megatron-Core"},
    {"expert", Axis::expert, "any"},
    {"tensor_model_parallel", Axis::tensor, "Megatron-Core"},
    {"context_parallel", Axis::context, "Megatron-Core"},
    {"pipeline", Axis::pipeline, "Megatron-Core"},
    {"data_parallel", Axis::data, "Megatron-Core"},
    {"embedding", Axis::pipeline, "Megatron-Core: tied embeddings of the first and last stage"},
    {"mesh_dp", Axis::data, "device mesh (torchtitan, FSDP)"},
    {"mesh_fsdp", Axis::data, "device mesh"},
    {"mesh_hsdp", Axis::data, "device mesh"},
    {"mesh_replicate", Axis::data, "device mesh"},
    {"mesh_shard", Axis::data, "device mesh"},
    {"mesh_tp", Axis::tensor, "device mesh (torchtitan)"},
    {"mesh_cp", Axis::context, "device mesh (torchtitan)"},
    {"mesh_ep", Axis::expert, "device mesh (torchtitan)"},
    {"mesh_pp", Axis::pipeline, "device mesh (torchtitan)"},
}};

constexpr std::array<Axis, 2> kReduce = {Axis::data, Axis::tensor};
constexpr std::array<Axis, 3> kShards = {Axis::data, Axis::tensor, Axis::context};
constexpr std::array<Axis, 2> kExchange = {Axis::expert, Axis::context};
constexpr std::array<Axis, 3> kMessageAxes = {Axis::pipeline, Axis::expert, Axis::context};
constexpr std::array<Axis, 1> kRest = {Axis::data};

bool has_word(std::string_view text, std::string_view word) {
  return std::search(text.begin(), text.end(), word.begin(), word.end(),
                     [](char a, char b) { return lower_case(a) == lower_case(b); }) != text.end();
}

std::int64_t degree(const Degrees& degrees, Axis axis) {
  return degrees[static_cast<std::size_t>(axis)];
}

}  // namespace

std::optional<Axis> axis_named(std::string_view name) {
  const auto* const found = std::ranges::find(kAxisNames, name);
  return found == kAxisNames.end() ? std::nullopt
                                   : std::optional(static_cast<Axis>(found - kAxisNames.begin()));
}

std::span<const GroupRule> group_rules() { return kGroupRules; }

std::span<const Axis> axes_of(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return kReduce;
    case Operation::reduce_scatter:
    case Operation::all_gather:
      return kShards;
    case Operation::all_to_all:
      return kExchange;
    case Operation::send_receive:
      return kMessageAxes;
    default:
      return kRest;
  }
}

AxisAnswer axis_of(Operation operation, const CommunicationGroup& group,
                   const std::optional<Degrees>& degrees, std::span<const GroupChoice> choices) {
  for (const GroupChoice& choice : choices) {
    if (group.name == choice.word || has_word(group.description, choice.word)) {
      return {choice.axis, false};
    }
  }
  for (const GroupRule& rule : kGroupRules) {
    if (has_word(group.description, rule.word)) {
      return {rule.axis, false};
    }
  }
  const std::span<const Axis> usual = axes_of(operation);
  std::vector<Axis> fitting(usual.begin(), usual.end());
  const auto keep = [&fitting](auto&& fits) {
    std::vector<Axis> kept;
    std::copy_if(fitting.begin(), fitting.end(), std::back_inserter(kept), fits);
    if (!kept.empty()) {
      fitting = kept;
    }
  };
  if (degrees) {
    keep([&](Axis axis) { return degree(*degrees, axis) > 1; });
    if (fitting.size() > 1 && group.size) {
      keep([&](Axis axis) { return degree(*degrees, axis) == *group.size; });
    }
  }
  return {fitting.front(), fitting.size() > 1};
}

const AxisAnswer& AxisFinder::answer(Operation operation, const CommunicationGroup& group) {
  const auto [it, is_new] = answers_.try_emplace(std::pair(operation, group));
  if (is_new) {
    it->second = axis_of(operation, group, degrees_, choices_);
  }
  return it->second;
}

}  // namespace orrery::trace
