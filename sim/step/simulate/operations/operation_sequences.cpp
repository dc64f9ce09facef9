#include "sim/step/simulate/operations/operation_sequences.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "sim/base/check.hpp"
#include "sim/step/layout/sharding.hpp"
#include "sim/step/simulate/operations/operation_names.hpp"
#include "sim/step/simulate/stages/data_parallel_costs.hpp"
#include "sim/step/simulate/stages/optimizer_costs.hpp"

namespace orrery::step {

namespace {

using schedule::LayerNode;
using schedule::TaskKind;

std::array<Seconds, kStepCategories> booked(const Sequence& sequence) {
  std::array<Seconds, kStepCategories> sums{};
  for (const SequenceEntry& entry : sequence) {
    sums[category_index(entry.category)] += entry.booked;
  }
  return sums;
}

// What is left when all operations are known: host, slowest GPU, copies. Communication and compute
// that differ were hidden or slowed, and are scaled.
constexpr bool is_appended(StepCategory category) {
  return category == StepCategory::launch_gap || category == StepCategory::host_step ||
         category == StepCategory::idle || category == StepCategory::offload;
}

template <typename Steps>
void flatten(const Steps& steps, Sequence& sequence) {
  for (const auto& step : steps) {
    sequence.insert(sequence.end(), step.entries.begin(), step.entries.end());
  }
}

bool same(const Operation& a, const Operation& b) {
  return a.kind == b.kind && a.stream == b.stream && a.flop == b.flop && a.bytes == b.bytes &&
         a.ranks == b.ranks && a.nodes == b.nodes;
}

}  // namespace

std::uint32_t SequenceTable::operation(const Operation& operation) {
  const auto [first, last] = known_.equal_range(operation.name);
  for (auto known = first; known != last; ++known) {
    if (same(timeline_.operations[known->second], operation)) {
      return known->second;
    }
  }
  const auto category_index = static_cast<std::uint32_t>(timeline_.operations.size());
  timeline_.operations.push_back(operation);
  known_.emplace(operation.name, category_index);
  return category_index;
}

std::uint32_t SequenceTable::sequence(Sequence sequence) {
  timeline_.sequences.push_back(std::move(sequence));
  return static_cast<std::uint32_t>(timeline_.sequences.size() - 1);
}

std::uint32_t SequenceTable::remainder(StepCategory category, Seconds time) {
  return sequence({{operation(remainder_operation(category)), category, time, {}, false}});
}

std::uint32_t PassSequences::of(TaskKind kind) const {
  switch (kind) {
    case TaskKind::forward:
      return forward;
    case TaskKind::backward:
      return backward;
    case TaskKind::backward_input:
      return backward_input;
    case TaskKind::backward_weight:
      return backward_weight;
    default:
      break;
  }
  ORRERY_CHECK(false, "task kind {} is no pass of a layer", static_cast<int>(kind));
}

SequenceMaker::SequenceMaker(const StepInput& input, const cost::CostModel& costs,
                             SequenceTable& table)
    : costing_(make_costing(input, costs)), table_(table), map_(input.layout) {}

SequenceMaker::Step SequenceMaker::step_of(const model::Pass& pass, std::size_t at) {
  const model::PassOp& entry = pass[at];
  Parts parts;
  add_operation(parts, costing_.layer, pass, at, memo_);
  const auto* collective = std::get_if<model::CollectiveOp>(&entry.op);
  const Operation operation = describe_operation(entry, costing_.places);
  Step step;
  if (const auto* gemm = std::get_if<model::GemmOp>(&entry.op);
      gemm != nullptr && gemm->role != model::Role::fprop) {
    step.gemm = gemm->part;
  }
  if (const Seconds gap = parts.by_category[category_index(StepCategory::launch_gap)];
      gap > Seconds{}) {
    const Operation launch{
        .name = "launch", .kind = OperationKind::launch, .stream = OperationStream::host};
    step.entries.push_back({table_.operation(launch), StepCategory::launch_gap, gap, {}, false});
  }
  parts.by_category[category_index(StepCategory::launch_gap)] = {};
  append(step.entries, parts, operation);
  if (collective != nullptr) {
    const Seconds whole = memo_.get(costing_.layer, *collective).time;
    if (step.entries.empty()) {
      step.entries.push_back(
          {table_.operation(operation), exposed_category(collective->axis), {}, {}, false});
    }
    SequenceEntry& last = step.entries.back();
    last.hidden = std::max(whole - last.booked, Seconds{});
    last.hidden_first = collective->beside == model::Beside::previous_gemm ||
                        collective->beside == model::Beside::previous_attention;
  }
  return step;
}

SequenceMaker::Steps SequenceMaker::steps_of(const model::Pass& pass) {
  Steps steps;
  steps.reserve(pass.size());
  for (std::size_t i = 0; i < pass.size(); ++i) {
    steps.push_back(step_of(pass, i));
  }
  return steps;
}

// One entry for every category that the parts have; waiting stands for itself.
void SequenceMaker::append(Sequence& sequence, const Parts& parts, const Operation& operation) {
  for (std::size_t c = 0; c < kStepCategories; ++c) {
    const auto category = static_cast<StepCategory>(c);
    if (parts.by_category[c] > Seconds{}) {
      const bool other = category == StepCategory::idle;
      sequence.push_back({table_.operation(other ? remainder_operation(category) : operation),
                          category,
                          parts.by_category[c],
                          {},
                          false});
    }
  }
}

void SequenceMaker::fit(Sequence& sequence, const Parts& target) {
  const std::array<Seconds, kStepCategories> sums = booked(sequence);
  const Seconds negligible = target.total() * 1e-12;
  for (std::size_t c = 0; c < kStepCategories; ++c) {
    const auto category = static_cast<StepCategory>(c);
    const Seconds wanted = target.by_category[c];
    if (sums[c] > Seconds{} && !(is_appended(category) && wanted > sums[c])) {
      const double factor = wanted / sums[c];
      for (SequenceEntry& entry : sequence) {
        if (entry.category == category) {
          const Seconds whole = entry.booked + entry.hidden;
          entry.booked = entry.booked * factor;
          if (table_.at(entry.operation).kind == OperationKind::collective) {
            entry.hidden = std::max(whole - entry.booked, Seconds{});
          }
        }
      }
    } else if (wanted - sums[c] > negligible) {
      sequence.push_back(
          {table_.operation(remainder_operation(category)), category, wanted - sums[c], {}, false});
    }
  }
}

std::uint32_t SequenceMaker::fitted(Sequence sequence, const Parts& target) {
  fit(sequence, target);
  return table_.sequence(std::move(sequence));
}

SequenceMaker::Sequences SequenceMaker::sequences_of(const model::LayerPasses& passes,
                                                     const model::Pass& again) {
  const Steps input = steps_of(passes.backward_input);
  const Steps weight = steps_of(passes.backward_weight);
  Sequences all;
  flatten(steps_of(passes.forward), all.forward);
  flatten(steps_of(again), all.backward);
  all.backward_input = all.backward;
  flatten(input, all.backward_input);
  flatten(weight, all.backward_weight);
  std::size_t next = 0;
  for (const Step& step : input) {
    all.backward.insert(all.backward.end(), step.entries.begin(), step.entries.end());
    const auto from = weight.begin() + static_cast<std::ptrdiff_t>(next);
    const auto pair = std::find_if(from, weight.end(),
                                   [&step](const Step& other) { return other.gemm == step.gemm; });
    if (step.gemm && pair != weight.end()) {
      for (auto other = from; other != std::next(pair); ++other) {
        all.backward.insert(all.backward.end(), other->entries.begin(), other->entries.end());
      }
      next = static_cast<std::size_t>(pair - weight.begin()) + 1;
    }
  }
  for (; next < weight.size(); ++next) {
    const Sequence& entries = weight[next].entries;
    all.backward.insert(all.backward.end(), entries.begin(), entries.end());
  }
  return all;
}

PassSequences SequenceMaker::passes(const model::LayerPasses& passes, const model::Pass& again,
                                    const LayerCosts& costs) {
  Sequences all = sequences_of(passes, again);
  Parts input = costs.recompute;
  input.add(costs.backward_input);
  Parts whole = input;
  whole.add(costs.backward_weight);
  whole.add(costs.full_backward_gain);
  PassSequences made;
  made.forward = fitted(std::move(all.forward), costs.forward);
  made.backward = fitted(std::move(all.backward), whole);
  made.backward_input = fitted(std::move(all.backward_input), input);
  made.backward_weight = fitted(std::move(all.backward_weight), costs.backward_weight);
  if (costs.nodes) {
    cut(made, passes, again, *costs.nodes);
  }
  return made;
}

void SequenceMaker::cut(PassSequences& sequences, const model::LayerPasses& passes,
                        const model::Pass& again, const LayerNodeParts& nodes) {
  std::array<Sequence, schedule::kLayerNodes> cuts;
  flatten(steps_of(again), cuts[static_cast<std::size_t>(LayerNode::attention_backward)]);
  const auto spread = [&](const model::Pass& pass, const std::vector<LayerNode>& where) {
    const Steps steps = steps_of(pass);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Sequence& sequence = cuts[static_cast<std::size_t>(where[i])];
      sequence.insert(sequence.end(), steps[i].entries.begin(), steps[i].entries.end());
    }
  };
  spread(passes.forward, forward_nodes(passes.forward));
  spread(passes.backward_input, backward_nodes(passes.backward_input));
  spread(passes.backward_weight, weight_nodes(passes.backward_weight, passes.mlp_weight_ops));
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    sequences.nodes[i] = fitted(std::move(cuts[i]), nodes[i]);
  }
}

const PassSequences& SequenceMaker::layer(std::int64_t layer, model::Recompute policy) {
  const model::ModelSpec& model = costing_.input.model;
  auto& known = layers_[layer_sort(model, layer, policy)];
  if (!known) {
    const model::LayerPasses all = model::layer_passes(model, costing_.layer.in.options, layer);
    const model::Pass again = repeated_pass(costing_.layer, all.forward, layer, policy);
    known = passes(all, again, cost_layer(costing_.layer, layer, policy, memo_));
  }
  return *known;
}

const PassSequences& SequenceMaker::embedding() {
  if (!embedding_) {
    const auto all = model::embedding_passes(costing_.input.model, costing_.layer.in.options);
    embedding_ = passes(all, {}, cost_passes(costing_.layer, all, memo_));
  }
  return *embedding_;
}

const PassSequences& SequenceMaker::head() {
  if (!head_) {
    const model::ModelSpec& model = costing_.input.model;
    const auto all = model::head_passes(model, costing_.layer.in.options);
    const model::Pass again = model::head_recompute_pass(model, costing_.layer.in.options,
                                                         costing_.input.spec.recompute.of_head());
    LayerCosts costs = cost_passes(costing_.layer, all, memo_);
    costs.recompute = cost_passes(costing_.layer, {again, {}, {}}, memo_).forward;
    head_ = passes(all, again, costs);
  }
  return *head_;
}

std::uint32_t SequenceMaker::communication(TaskKind kind, const model::ShardParameters& held) {
  const model::ShardShare moved =
      kind == TaskKind::gradient_reduce ? held.trained() : gathered_parameters(costing_, held);
  const auto key = std::pair(kind, std::pair(moved.dense, moved.expert));
  if (const auto known = buckets_.find(key); known != buckets_.end()) {
    return known->second;
  }
  Sequence sequence;
  for (const bool expert : {false, true}) {
    for (const ReplicaOperation& one : replica_operations(costing_, kind, held, expert)) {
      const Operation operation{
          .name = fmt::format("{}{}", expert ? "expert " : "", one.name),
          .kind = one.message ? OperationKind::collective : OperationKind::memory,
          .stream = OperationStream::data,
          .bytes = one.bytes,
          .ranks = one.message ? one.message->group.ranks : 1,
          .nodes = one.message ? one.message->group.nodes : 1};
      sequence.push_back(
          {table_.operation(operation), StepCategory::exposed_data, one.cost.time, {}, false});
    }
  }
  const std::uint32_t made = table_.sequence(std::move(sequence));
  buckets_.emplace(key, made);
  return made;
}

std::uint32_t SequenceMaker::optimizer(std::int64_t device, Seconds backward) {
  const model::ShardParameters stage =
      layout::stage_shard_parameters(costing_.input.model, costing_.input.layout, device);
  const OptimizerParts parts = optimizer_parts(costing_, stage, device, backward);
  const bool on_host = costing_.input.spec.offload.optimizer != OffloadTarget::none;
  const std::int64_t owners = costing_.places.shard.ranks;
  Sequence sequence;
  append(sequence, parts.casts, {.name = "cast of the new weights", .kind = OperationKind::memory});
  append(sequence, parts.update,
         {.name = on_host ? "optimizer update on the host" : "optimizer update",
          .kind = on_host ? OperationKind::copy : OperationKind::update,
          .stream = on_host ? OperationStream::host : OperationStream::compute,
          .bytes = parts.bytes});
  append(sequence, parts.fixed,
         {.name = "fixed host work of a step",
          .kind = OperationKind::launch,
          .stream = OperationStream::host});
  append(sequence, parts.broadcasts,
         {.name = "parameter broadcasts",
          .kind = OperationKind::collective,
          .stream = OperationStream::data,
          .ranks = owners,
          .nodes = costing_.places.shard.nodes});
  append(sequence, cost_copies(costing_, map_, device),
         {.name = "sum of shared parameters",
          .kind = OperationKind::collective,
          .stream = OperationStream::data,
          .ranks = 2});
  return table_.sequence(std::move(sequence));
}

}  // namespace orrery::step
