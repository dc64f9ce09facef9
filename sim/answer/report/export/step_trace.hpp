#pragma once

// The step as a trace (trace.hpp): its tasks, and flows from cause to effect.
//
// process           | threads and counters
// ------------------|----------------------------------------------------------------------------
// pipeline device n | streams: compute, data-parallel communication, messages between stages (with
//                   | lanes where messages are in flight together); memory, transfers in flight
// network           | load of the links on which flows lost time, as a share of their rate
// job               | the gradient norm of all stages; dollars per hour that wait, where priced
//
//   transfers in flight = messages that left the device and collectives of it that are not done
//   waiting dollars     = price of all nodes held from the start * share of devices that compute
//                         nothing at that moment
//
// flow      | through
// ----------|----------------------------------------------------------------------------------
// message   | the pass that sends, the message, the pass that waits for it
// gradients | the last pass that adds to them, their reduction, the optimizer
// gather    | the gather of parameters, the pass that uses them first
//
// One timeline per pipeline device stands for all of its data- and tensor-parallel ranks, which are
// alike. Which pass a message belongs to follows from micro-batch, order and kind.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/export/trace.hpp"

namespace orrery::report {

// Slices of a step that follow from each other; indices into StepResult::slices.
struct StepFlow {
  enum class Kind : std::uint8_t { message, gradients, gather };

  Kind kind = Kind::message;
  std::vector<std::size_t> slices;  // two or more, by begin
};

[[nodiscard]] std::vector<StepFlow> step_flows(const std::vector<step::Slice>& slices);

// Needs evaluation.step.slices (EvaluateOptions::timelines); without them there are only tracks.
[[nodiscard]] Trace step_trace(const Evaluation& evaluation);

}  // namespace orrery::report
