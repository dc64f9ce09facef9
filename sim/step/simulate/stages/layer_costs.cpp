#include "sim/step/simulate/stages/layer_costs.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <variant>

#include "sim/step/simulate/stages/host_launches.hpp"

namespace orrery::step {

namespace {

std::uint64_t mixed(std::uint64_t hash, std::int64_t value) {
  constexpr std::uint64_t kPrime = 0x100000001b3U;  // FNV-1a
  return (hash ^ static_cast<std::uint64_t>(value)) * kPrime;
}

// Of what differs most often; equality is checked in full.
std::uint64_t hash_of(const LayerInputs& inputs) {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325U;
  const model::ShardContext& shard = inputs.options.shard;
  std::uint64_t hash = kBasis;
  for (const std::int64_t value :
       {shard.micro_batch, shard.tensor, shard.context, shard.expert, shard.expert_tensor,
        std::int64_t{shard.sequence_parallel ? 1 : 0}, std::int64_t{inputs.combines ? 1 : 0},
        static_cast<std::int64_t>(inputs.options.precision.gradient), inputs.groups.expert.nodes,
        inputs.groups.expert.ranks_per_node}) {
    hash = mixed(hash, value);
  }
  return hash;
}

using schedule::LayerNode;

// Time of the operation of a kind that a collective may run beside: the nearest in its direction.
template <typename Neighbour>
Seconds neighbour_time(const LayerCosting& costing, const model::Pass& pass, std::size_t at,
                       bool forwards) {
  const auto is_neighbour = [](const model::PassOp& entry) {
    return std::holds_alternative<Neighbour>(entry.op);
  };
  const auto here = pass.begin() + static_cast<std::ptrdiff_t>(at);
  const model::Op* op = nullptr;
  if (forwards) {
    const auto next = std::find_if(here, pass.end(), is_neighbour);
    op = next != pass.end() ? &next->op : nullptr;
  } else {
    const auto previous = std::find_if(std::make_reverse_iterator(here), pass.rend(), is_neighbour);
    op = previous != pass.rend() ? &previous->op : nullptr;
  }
  return op != nullptr ? costing.costs.operation(*op, costing.places).time : Seconds{};
}

// Share of a collective that remains when up to `beside` of it hides. What runs beside a kernel
// still takes SMs and memory bandwidth from it.
double remaining_share(const LayerCosting& costing, Seconds time, Seconds beside) {
  const Seconds hidden = std::min(time, beside);
  return (time - hidden * (1.0 - costing.costs.software().communication_slowdown.value())) / time;
}

// The ring: the first block of attention needs only the rank's own keys; the others hide the steps.
double ring_share(const LayerCosting& costing, const model::Pass& pass, std::size_t at,
                  Seconds time) {
  const bool forwards =
      std::get<model::CollectiveOp>(pass[at].op).beside == model::Beside::next_attention;
  const auto ranks = static_cast<double>(costing.in.options.shard.context);
  const Seconds attention = neighbour_time<model::AttentionOp>(costing, pass, at, forwards);
  return remaining_share(costing, time, attention * ((ranks - 1.0) / ranks));
}

// Frozen weights: the reduction of dX runs beside the weight gradient, which is not computed, and
// no stack cuts the exchanges of the adapters together with their small products.
bool has_nothing_beside(const LayerCosting& costing, const model::CollectiveOp& op) {
  return (costing.model.lora || costing.model.trainable) &&
         (op.beside == model::Beside::previous_gemm || op.part == model::Part::adapter_exchange);
}

// Share of the collective at place `at` of a pass, which takes `time`, that the compute stream
// waits for.
double waited_share(const LayerCosting& costing, const model::Pass& pass, std::size_t at,
                    Seconds time) {
  const auto& op = std::get<model::CollectiveOp>(pass[at].op);
  if (time <= Seconds{}) {
    return 1.0;
  }
  if (op.axis == model::CommAxis::context && op.beside != model::Beside::nothing) {
    return ring_share(costing, pass, at, time);
  }
  if (op.axis != model::CommAxis::tensor) {
    return 1.0;
  }
  const hardware::SoftwareProfile& software = costing.costs.software();
  if (costing.in.tensor_chunks) {
    const bool gathers = op.kind == model::CollectiveKind::all_gather;
    const Seconds gemm = neighbour_time<model::GemmOp>(costing, pass, at, gathers);
    const Seconds exposed = decomposed_wait(time, gemm, *costing.in.tensor_chunks);
    return (exposed + (time - exposed) * software.communication_slowdown.value()) / time;
  }
  if (has_nothing_beside(costing, op)) {
    return 1.0;
  }
  if (op.beside != model::Beside::nothing && software.hides_tensor_backward) {
    const bool forwards = op.beside == model::Beside::next_gemm;
    return remaining_share(costing, time,
                           neighbour_time<model::GemmOp>(costing, pass, at, forwards));
  }
  return costing.in.tensor_exposed;
}

// Attention inside documents: as many pieces more as they are shorter; one kernel all the same. The
// replica with the longest documents is waited for.
void add_masked(Parts& parts, const LayerCosting& costing, const model::AttentionOp& whole,
                bool recomputed) {
  const auto shorter = [&costing](std::int64_t length) {
    const double share = costing.in.masked.length_share * static_cast<double>(length);
    return std::max<std::int64_t>(1, std::llround(share));
  };
  model::AttentionOp piece = whole;
  piece.query_length = shorter(whole.query_length);
  piece.key_length = shorter(whole.key_length);
  const double pieces =
      static_cast<double>(whole.query_length) / static_cast<double>(piece.query_length);
  cost::Cost cost = costing.costs.attention(piece);
  const Seconds work = cost.time - cost.gap;
  const double scale = cost.time > Seconds{} ? (work * pieces + cost.gap) / cost.time : 1.0;
  cost.time = work * pieces + cost.gap;
  for (Seconds& source : cost.by_source) {
    source = source * scale;
  }
  cost.extrapolated = cost.extrapolated * scale;
  parts.add(recomputed ? StepCategory::recompute : StepCategory::compute, cost);
  parts.add(StepCategory::idle,
            cost::term(work * (pieces * costing.in.masked.imbalance), SourceKind::given));
}

Parts cost_pass(const LayerCosting& costing, const model::Pass& pass, CollectiveMemo& memo) {
  Parts parts;
  for (std::size_t i = 0; i < pass.size(); ++i) {
    add_operation(parts, costing, pass, i, memo);
  }
  return parts;
}

bool is_expert_exchange(const model::PassOp& entry) {
  const auto* op = std::get_if<model::CollectiveOp>(&entry.op);
  return op != nullptr && op->axis == model::CommAxis::expert &&
         op->kind == model::CollectiveKind::all_to_all;
}

// The nodes into which the two all-to-all of a pass cut it, in order. A pass without them is
// attention alone.
struct NodeNames {
  LayerNode before, first, between, second, after, whole;
};

constexpr NodeNames kForwardNodes = {LayerNode::attention_forward, LayerNode::dispatch_forward,
                                     LayerNode::mlp_forward,       LayerNode::combine_forward,
                                     LayerNode::mlp_forward,       LayerNode::attention_forward};
constexpr NodeNames kBackwardNodes = {LayerNode::mlp_backward,       LayerNode::combine_backward,
                                      LayerNode::mlp_backward,       LayerNode::dispatch_backward,
                                      LayerNode::attention_backward, LayerNode::attention_backward};

std::vector<LayerNode> nodes_of(const model::Pass& pass, const NodeNames& names) {
  const bool exchanges = std::ranges::any_of(pass, is_expert_exchange);
  LayerNode here = exchanges ? names.before : names.whole;
  bool seen = false;
  std::vector<LayerNode> nodes;
  nodes.reserve(pass.size());
  for (const model::PassOp& entry : pass) {
    if (is_expert_exchange(entry)) {
      nodes.push_back(seen ? names.second : names.first);
      here = seen ? names.after : names.between;
      seen = !seen;  // a reference model exchanges as well
    } else {
      nodes.push_back(here);
    }
  }
  return nodes;
}

void cut_pass(LayerNodeParts& parts, const std::vector<LayerNode>& nodes,
              const LayerCosting& costing, const model::Pass& pass, CollectiveMemo& memo) {
  for (std::size_t i = 0; i < pass.size(); ++i) {
    add_operation(parts[static_cast<std::size_t>(nodes[i])], costing, pass, i, memo);
  }
}

LayerNodeParts cut_layer(const LayerCosting& costing, const model::LayerPasses& passes,
                         const Parts& recompute, CollectiveMemo& memo) {
  LayerNodeParts nodes;
  cut_pass(nodes, forward_nodes(passes.forward), costing, passes.forward, memo);
  cut_pass(nodes, backward_nodes(passes.backward_input), costing, passes.backward_input, memo);
  nodes[static_cast<std::size_t>(LayerNode::attention_backward)].add(recompute);
  cut_pass(nodes, weight_nodes(passes.backward_weight, passes.mlp_weight_ops), costing,
           passes.backward_weight, memo);
  return nodes;
}

// All-to-all of a pass, and the time of what runs beside it.
cost::Cost exchange_cost(const LayerCosting& costing, const model::Pass& pass,
                         CollectiveMemo& memo) {
  cost::Cost sum;
  for (const model::PassOp& entry : pass) {
    if (is_expert_exchange(entry)) {
      sum += memo.get(costing, std::get<model::CollectiveOp>(entry.op));
    }
  }
  return sum;
}

Seconds shared_expert_time(const LayerCosting& costing, const model::Pass& pass) {
  Seconds sum;
  for (const model::PassOp& entry : pass) {
    const auto* gemm = std::get_if<model::GemmOp>(&entry.op);
    if (gemm != nullptr && (gemm->part == model::Part::shared_expert_up ||
                            gemm->part == model::Part::shared_expert_down)) {
      sum += costing.costs.gemm(*gemm).time;
    }
  }
  return sum;
}

// Takes from a pass the all-to-all that runs beside `available` seconds of other work; returns what
// of it is hidden.
Seconds hide_exchange(Parts& parts, const LayerCosting& costing, const cost::Cost& exchange,
                      Seconds available) {
  const double most = costing.costs.software().expert_overlap_share.value();
  const Seconds hidden = std::min(exchange.time * most, available);
  if (hidden > Seconds{}) {
    const double share = hidden / exchange.time * (1.0 - expert_slowdown(costing.costs));
    parts.add(StepCategory::exposed_expert, exchange, -share);
  }
  return hidden;
}

// Without combined steps: shared experts run beside the all-to-all of their own direction, and in a
// full backward the weight gradients of the MLP block as well.
void hide_in_layer(LayerCosts& costs, const LayerCosting& costing, const model::LayerPasses& passes,
                   CollectiveMemo& memo) {
  hide_exchange(costs.forward, costing, exchange_cost(costing, passes.forward, memo),
                shared_expert_time(costing, passes.forward));
  cost::Cost exchange = exchange_cost(costing, passes.backward_input, memo);
  const Seconds hidden = hide_exchange(costs.backward_input, costing, exchange,
                                       shared_expert_time(costing, passes.backward_input));
  Seconds weights;
  for (std::size_t i = 0; i < passes.mlp_weight_ops; ++i) {
    weights += costing.costs.operation(passes.backward_weight[i].op, costing.places).time;
  }
  const Seconds more = std::min(exchange.time - hidden, weights);
  if (more > Seconds{}) {
    costs.full_backward_gain.add(StepCategory::exposed_expert, exchange,
                                 -(more / exchange.time) * (1.0 - expert_slowdown(costing.costs)));
  }
}

// Full recomputation runs the forward pass again, all of it, where a backward follows.
bool repeats_forward(const LayerCosting& costing) {
  return !costing.in.options.recompute_stops_early && !costing.model.reference &&
         !costing.model.ends_at_head();
}

Parts as_recomputation(Parts forward) {
  Seconds& compute = forward.by_category[static_cast<std::size_t>(StepCategory::compute)];
  forward.by_category[static_cast<std::size_t>(StepCategory::recompute)] += compute;
  compute = {};
  return forward;
}

}  // namespace

// Groups and hops follow from the degrees: the order of the axes and the cluster stay.
KnownPlaces& CostMemo::places(const StepInput& input) {
  constexpr std::size_t kMost = 1024;
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325U;
  const layout::Layout& layout = input.layout;
  const bool shards = layout.sharding != layout::Sharding::none;
  const std::array<std::int64_t, 7> degrees = {
      layout.tensor,        layout.context,     layout.pipeline, layout.expert,
      layout.expert_tensor, layout.shard_group, shards ? 1 : 0};
  std::uint64_t hash = kBasis;
  for (const std::int64_t degree : degrees) {
    hash = mixed(hash, degree);
  }
  if (places_.size() >= kMost) {
    places_.clear();
  }
  const auto [known, is_new] = places_.try_emplace(hash);
  if (is_new || known->second.degrees != degrees) {
    known->second = {degrees, placements(input), {}, {}};
    const layout::RankMap map(layout);
    for (std::int64_t d = 0; layout.pipeline > 1 && d < layout.pipeline; ++d) {
      known->second.hops.push_back(layout::place_hop(map, layout, d, input.cluster));
    }
  }
  return known->second;
}

const std::vector<SpeedRange>& CostMemo::speeds(const StepInput& input) {
  const auto [known, is_new] =
      speeds_.try_emplace({input.layout.gpus, input.cluster.gpus_per_node});
  if (is_new) {
    known->second = speed_ranges(input);
  }
  return known->second;
}

KnownPasses& CostMemo::passes(const LayerInputs& inputs) {
  constexpr std::size_t kMost = 256;  // some 30 kB each
  if (known_.size() >= kMost) {
    known_.clear();
  }
  std::unique_ptr<KnownPasses>& known = known_[hash_of(inputs)];
  if (!known || known->inputs != inputs) {
    known = std::make_unique<KnownPasses>(KnownPasses{.inputs = inputs});
  }
  return *known;
}

double expert_slowdown(const cost::CostModel& costs) {
  const hardware::SoftwareProfile& software = costs.software();
  if (!software.expert_all_to_all_sms) {
    return software.communication_slowdown.value();
  }
  const double all = static_cast<double>(std::max<std::int64_t>(costs.gpu().sm_count, 1));
  return std::min(software.expert_all_to_all_sms->value() / all, 1.0);
}

StepCategory exposed_category(model::CommAxis axis) {
  switch (axis) {
    case model::CommAxis::tensor:
      return StepCategory::exposed_tensor;
    case model::CommAxis::context:
      return StepCategory::exposed_context;
    case model::CommAxis::expert:
    case model::CommAxis::expert_tensor:
      return StepCategory::exposed_expert;
    case model::CommAxis::data:
      return StepCategory::exposed_data;
    case model::CommAxis::pipeline:
      return StepCategory::exposed_pipeline;
  }
  return StepCategory::exposed_tensor;
}

model::Pass repeated_pass(const LayerCosting& costing, const model::Pass& forward,
                          std::int64_t layer, model::Recompute policy) {
  if (policy != model::Recompute::full || !repeats_forward(costing)) {
    return model::recompute_pass(costing.model, costing.in.options, layer, policy);
  }
  model::Pass again = forward;
  for (model::PassOp& entry : again) {
    entry.recomputed = true;
  }
  return again;
}

void add_operation(Parts& parts, const LayerCosting& costing, const model::Pass& pass,
                   std::size_t at, CollectiveMemo& memo) {
  if (const auto* collective = std::get_if<model::CollectiveOp>(&pass[at].op)) {
    const cost::Cost& cost = memo.get(costing, *collective);
    parts.add(exposed_category(collective->axis), cost, waited_share(costing, pass, at, cost.time));
  } else if (const auto* attention = std::get_if<model::AttentionOp>(&pass[at].op);
             attention != nullptr && costing.in.masked.length_share < 1.0) {
    add_masked(parts, costing, *attention, pass[at].recomputed);
  } else {
    parts.add(pass[at].recomputed ? StepCategory::recompute : StepCategory::compute,
              costing.costs.operation(pass[at].op, costing.places));
  }
}

std::vector<LayerNode> forward_nodes(const model::Pass& pass) {
  return nodes_of(pass, kForwardNodes);
}

std::vector<LayerNode> backward_nodes(const model::Pass& pass) {
  return nodes_of(pass, kBackwardNodes);
}

std::vector<LayerNode> weight_nodes(const model::Pass& pass, std::size_t mlp_ops) {
  std::vector<LayerNode> nodes(pass.size(), LayerNode::attention_weight);
  std::fill_n(nodes.begin(), std::min(mlp_ops, pass.size()), LayerNode::mlp_weight);
  return nodes;
}

Seconds decomposed_wait(Seconds collective, Seconds gemm, std::int64_t chunks) {
  const double rest = 1.0 - 1.0 / static_cast<double>(chunks);
  return collective / static_cast<double>(chunks) + std::max(Seconds{}, collective - gemm) * rest;
}

const cost::Cost& CollectiveMemo::get(const LayerCosting& costing, const model::CollectiveOp& op) {
  const auto known = std::ranges::find_if(known_, [&op](const Known& entry) {
    return entry.op.kind == op.kind && entry.op.axis == op.axis && entry.op.dtype == op.dtype &&
           entry.op.bytes_per_rank_in == op.bytes_per_rank_in &&
           entry.op.bytes_total == op.bytes_total;
  });
  if (known != known_.end()) {
    return known->cost;
  }
  known_.push_back({op, costing.costs.operation(op, costing.places)});
  return known_.back().cost;
}

LayerCosts cost_passes(const LayerCosting& costing, const model::LayerPasses& passes,
                       CollectiveMemo& memo) {
  LayerCosts costs;
  costs.forward = cost_pass(costing, passes.forward, memo);
  costs.backward_input = cost_pass(costing, passes.backward_input, memo);
  costs.backward_weight = cost_pass(costing, passes.backward_weight, memo);
  return costs;
}

LayerCosts cost_layer(const LayerCosting& costing, std::int64_t layer, model::Recompute policy,
                      CollectiveMemo& memo) {
  const model::ModelSpec& model = costing.model;
  const model::LayerPasses passes = model::layer_passes(model, costing.in.options, layer);
  LayerCosts costs = cost_passes(costing, passes, memo);
  if (costing.in.overlaps_experts && !costing.in.combines) {
    hide_in_layer(costs, costing, passes, memo);
  }
  const Launches forward_launches = launches_of(costing, passes.forward, PassKind::forward);
  double again = 0.0;
  Launches launches_again;
  if (policy == model::Recompute::full && repeats_forward(costing)) {
    costs.recompute = as_recomputation(costs.forward);
    again = 1.0;
    launches_again = forward_launches;
  } else if (policy != model::Recompute::none) {
    const model::Pass repeated = model::recompute_pass(model, costing.in.options, layer, policy);
    costs.recompute = cost_pass(costing, repeated, memo);
    again = policy == model::Recompute::full ? 1.0 : 0.0;
    launches_again = launches_of(costing, repeated, PassKind::again);
  }
  // Input and weight gradients share the launches of the backward.
  const double half = costing.costs.software().host_backward.value() / 2.0;
  const Launches input_launches =
      launches_of(costing, passes.backward_input, PassKind::backward_input);
  const Launches weight_launches =
      launches_of(costing, passes.backward_weight, PassKind::backward_weight);
  const HostedPass forward{costs.forward, host_time(costing, forward_launches, 1.0)};
  const HostedPass recompute{costs.recompute, host_time(costing, launches_again, again)};
  const HostedPass input{costs.backward_input, host_time(costing, input_launches, half)};
  const HostedPass weight{costs.backward_weight, host_time(costing, weight_launches, half)};
  if (costing.in.combines) {
    costs.nodes =
        std::make_shared<const LayerNodeParts>(cut_layer(costing, passes, costs.recompute, memo));
    costs.host = {forward.host, recompute.host + input.host, weight.host};
  }
  add_launch_gaps(costing, {forward}, host_sharpness(costing));
  add_launch_gaps(costing, {recompute, input, weight}, host_sharpness(costing));
  return costs;
}

}  // namespace orrery::step
