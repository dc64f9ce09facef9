#pragma once

// Time of a forward that runs together with a backward, the experts' all-to-all of each hidden
// behind the compute of the other. Used inside step/ only.
//
//   time   = makespan of the two streams of layer_overlap.hpp, + embedding and head, one by one
//   hidden = compute + all-to-all - makespan  (one of the two streams is always busy)
//   compute beside all-to-all is slowed: added work = slowdown * hidden, spread over the compute
//   exposed expert communication = time - compute
//
// symbol   | meaning                                                            | unit | origin
// ---------|--------------------------------------------------------------------|------|---------
// nodes    | a layer cut at its all-to-all: attention, dispatch, mlp, combine   | s    | passes
// slowdown | SMs of the all-to-all kernels / SMs of the GPU where the stack     | 1    | software,
//          | states them, else communication_slowdown                           |      | GPU
// floor    | host time to launch both passes of all layers                      | s    | software
//
// What precedes the dispatch (attention, norms, router, permutation) is the attention node; what
// follows the combine (shared experts, residual) and the experts themselves are the mlp node. Dense
// layers are one attention node each. Copies to and from the host (offload.hpp) of both passes
// together hide behind the whole step. Recomputation runs with the backward's attention node, a
// full one with its own all-to-all exposed. Weight gradients that the schedule runs later take no
// part. Without a combined step the all-to-all may still run beside what does not wait for it:
//   forward: the shared experts; full backward: shared experts and weight gradients of the experts
//
// Source: arXiv 2412.19437, section 3.2 (DualPipe, 20 of 132 SMs); Megatron-LM
// model_chunk_schedule_plan.py.

#include "sim/step/schedule/layer_overlap.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

// A node of a combined step on the clock of its two streams, which begins at 0.
struct CombinedNode {
  schedule::LayerNode node = schedule::LayerNode::attention_forward;
  bool forward = true;
  std::size_t layer = 0;  // within its chunk
  SimTime start = {};
  SimTime end = {};
  SimTime exposed = {};  // of an all-to-all: compute waits for its last part
  SimTime slowed = {};   // of compute: what the all-to-all beside it adds
};

// All that take time, in the order in which compute runs or waits for them; one that it does not
// wait for stands where it begins. exposed + slowed == exposed expert communication of the streams.
[[nodiscard]] std::vector<CombinedNode> combined_nodes(const StageCosts& costs,
                                                       const ChunkCosts& forward,
                                                       const ChunkCosts& backward,
                                                       bool with_weights);

// Parts of the step that runs the forward of one chunk and the backward of another of `device`.
// `with_weights`: a full backward, else its input part.
[[nodiscard]] Parts combined_step(const StageCosts& costs, const DeviceCosts& device,
                                  std::size_t forward_chunk, std::size_t backward_chunk,
                                  bool with_weights);

}  // namespace orrery::step
