#pragma once

// Durations that show a schedule without hardware: the step graph in ticks of layers.
//
//   forward = layers, input gradients = layers, weight gradients = layers,
//   full backward = 2 layers, combined step = the sum of its two; everything else takes no time
//
// symbol | meaning                                          | unit | origin
// -------|--------------------------------------------------|------|-----------
// layers | of the chunk, or of the bucket a task stands for | -    | stage plan
// tick   | one microsecond of simulated time                | ns   | this file
//
// Shows the order, the waiting it implies and uneven stages; equal on every machine.

#include "sim/step/engine/replay.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/schedule/step_graph.hpp"

namespace orrery::step {

inline constexpr SimTime kTick{1000};

// `buckets` as in StepGraphOptions.
[[nodiscard]] engine::Timing unit_timing(const schedule::StepGraph& graph,
                                         const layout::Layout& layout,
                                         const std::vector<std::vector<int>>& buckets);

}  // namespace orrery::step
