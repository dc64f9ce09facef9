#include "sim/step/simulate/operations/operation_names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/simulate/stages/data_parallel_costs.hpp"

namespace orrery::step {

namespace {

struct Lane {
  OperationStream stream = OperationStream::compute;
  const layout::GroupPlacement* group = nullptr;
};

Lane lane_of(model::CommAxis axis, const cost::Placements& places) {
  switch (axis) {
    case model::CommAxis::tensor:
      return {OperationStream::tensor, &places.tensor};
    case model::CommAxis::context:
      return {OperationStream::context, &places.context};
    case model::CommAxis::expert:
      return {OperationStream::expert, &places.expert};
    case model::CommAxis::expert_tensor:
      return {OperationStream::expert, &places.expert_tensor};
    case model::CommAxis::data:
      return {OperationStream::data, &places.data};
    case model::CommAxis::pipeline:
      return {OperationStream::pipeline, &places.pipeline};
  }
  return {};
}

}  // namespace

std::string operation_name(const model::PassOp& entry) {
  std::string name;
  if (const auto* gemm = std::get_if<model::GemmOp>(&entry.op)) {
    name = fmt::format("{} {}", model::part_name(gemm->part), kernels::to_string(gemm->role));
  } else if (const auto* attention = std::get_if<model::AttentionOp>(&entry.op)) {
    name = attention->backward ? "attention backward" : "attention forward";
  } else if (const auto* scan = std::get_if<model::ScanOp>(&entry.op)) {
    name = scan->backward ? "scan backward" : "scan forward";
  } else if (const auto* memory = std::get_if<model::MemoryOp>(&entry.op)) {
    name = model::part_name(memory->part, memory->role);
  } else {
    const auto& collective = std::get<model::CollectiveOp>(entry.op);
    name = model::part_name(collective.part, collective.role);
  }
  return entry.recomputed ? name + " (recomputed)" : name;
}

OperationKind kind_of(const model::Op& op) {
  constexpr std::array kKinds = {OperationKind::gemm, OperationKind::attention,
                                 OperationKind::attention,  // scans
                                 OperationKind::memory, OperationKind::collective};
  static_assert(kKinds.size() == std::variant_size_v<model::Op>);
  return kKinds[op.index()];
}

Operation describe_operation(const model::PassOp& entry, const cost::Placements& places) {
  Operation operation;
  operation.name = operation_name(entry);
  operation.kind = kind_of(entry.op);
  operation.flop = in_flop(model::flop_count(entry.op));
  if (const auto* gemm = std::get_if<model::GemmOp>(&entry.op)) {
    operation.bytes = cost::gemm_bytes(*gemm);
  } else if (const auto* attention = std::get_if<model::AttentionOp>(&entry.op)) {
    operation.bytes = cost::attention_bytes(*attention);
  } else if (const auto* scan = std::get_if<model::ScanOp>(&entry.op)) {
    operation.bytes = model::scan_bytes(*scan);
  } else if (const auto* memory = std::get_if<model::MemoryOp>(&entry.op)) {
    operation.bytes = memory->read + memory->written;
  } else {
    const auto& collective = std::get<model::CollectiveOp>(entry.op);
    const Lane lane = lane_of(collective.axis, places);
    operation.stream = lane.stream;
    operation.ranks = lane.group->ranks;
    operation.nodes = lane.group->nodes;
    operation.bytes = sent_by_rank(collective.kind, collective.bytes_per_rank_in,
                                   collective.bytes_total, operation.ranks);
  }
  return operation;
}

OperationStream stream_of(StepCategory category) {
  switch (category) {
    case StepCategory::exposed_tensor:
      return OperationStream::tensor;
    case StepCategory::exposed_context:
      return OperationStream::context;
    case StepCategory::exposed_expert:
      return OperationStream::expert;
    case StepCategory::exposed_pipeline:
      return OperationStream::pipeline;
    case StepCategory::exposed_data:
      return OperationStream::data;
    case StepCategory::launch_gap:
    case StepCategory::host_step:
    case StepCategory::offload:
    case StepCategory::data_stall:
      return OperationStream::host;
    default:
      return OperationStream::compute;
  }
}

Operation remainder_operation(StepCategory category) {
  const OperationStream stream = stream_of(category);
  switch (category) {
    case StepCategory::launch_gap:
      return {.name = "waiting for launches", .kind = OperationKind::launch, .stream = stream};
    case StepCategory::host_step:
      return {.name = "host between steps", .kind = OperationKind::launch, .stream = stream};
    case StepCategory::offload:
      return {.name = "copies to and from the host", .kind = OperationKind::copy, .stream = stream};
    case StepCategory::idle:
      return {.name = "waiting for the slowest GPU", .kind = OperationKind::wait, .stream = stream};
    case StepCategory::bubble:
    case StepCategory::stage_imbalance:
    case StepCategory::data_stall:
      return {
          .name = std::string(to_string(category)), .kind = OperationKind::wait, .stream = stream};
    case StepCategory::optimizer:
      return {.name = "optimizer update", .kind = OperationKind::update, .stream = stream};
    case StepCategory::compute:
    case StepCategory::recompute:
      return {.name = "other compute", .kind = OperationKind::memory, .stream = stream};
    default:
      return {.name = std::string(to_string(stream)),
              .kind = OperationKind::collective,
              .stream = stream};
  }
}

}  // namespace orrery::step
