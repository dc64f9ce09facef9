#pragma once

// Bounds of a step before its graph is built: a least time, and its peak memory. For searches, most
// of whose layouts need no more than that.
//
//   least = max over devices d of (fill(d) + busy(d) + max(reduce(d), drain(d) + reduce(0)))
//           + max over d of optimizer(d)
//
// symbol    | meaning                                                          | unit | origin
// ----------|------------------------------------------------------------------|------|-----------
// fill(d)   | first forward through the devices before d, with its messages    | s    | stage costs
// busy(d)   | passes of all micro-batches, and what blocks the device          | s    | stage costs
// drain(d)  | last backward through the devices before d, with its messages    | s    | stage costs
// reduce(d) | reductions that can only follow the last pass                    | s    | stage costs
//
// Proof: a device's tasks run one after another; its first waits for the forward of chunk 0
// on every device before it, and its last is a backward of chunk 0 whose input gradient still
// crosses those devices. Where stages do not form a loop, or passes are split or merged, the
// terms that no longer follow are left out. Stretching by overlapped communication only adds.
// Rounding takes at most half a nanosecond of each part of each task: that much is subtracted.
//
// Without the terms of the replicas (reduce, optimizer, gathers, copies to the host) it holds for
// all layouts at once that differ in sharding, its group or offload alone: those terms only add,
// and the passes are the same (but for the type of the gradients, which FSDP's have of their own).
//
// Where GPUs differ in speed (speed_spread.hpp), the replica with the slowest GPU of a draw has it
// on some device, and all its GPUs are at least as slow as the fastest:
//
//   least(draw) = max(min(1, fastest) least, min over d of
//                     (begin(d) + busy(d) + tail(d) + optimizer(d), compute x slowest))
//
// and the step is the median of its draws. Steps on several types of GPUs or on islands have no
// bound: 0.

#include "sim/base/sim_time.hpp"
#include "sim/step/schedule/live_peaks.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "sim/step/simulate/step_result.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::step {

[[nodiscard]] SimTime least_step_time(const StepInput& input, const cost::CostModel& costs,
                                      const StageCosts& stages, CostMemo* memo = nullptr);

// Of any layout that differs from this one in sharding, its group or offload alone, as long as both
// shard the parameters or neither does.
[[nodiscard]] SimTime least_time_of_passes(const StepInput& input, const cost::CostModel& costs,
                                           CostMemo* memo = nullptr);

}  // namespace orrery::step
