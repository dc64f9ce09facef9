#pragma once

// Where the gradients of a backward are cut into buckets that are reduced by themselves.
//
//   in backward order a bucket takes tensors until it holds B bytes: it is the shortest run of them
//   with sum >= B; the first one until it holds B1
//   B = min(overlap.bucket, cycle x gradients / backward)      with a cycle, where it overlaps
//
// A cut lies at a place of the chunk: layer i takes [i, i + 1) from its first tensor to its last,
// the embedding [-1, 0), the head of a chunk of L layers [L, L + 1). A part of a layer takes that
// part of its time.
//
// symbol    | meaning                                                          | unit | origin
// ----------|------------------------------------------------------------------|------|-----------
// tensor    | the weight of a linear layer as the model multiplies it (Q, K and| byte | model
//           | V as one, gate and up as one); norms and biases are spread over  |      |
//           | them; embedding and head are one each                            |      |
// B1        | overlap.first_bucket                                             | byte | scenario
// cycle     | time between two looks for gradients that are ready              | s    | scenario
// backward  | time of a micro-batch's backward of the chunk                    | s    | stage costs
//
// Replicas alone (sharding none) reduce tensors: what is sharded is cut at layers, as it is
// gathered.
//
// Sources: compute_bucket_assignment_by_size of PyTorch's reducer, bucket_cap_mb 25 and a first
// bucket of 1 MiB; Megatron-Core's buckets close when they hold bucket_size parameters. Horovod
// takes what is ready at a cycle, up to its fusion threshold (docs/tensor-fusion.rst; 128 MiB and
// 1 ms since 0.21, 64 MiB and 5 ms before); its two copies to and from the buffer are not counted.

#include <vector>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/simulate/step_input.hpp"

namespace orrery::step {

// [device][chunk]: the places of the cuts, ascending, both ends included. Empty where buckets are
// whole layers: nothing is shared, parameters are sharded, or overlap.bucket is not stated.
[[nodiscard]] std::vector<std::vector<std::vector<double>>> bucket_cuts(
    const StepInput& input, const cost::CostModel& costs);

}  // namespace orrery::step
