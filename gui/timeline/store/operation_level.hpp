#pragma once

// The innermost level of the timeline: the operations within the tasks of a step.
//
//   start of an operation = start of its task + its place in it (step::place_operations)
//
// row                     | slices
// ------------------------|-----------------------------------------------------------------------
// compute                 | kernels of all layers, one after the other; hatched between them what
//                         | the GPU waits for
// tensor, context, expert | collectives by axis: from their start to their end, whether compute
// and data communication  | waits for them or they are hidden
// pipeline                | messages to other stages
// host and drives         | time in which the GPU waits for launches; copies
// slowest rank            | where GPUs are unequal: its tasks without the waiting of the others
// NVLink, NIC, memory     | what the communication of one GPU carries, what it holds
//
// Flows: a collective, what it waits for and what waits for it; a message from pass to pass.
// Beyond kMostOperations the first of the step are shown, and the note of the level says so.

#include <cstdint>
#include <optional>
#include <vector>

#include "gui/timeline/store/levels.hpp"
#include "gui/timeline/store/store_builder.hpp"
#include "sim/answer/report/evaluation.hpp"

namespace orrery::timeline {

inline constexpr std::uint64_t kMostOperations = 4'000'000;

// The ranks of a pipeline device, ascending; empty where they are not known.
[[nodiscard]] std::vector<std::int32_t> ranks_of(const report::Evaluation& evaluation,
                                                 std::size_t device);

// Whether one of them is slower than the others: their rows are those of the mean rank.
[[nodiscard]] bool are_unequal(const report::Evaluation& evaluation, std::size_t device);

// What a GPU waits for, on the row of its computation: by pipeline device, kNoRow for none.
void add_waits(const report::Evaluation& evaluation, const std::vector<RowId>& rows,
               StoreBuilder& builder);

// A counter of what the stage holds in memory, where it is known.
void add_memory(const report::Evaluation& evaluation, std::size_t device, RowId stage,
                StoreBuilder& builder);

// Nothing when the evaluation has no timeline of operations.
[[nodiscard]] std::optional<Level> operation_level(const report::Evaluation& evaluation,
                                                   double nic_limit);

}  // namespace orrery::timeline
