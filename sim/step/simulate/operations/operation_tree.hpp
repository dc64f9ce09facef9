#pragma once

// Breakdown of the time of a step as a tree, stage > chunk > layer > operation, and totals by
// operation:
//
//   time(node)  = sum of the booked time of its operations over one step, on one GPU of the stage
//   time(stage) = step time: tasks and waiting
//   rate        = flop / (time + hidden), bytes / (time + hidden): callers divide
//
// symbol | meaning                                                          | unit | origin
// -------|------------------------------------------------------------------|------|---------------
// time   | booked: of a collective the exposed part                         | ns   | timeline
// hidden | of collectives: beside compute                                   | ns   | timeline
// flop   | of all runs in the step, on one GPU                              | FLOP | operations
// bytes  | through the memory interface; of communication: sent by one rank | byte | operations
// runs   | how often the operation runs per step                            | -    | timeline
//
// Data for the flame view (tree), the roofline plot (totals) and exports. Needs
// StepResult::operation_timeline.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::step {

enum class TreeLevel : std::uint8_t { stage, chunk, layer, operation };

inline constexpr std::uint32_t kNoNode = UINT32_MAX;

struct OperationNode {
  std::string
      name;  // "stage 3", "chunk 1", "layer 12", "mlp_up fprop"; "bubble" of a stage's waits
  TreeLevel level = TreeLevel::operation;
  std::uint32_t parent = kNoNode;
  std::uint32_t end = 0;  // one past the last node below this one: a subtree is [node, end)
  // Of operations; of what stands above them the category that takes the most time, and kind and
  // stream of its greatest operation.
  OperationKind kind = OperationKind::wait;
  OperationStream stream = OperationStream::compute;
  StepCategory category = StepCategory::compute;
  SimTime time = {};
  SimTime hidden = {};
  double flop = 0.0;
  Bytes bytes = {};
  double runs = 0.0;
};

// Depth first, stages in order; of one parent the most time first, but layers in order. Empty when
// the result has no timeline of operations.
[[nodiscard]] std::vector<OperationNode> operation_tree(const StepResult& result);

// Operations of one name, kind and category merged over layers and chunks of a pipeline device,
// most time first; waits included. Times add up to the step time.
[[nodiscard]] std::vector<OperationNode> operation_totals(const StepResult& result,
                                                          std::int64_t device);

}  // namespace orrery::step
