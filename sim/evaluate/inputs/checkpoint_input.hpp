#pragma once

// Inputs of the checkpoint model that follow from the layout and the network.
//
//   replicas of the whole state = data-parallel ranks / ranks that share it (layout.shard_group)
//   replicated bytes            = all of it with such replicas, else what sharding leaves whole:
//                                 2 bytes of weights per parameter with zero1 and zero2,
//                                 nothing with zero3
//   network of a node           = NICs * rate of one, one direction
//
// Internal to evaluate/.

#include "sim/evaluate/inputs/resolve.hpp"
#include "sim/run/run_spec.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::evaluate {

void add_checkpoint_input(const scenario::Scenario& scenario,
                          const Resolved& resolved,
                          const run::CheckpointSpec& checkpoint,
                          run::StepInput& step);

}  // namespace orrery::evaluate
