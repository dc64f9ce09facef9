#include "sim/step/cost/cost_model.hpp"

#include <utility>

#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/collective.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/memory_bound.hpp"
#include "sim/step/cost/transfer.hpp"

namespace orrery::cost {

namespace {

const layout::GroupPlacement& placement_of(model::CommAxis axis, const Placements& placements) {
  switch (axis) {
    case model::CommAxis::tensor:
      return placements.tensor;
    case model::CommAxis::context:
      return placements.context;
    case model::CommAxis::expert:
      return placements.expert;
    case model::CommAxis::expert_tensor:
      return placements.expert_tensor;
    case model::CommAxis::data:
      return placements.data;
    case model::CommAxis::pipeline:
      break;
  }
  return placements.pipeline;
}

// Whoever shares the NVLink domain counts as one node.
ExchangeBytes exchange_bytes(const model::TokenRouting& routing,
                             const layout::GroupPlacement& group) {
  const bool domains_span_hosts = group.domains <= group.nodes;
  Routing spread{.experts = routing.experts,
                 .top_k = routing.top_k,
                 .nodes = domains_span_hosts ? group.domains : group.nodes,
                 .node_limit = std::nullopt};
  if (routing.node_limit > 0) {
    spread.node_limit = routing.node_limit;
  }
  return routed_bytes(routing.tokens, routing.token_bytes, spread,
                      domains_span_hosts ? group.ranks_per_domain : group.ranks_per_node);
}

struct OperationVisitor {
  const CostModel& model;
  const Placements& placements;

  Cost operator()(const model::GemmOp& op) const { return model.gemm(op); }

  Cost operator()(const model::AttentionOp& op) const { return model.attention(op); }

  Cost operator()(const model::ScanOp& op) const { return model.scan(op); }

  Cost operator()(const model::MemoryOp& op) const { return model.memory_bound(op); }

  Cost operator()(const model::CollectiveOp& op) const {
    const layout::GroupPlacement& group = placement_of(op.axis, placements);
    if (op.routing) {
      return model.hierarchical_exchange(exchange_bytes(*op.routing, group), group);
    }
    return model.collective(op.kind, op.bytes_per_rank_in, op.bytes_total, op.dtype, group);
  }
};

}  // namespace

CostModel::CostModel(hardware::GpuProfile gpu, hardware::SoftwareProfile software,
                     hardware::ClusterSpec cluster)
    : gpu_(std::move(gpu)), software_(std::move(software)), cluster_(std::move(cluster)) {
  if (gpu_.collective_slowdown) {
    software_.communication_slowdown = *gpu_.collective_slowdown;
  }
  if (gpu_.host_factor) {  // times of a stack are those of a Xeon
    for (Coefficient<Seconds>* time : {&software_.host_layer_time, &software_.host_launch_time}) {
      *time = {time->value() * gpu_.host_factor->value(),
               {weaker(time->kind(), gpu_.host_factor->kind()), time->source().citation},
               time->residual(),
               time->range()};
    }
    gpu_.host_factor.reset();  // a model that is made of another one's parts slows them once
  }
}

Cost CostModel::gemm(const model::GemmOp& op) const { return gemm_cost(op, gpu_, software_); }

Cost CostModel::attention(const model::AttentionOp& op) const {
  return attention_cost(op, gpu_, software_);
}

Cost CostModel::scan(const model::ScanOp& op) const { return scan_cost(op, gpu_, software_); }

Cost CostModel::memory_bound(const model::MemoryOp& op) const {
  return memory_bound_cost(op, gpu_, software_);
}

Cost CostModel::collective(model::CollectiveKind kind, Bytes bytes_per_rank_in, Bytes bytes_total,
                           model::Dtype dtype, const layout::GroupPlacement& group) const {
  return collective_cost(kind, bytes_per_rank_in, bytes_total, dtype, group, gpu_, software_,
                         cluster_);
}

Cost CostModel::hierarchical_exchange(const ExchangeBytes& bytes,
                                      const layout::GroupPlacement& group) const {
  return hierarchical_exchange_cost(bytes, group, gpu_, software_, cluster_);
}

Cost CostModel::send_receive(Bytes bytes, const layout::HopPlacement& hop) const {
  return transfer_cost(bytes, hop, gpu_, software_, cluster_);
}

Cost CostModel::operation(const model::Op& op, const Placements& placements) const {
  return std::visit(OperationVisitor{*this, placements}, op);
}

std::optional<NetworkUse> CostModel::network_use(model::CollectiveKind kind,
                                                 Bytes bytes_per_rank_in, Bytes bytes_total,
                                                 model::Dtype dtype,
                                                 const layout::GroupPlacement& group) const {
  if (group.ranks <= 1) {
    return std::nullopt;
  }
  const CollectiveTime time = collective_time(kind, bytes_per_rank_in, bytes_total, dtype, group,
                                              gpu_, cluster_, software_.ring_nic_exponent.value());
  if (!time.crosses_nodes) {
    return std::nullopt;
  }
  const bool direct =
      kind == model::CollectiveKind::all_to_all || kind == model::CollectiveKind::send_receive;
  return NetworkUse{.pattern = direct                ? NetworkPattern::exchange
                               : time.fabric_reduces ? NetworkPattern::in_switches
                                                     : NetworkPattern::ring,
                    .bytes = nccl_bytes(kind, bytes_per_rank_in, bytes_total) * time.crossing,
                    .alone = stack_transfer(time, kind, group, software_, cluster_)};
}

std::optional<NetworkUse> CostModel::network_use(const model::CollectiveOp& op,
                                                 const Placements& placements) const {
  const layout::GroupPlacement& group = placement_of(op.axis, placements);
  if (!op.routing) {
    return network_use(op.kind, op.bytes_per_rank_in, op.bytes_total, op.dtype, group);
  }
  const ExchangeBytes bytes = exchange_bytes(*op.routing, group);
  if (group.ranks <= 1) {
    return std::nullopt;
  }
  const CollectiveTime time = hierarchical_exchange_time(bytes, group, gpu_, cluster_);
  if (!time.crosses_nodes) {
    return std::nullopt;
  }
  return NetworkUse{NetworkPattern::exchange, bytes.over_network,
                    time.transfer / exchange_efficiency(time, software_).value()};
}

std::optional<NetworkUse> CostModel::network_use(Bytes bytes,
                                                 const layout::HopPlacement& hop) const {
  const TransferTime time = transfer_time(bytes, hop, gpu_, cluster_);
  if (!time.crosses_nodes) {
    return std::nullopt;
  }
  return NetworkUse{NetworkPattern::message, bytes,
                    time.transfer / software_.network_efficiency.value()};
}

Cost CostModel::optimizer_step(double parameters) const {
  return optimizer_cost(parameters, gpu_, software_);
}

}  // namespace orrery::cost
