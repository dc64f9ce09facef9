#pragma once

// Times collectives between the GPUs of this job: one process per GPU, all of them in step; rank 0
// keeps the samples.
//
//   sample = slowest rank's time per call, of `calls` in a row after a barrier
//   calls  = 20 ms / time of a call, 5 to 200, the same on every rank
//
// With `choices` nothing is timed: one call of each case that the journal has, whose algorithm and
// protocol NCCL logs, join its sample.
//
// NCCL's own estimate is stored with each time (`nccl_estimate_us`). Ranks that share a GPU, and a
// job of one rank, show that the calls work and no more: their samples are `functional`, and fits
// refuse them. The first size of each operation is checked against the exact result.

#include "calibrate/sweep/collective_request.hpp"

namespace orrery::calibrate {

// Throws Error(device) where there is no GPU, the ranks contradict each other or a result is wrong,
// Error(io) when the ranks do not meet.
[[nodiscard]] CollectiveOutcome run_collectives(const CollectiveRequest& request,
                                                const OpenJournal& open_journal);

}  // namespace orrery::calibrate
