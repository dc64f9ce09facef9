#include "sim/step/layer_costs.hpp"

#include <algorithm>
#include <iterator>
#include <variant>

namespace orrery::step {

namespace {

// Host time of a pass relative to the forward: the backward launches about 1.4 times as many
// kernels.
constexpr double kHostBackward = 1.4;

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

// A pass cannot run faster than the host launches it; the rest is launch gap.
void apply_host_floor(Parts& parts, const Costing& costing, double relative_host_time) {
  const auto& host = costing.costs.software().host_layer_time;
  const Seconds missing = host.value() * relative_host_time - parts.total();
  if (missing > Seconds{}) {
    cost::Cost gap = cost::term(missing, host.kind());
    gap.gap = missing;
    parts.add(StepCategory::launch_gap, gap);
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
  LayerCosts costs = cost_passes(costing, model::layer_passes(model, costing.options, layer), memo);
  apply_host_floor(costs.forward, costing, 1.0);
  // Input and weight gradients share the launches of the backward.
  apply_host_floor(costs.backward_input, costing, kHostBackward / 2.0);
  apply_host_floor(costs.backward_weight, costing, kHostBackward / 2.0);
  if (policy == model::Recompute::full) {
    costs.recompute = as_recomputation(costs.forward);
  } else if (policy == model::Recompute::selective) {
    costs.recompute =
        cost_pass(costing, model::recompute_pass(model, costing.options, layer, policy), memo);
  }
  return costs;
}

}  // namespace orrery::step
