#include "sim/step/step_structure.hpp"

#include "sim/step/costs/stage_costs.hpp"

namespace orrery::step {

using layout::Sharding;
using schedule::ScheduleKind;

schedule::DataParallelComm data_parallel_comm(const StepInput& input,
                                              const cost::CostModel& costs) {
  schedule::DataParallelComm comm;
  if (!has_replicas(input)) {
    return comm;
  }
  const bool gathers_per_use =
      input.layout.sharding == Sharding::zero3 || input.layout.sharding == Sharding::hsdp;
  comm.gradients = input.choices.reduction == hardware::GradientReduction::per_micro_batch
                       ? schedule::GradientReduction::per_micro_batch
                       : schedule::GradientReduction::per_step;
  comm.overlap_gradients = input.spec.overlap.data && costs.software().can_overlap_gradients;
  if (input.layout.sharding != Sharding::none) {
    comm.parameters =
        gathers_per_use ? schedule::ParameterGather::per_use : schedule::ParameterGather::per_step;
  }
  comm.overlap_parameters = input.spec.overlap.data && costs.software().can_overlap_parameters;
  comm.prefetch = static_cast<int>(input.choices.prefetch);
  comm.backward_prefetch = input.spec.fsdp.backward_prefetch;
  comm.gather_for_backward = input.spec.fsdp.reshard;
  return comm;
}

schedule::P2pMode p2p_mode(const StepInput& input, const cost::CostModel& costs) {
  if (input.layout.pipeline <= 1) {
    return schedule::P2pMode::none;
  }
  const auto named = [](hardware::PipelineTransfer transfer) {
    return transfer == hardware::PipelineTransfer::latency ? schedule::P2pMode::latency
                                                           : schedule::P2pMode::rendezvous_fused;
  };
  if (input.spec.schedule == ScheduleKind::one_f_one_b) {
    return named(costs.software().plain_1f1b_transfer);
  }
  // Without overlap the copy occupies the sender; with it only the latency is seen.
  const schedule::P2pMode wanted = named(costs.software().interleaved_transfer);
  return input.spec.overlap.pipeline && schedule::p2p_mode_applies(wanted, input.spec.schedule)
             ? wanted
             : schedule::P2pMode::occupying;
}

schedule::ScheduleRequest schedule_request(const StepInput& input) {
  return {.kind = input.spec.schedule,
          .devices = static_cast<int>(input.layout.pipeline),
          .chunks = static_cast<int>(input.layout.virtual_stages),
          .micro_batches = static_cast<int>(input.layout.micro_batches),
          .group_size = std::nullopt,
          .backward_order = std::nullopt};
}

}  // namespace orrery::step
