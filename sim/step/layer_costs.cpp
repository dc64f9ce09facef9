#include "sim/step/layer_costs.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <variant>

#include "sim/cost/attention.hpp"

namespace orrery::step {

namespace {

// Host time of a pass relative to the forward: the backward launches about 1.4 times as many
// kernels.
constexpr double kHostBackward = 1.4;
// Of the norm that joins host and GPU time: 6 fits the vTrain single-node rows best (6.2 % mean
// error against 6.6 % with 12 or with the plain maximum).
constexpr double kHostSharpness = 6.0;

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

// Time of the GEMM that a collective may run beside: the nearest one in its direction.
Seconds neighbour_time(const Costing& costing, const model::Pass& pass, std::size_t at) {
  const auto is_gemm = [](const model::PassOp& entry) {
    return std::holds_alternative<model::GemmOp>(entry.op);
  };
  const auto here = pass.begin() + static_cast<std::ptrdiff_t>(at);
  const model::GemmOp* gemm = nullptr;
  if (std::get<model::CollectiveOp>(here->op).beside == model::Beside::next_gemm) {
    const auto next = std::find_if(here, pass.end(), is_gemm);
    gemm = next != pass.end() ? &std::get<model::GemmOp>(next->op) : nullptr;
  } else {
    const auto previous = std::find_if(std::make_reverse_iterator(here), pass.rend(), is_gemm);
    gemm = previous != pass.rend() ? &std::get<model::GemmOp>(previous->op) : nullptr;
  }
  return gemm != nullptr ? costing.costs.gemm(*gemm).time : Seconds{};
}

// Share of a tensor-parallel collective that the compute stream waits for. What runs beside a GEMM
// still takes SMs and memory bandwidth from it.
double exposed_share(const Costing& costing,
                     const model::Pass& pass,
                     std::size_t at,
                     Seconds time) {
  const auto& op = std::get<model::CollectiveOp>(pass[at].op);
  if (op.axis != model::CommAxis::tensor || time <= Seconds{}) {
    return 1.0;
  }
  const hardware::SoftwareProfile& software = costing.costs.software();
  if (op.beside != model::Beside::nothing && software.hides_tensor_backward) {
    const Seconds hidden = std::min(time, neighbour_time(costing, pass, at));
    const double slowdown = software.communication_slowdown.value();
    return (time - hidden * (1.0 - slowdown)) / time;
  }
  return costing.tensor_exposed;
}

Parts cost_pass(const Costing& costing, const model::Pass& pass, CollectiveMemo& memo) {
  Parts parts;
  for (std::size_t i = 0; i < pass.size(); ++i) {
    if (const auto* collective = std::get_if<model::CollectiveOp>(&pass[i].op)) {
      const cost::Cost& cost = memo.get(costing, *collective);
      parts.add(
          exposed_category(collective->axis), cost, exposed_share(costing, pass, i, cost.time));
    } else {
      parts.add(pass[i].recomputed ? StepCategory::recompute : StepCategory::compute,
                costing.costs.operation(pass[i].op, costing.places));
    }
  }
  return parts;
}

// Full recomputation runs the forward pass again.
Parts as_recomputation(Parts forward) {
  Seconds& compute = forward.by_category[static_cast<std::size_t>(StepCategory::compute)];
  forward.by_category[static_cast<std::size_t>(StepCategory::recompute)] += compute;
  compute = {};
  return forward;
}

// Kernels and collectives that the host launches for a pass.
double launch_count(const model::Pass& pass) {
  double count = 0.0;
  for (const model::PassOp& entry : pass) {
    if (const auto* memory = std::get_if<model::MemoryOp>(&entry.op)) {
      count += static_cast<double>(memory->kernels);
    } else if (const auto* attention = std::get_if<model::AttentionOp>(&entry.op)) {
      count += cost::attention_kernels(*attention);
    } else {
      count += 1.0;
    }
  }
  return count;
}

struct HostedPass {
  Parts& parts;
  Seconds host;  // to launch it
};

HostedPass hosted(const Costing& costing, Parts& parts, double relative, double launches) {
  const hardware::SoftwareProfile& software = costing.costs.software();
  return {
      parts,
      software.host_layer_time.value() * relative + software.host_launch_time.value() * launches};
}

// Passes that run one after the other cannot run faster than the host launches them: a queue that
// is full in one of them carries the next. Near the floor each side binds a part of the time, since
// kernels are of unequal length. What is missing is launch gap, in proportion to the launches.
void apply_host_floor(const Costing& costing, std::initializer_list<HostedPass> passes) {
  const hardware::SoftwareProfile& software = costing.costs.software();
  Seconds host;
  Seconds busy;
  for (const HostedPass& pass : passes) {
    host += pass.host;
    busy += pass.parts.total();
  }
  if (host <= Seconds{}) {
    return;
  }
  const Seconds longer = std::max(host, busy);
  const double both =
      std::pow(host / longer, kHostSharpness) + std::pow(busy / longer, kHostSharpness);
  const Seconds missing = longer * std::pow(both, 1.0 / kHostSharpness) - busy;
  const SourceKind kind =
      cost::weaker(software.host_layer_time.kind(), software.host_launch_time.kind());
  for (const HostedPass& pass : passes) {
    cost::Cost gap = cost::term(missing * (pass.host / host), kind);
    gap.gap = gap.time;
    pass.parts.add(StepCategory::launch_gap, gap);
  }
}

}  // namespace

const cost::Cost& CollectiveMemo::get(const Costing& costing, const model::CollectiveOp& op) {
  const auto known = std::find_if(known_.begin(), known_.end(), [&op](const Known& entry) {
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

LayerCosts cost_passes(const Costing& costing,
                       const model::LayerPasses& passes,
                       CollectiveMemo& memo) {
  LayerCosts costs;
  costs.forward = cost_pass(costing, passes.forward, memo);
  costs.backward_input = cost_pass(costing, passes.backward_input, memo);
  costs.backward_weight = cost_pass(costing, passes.backward_weight, memo);
  return costs;
}

LayerCosts cost_layer(const Costing& costing,
                      std::int64_t layer,
                      model::Recompute policy,
                      CollectiveMemo& memo) {
  const model::ModelSpec& model = costing.input.model;
  const model::LayerPasses passes = model::layer_passes(model, costing.options, layer);
  LayerCosts costs = cost_passes(costing, passes, memo);
  const double forward_launches = launch_count(passes.forward);
  double again = 0.0;
  double launches_again = 0.0;
  if (policy == model::Recompute::full) {
    costs.recompute = as_recomputation(costs.forward);
    again = 1.0;
    launches_again = forward_launches;
  } else if (policy == model::Recompute::selective) {
    const model::Pass repeated = model::recompute_pass(model, costing.options, layer, policy);
    costs.recompute = cost_pass(costing, repeated, memo);
    launches_again = launch_count(repeated);
  }
  apply_host_floor(costing, {hosted(costing, costs.forward, 1.0, forward_launches)});
  // Input and weight gradients share the launches of the backward.
  apply_host_floor(
      costing,
      {hosted(costing, costs.recompute, again, launches_again),
       hosted(
           costing, costs.backward_input, kHostBackward / 2.0, launch_count(passes.backward_input)),
       hosted(costing,
              costs.backward_weight,
              kHostBackward / 2.0,
              launch_count(passes.backward_weight))});
  return costs;
}

}  // namespace orrery::step
