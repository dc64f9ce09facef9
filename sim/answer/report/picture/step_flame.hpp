#pragma once

// A flame view of one step: nested bars, drawn below each other, of what takes its time.
//
//   width of a bar == sum of the widths of the bars right below it;  the root is the step time
//
// view           | levels                                       | of
// ---------------|----------------------------------------------|----------------------------------
// by operation   | step > category of the ledger > operation    | one stage, or the mean of all
// by layer       | stage > chunk > layer > operation            | one stage
//
// symbol | meaning                                                           | unit | origin
// -------|-------------------------------------------------------------------|------|--------------
// time   | booked: of a collective the part that compute waits for           | ns   | operations
// hidden | rest of a collective, beside compute; no part of the width        | ns   | operations
//
// Needs StepResult::operation_timeline; empty without it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/step/simulate/operations/operation_tree.hpp"

namespace orrery::report {

struct FlameBar {
  std::string name;
  int depth = 0;
  SimTime from = {};
  SimTime until = {};
  SimTime hidden = {};
  double share = 0.0;  // of the step time
  double runs = 0.0;   // per step; of operations
  step::StepCategory category = step::StepCategory::compute;
  step::OperationKind kind = step::OperationKind::wait;
};

[[nodiscard]] std::int64_t stage_count(const Evaluation& evaluation);

// Operations of one name, kind and category, added up over the layers and chunks of a pipeline
// device (of all devices, when there is none), most time first.
[[nodiscard]] std::vector<step::OperationNode> operation_sums(
    const Evaluation& evaluation, std::optional<std::int64_t> device = std::nullopt);

// The pipeline device that waits least.
[[nodiscard]] std::int64_t busiest_device(const Evaluation& evaluation);

[[nodiscard]] std::vector<FlameBar> flame_by_operation(
    const Evaluation& evaluation, std::optional<std::int64_t> device = std::nullopt);

[[nodiscard]] std::vector<FlameBar> flame_by_layer(const Evaluation& evaluation,
                                                   std::int64_t device);

// What communication costs, one row per operation: exposed, and hidden beside compute. Most time
// first; the mean over all stages. What compute waits for communication that runs on its own (that
// of data parallelism) is shared out over it by its time; what it adds to compute beside it is a
// row of its own.
struct CommunicationRow {
  std::string name;
  step::StepCategory category = step::StepCategory::exposed_tensor;
  SimTime exposed;
  SimTime hidden = {};
  double runs = 0.0;
};

[[nodiscard]] std::vector<CommunicationRow> communication_rows(const Evaluation& evaluation);

}  // namespace orrery::report
