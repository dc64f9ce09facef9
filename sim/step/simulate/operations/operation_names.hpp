#pragma once

// Name of each operation of a pass, and the work it does. Used inside step/ only.
//
//   GEMM: name and role; attention: direction; collectives and memory-bound kernels: their name;
//   operations of a recomputation say so
//
// symbol | meaning                                                       | unit | origin
// -------|---------------------------------------------------------------|------|-------------
// bytes  | through the memory interface; of a collective what a rank sends | byte | cost/, op

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/model/op.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::step {

[[nodiscard]] constexpr std::size_t category_index(StepCategory category) {
  return static_cast<std::size_t>(category);
}

[[nodiscard]] std::string operation_name(const model::PassOp& entry);

[[nodiscard]] OperationKind kind_of(const model::Op& op);

[[nodiscard]] Operation describe_operation(const model::PassOp& entry,
                                           const cost::Placements& places);

// Where the communication of a category, or what else is booked to it, runs.
[[nodiscard]] OperationStream stream_of(StepCategory category);

// What stands for time that no operation of a pass explains.
[[nodiscard]] Operation remainder_operation(StepCategory category);

}  // namespace orrery::step
