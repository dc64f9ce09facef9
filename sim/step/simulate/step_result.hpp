#pragma once

// Result of a simulated step: its time, a ledger of its GPU-seconds, and its memory.
//
//   ledger: sum over categories == gpus * step_time, exactly (integer nanoseconds)
//
// Attribution of waiting: by replays of the same step with one cause after another
// (wait_causes.hpp): the bubble of the schedule, stages of unequal work, slower GPUs, exposed
// communication. Symmetric ranks collapse: one timeline per pipeline device.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/ledger.hpp"
#include "sim/base/provenance.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"
#include "sim/step/schedule/step_graph.hpp"

namespace orrery::step {

enum class StepCategory : std::uint8_t {
  compute,
  recompute,
  launch_gap,
  host_step,  // what the host does once a step while the GPUs wait
  data_stall,
  offload,
  exposed_tensor,
  exposed_context,
  exposed_expert,
  exposed_pipeline,
  exposed_data,
  bubble,           // what the schedule leaves of equal stages without communication
  stage_imbalance,  // what stages of unequal work add to it
  optimizer,
  idle,
  count_
};

inline constexpr std::size_t kStepCategories = static_cast<std::size_t>(StepCategory::count_);

inline constexpr std::array<std::string_view, kStepCategories> kStepCategoryNames = {
    "compute",      "recompute",      "launch_gap",      "host_between_steps", "data_stall",
    "offload",      "exposed_tensor", "exposed_context", "exposed_expert",     "exposed_pipeline",
    "exposed_data", "bubble",         "stage_imbalance", "optimizer",          "idle"};

[[nodiscard]] constexpr std::string_view to_string(StepCategory category) {
  return kStepCategoryNames[static_cast<std::size_t>(category)];
}

using StepLedger = Ledger<StepCategory>;

// Share of GPU time in communication that nothing hides.
[[nodiscard]] inline double exposed_share(const StepLedger& ledger) {
  double sum = 0.0;
  for (const StepCategory category :
       {StepCategory::exposed_tensor, StepCategory::exposed_context, StepCategory::exposed_expert,
        StepCategory::exposed_pipeline, StepCategory::exposed_data}) {
    sum += ledger.share(category);
  }
  return sum;
}

// GPU time of waiting for other stages and slower GPUs; the stage with the least decides the step.
[[nodiscard]] inline Int128 waiting_for_others(const StepLedger& ledger) {
  return ledger.gpu_nanoseconds(StepCategory::bubble) +
         ledger.gpu_nanoseconds(StepCategory::stage_imbalance) +
         ledger.gpu_nanoseconds(StepCategory::idle);
}

// One executed task on the timeline of a pipeline device.
struct Slice {
  schedule::StepTask task;
  SimTime start;
  SimTime end;
};

// Peak memory of one GPU of a pipeline device. All terms are at the moment of the peak.
struct StageMemory {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;    // micro-batches in flight
  Bytes working;        // transient of the layer that runs: recomputation, logits
  Bytes communication;  // gathered parameters and reduction buckets
  Bytes overhead;       // context, libraries, allocator fragmentation
  Bytes limit;          // memory of the GPU
  Bytes host = {};      // in host memory, beside the GPU's peak

  [[nodiscard]] Bytes peak() const {
    return parameters + gradients + optimizer + activations + working + communication + overhead;
  }
};

struct Feasibility {
  bool fits = true;  // in the memory of the GPUs
  std::int64_t worst_stage = 0;
  Bytes headroom;  // negative: short by that much on the worst stage
  bool fits_host = true;
  Bytes host = {};  // of the node that needs most host memory
};

enum class OperationKind : std::uint8_t {
  gemm,
  attention,   // or the scan of a linear mixer
  memory,      // kernels that only move bytes
  collective,  // of a group of ranks
  message,     // from one pipeline stage to another
  update,      // optimizer
  launch,      // the GPU waits for the host
  copy,        // to and from the host and its drives
  wait,        // for others
  slowdown     // of compute, by communication beside it
};

// One line of the account of a stage's work per micro-batch, for `explain`.
struct OperationShare {
  std::string name;  // "mlp_up fprop", "attention backward", "all_reduce tensor", ...
  Seconds time;      // per step and GPU of the busiest stage; of a collective the exposed part
  OperationKind kind = OperationKind::memory;
  double flop = 0.0;   // per step and GPU
  double count = 0.0;  // how often it runs per step
};

struct OperationTimeline;  // operation_timeline.hpp
struct StepNetwork;        // fabric/step_network.hpp

struct StepResult {
  SimTime step_time;  // end of the last task of the executed graph
  std::int64_t gpus = 1;
  StepLedger ledger;                      // of an estimate: empty
  std::vector<StepLedger> stage_ledgers;  // likewise
  SimTime without_communication;          // what the step would take if it exposed none
  std::vector<StageMemory> memory;        // peak bytes of one GPU of each pipeline device, by term
  Feasibility feasibility;
  std::array<Seconds, kSourceKindCount> by_source{};  // GPU-time by the kind of source it rests on
  Seconds extrapolated;
  bool given = false;         // the scenario stated the step time; there is no ledger detail
  std::vector<Slice> slices;  // executed tasks with start and end: the timeline
  std::vector<OperationShare> operations;
  // The operations within the slices; absent unless asked for.
  std::shared_ptr<const OperationTimeline> operation_timeline;
  // How its flows shared links; absent where no flows were simulated.
  std::shared_ptr<const StepNetwork> network;
  std::vector<SimTime> draws;  // step times of the draws of unequal GPUs, ascending; else empty
};

}  // namespace orrery::step
