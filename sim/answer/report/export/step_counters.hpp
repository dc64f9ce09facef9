#pragma once

// Memory of a stage in the course of a step, as a counter over time.
//
//   memory(t) = peak - activations + activations * held(t) / max held
//   held(t)   = passes whose forward has begun and whose last backward has not ended
//
// symbol      | meaning                                            | unit | origin
// ------------|----------------------------------------------------|------|------------------------
// peak        | of one GPU of the stage, all terms                 | byte | step::StageMemory
// activations | of it: activations in flight at the peak           | byte | step::StageMemory
// held        | micro-batches in flight, by chunk                  | 1    | slices of the step
//
// Assumption: every micro-batch and chunk in flight holds the same share of the activations, and
// what a layer needs while it runs is held all the time. So the greatest value is the peak of the
// memory account, and the shape is that of the schedule.

#include <cstdint>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/export/trace.hpp"
#include "sim/base/sim_time.hpp"

namespace orrery::report {

struct MemorySample {
  SimTime from;
  Bytes memory;
};

// From time 0 on, in order of time; empty without slices of the stage.
[[nodiscard]] std::vector<MemorySample> memory_over_time(const Evaluation& evaluation,
                                                         std::int64_t stage);

// Load of the links of one GPU of a stage: what its collectives and messages send while they
// run: bytes of one rank (those of a ring) / time of the operation, summed over those under way.
//
//   outside(t) = min(offered(t) + what waits, nic)    nic: rate of the NICs of a GPU; 0: unknown
//
// Messages and collectives that pass each other offer more than a NIC carries: unless flows share
// links (cluster.network.detail), the step has both at their own rates. The rest follows as soon as
// there is room, so that all bytes are in the curve.
struct LinkSample {
  SimTime from;
  BytesPerSecond inside;   // groups of one node: NVLink
  BytesPerSecond outside;  // groups that span nodes: NIC
};

// From time 0 on, in order of time; empty without the step's timeline of operations or when the
// stage never communicates.
[[nodiscard]] std::vector<LinkSample> link_use_over_time(const Evaluation& evaluation,
                                                         std::int64_t stage,
                                                         BytesPerSecond nic = {});

// Adds the load of each link on which flows lost time, the dearest first, as a counter of a process
// "network"; nothing where flows do not share links.
void add_link_counters(const Evaluation& evaluation, TraceBuilder& builder);

}  // namespace orrery::report
