#pragma once

// Time that the host needs to launch one pass of a layer, and the resulting time of the pass:
//
//   host = (host_layer_time * r + host_launch_time * K) * e
//          + host_launch_time * (experts' own launches)
//   pass = (gpu^p + host^p)^(1/p)
//
// symbol | meaning                                                          | unit | origin
// -------|------------------------------------------------------------------|------|-----------
// r      | 1 forward or computed again; host_backward / 2 of input and of   | 1    | stack
//        | weight gradients                                                 |      |
// K      | kernels and collectives of the pass                              | -    | model
// e      | share of them outside CUDA graphs                                | 1    | stack
// p      | host_sharpness; host_sharpness_after_counts where the host waits | -    | stack
//        | for the counts of tokens                                         |      |
//
// Experts' own launches, where their products are a loop (grouped_gemm: per_expert): the stack's
// expert_product_launches for every product of an expert, expert_cast_launches for every cast,
// twice that with scales of blocks of 32 (cast, and scales in the order that the tensor cores
// read). And what router and dispatcher launch beyond the operations of model/:
//
// block          | forward | backward | origin
// ---------------|---------|----------|-----------------------------------------------------------
// moe_router     | 18      | 13       | 31 kernels a layer with moe_router_fusion (Megatron Core)
// moe_preprocess | 12      | 0        | counts, offsets and their copies; DeepEP and HybridEP fuse
//                |         |          | them: 17 kernels with the router
// alltoall       | 14      | 14       | permutations of both sides, by rank and by expert
// deepep         | 7       | 7        | half of it: one permutation
// hybridep       | 3       | 3        | permutes and copies inside
//
// Near the floor each side binds a part of the time, since kernels are of unequal length. Without
// dropped tokens the host copies the counts of the tokens once a layer and waits for them: then
// the queue is empty, and what follows is launched while the GPU waits. A graph of the whole step
// needs no such copy. Sources: Megatron-LM, discussion of DeepSeek-V3 on GB200 (kernels of router
// and preprocessing, ladder of optimisations), token_dispatcher.py (the copy).

#include <initializer_list>

#include "sim/step/simulate/stages/costing.hpp"

namespace orrery::step {

enum class PassKind { forward, backward_input, backward_weight, again };

// Launches of one pass, told apart by what a graph may hold.
struct Launches {
  double outside = 0.0;  // of graphs, as counted by the operations
  double inside = 0.0;
  double experts = 0.0;  // more of them, outside of graphs
};

[[nodiscard]] Launches launches_of(const LayerCosting& costing, const model::Pass& pass,
                                   PassKind kind);

// Host time of a pass that takes `relative` of a forward's host_layer_time.
[[nodiscard]] Seconds host_time(const LayerCosting& costing, const Launches& launches,
                                double relative);

[[nodiscard]] double host_sharpness(const LayerCosting& costing);  // p

// What a pass of `busy` seconds takes longer since the host needs `host` for its launches.
[[nodiscard]] Seconds launch_gap(Seconds busy, Seconds host, double sharpness);

struct HostedPass {
  Parts& parts;
  Seconds host;
};

// Adds the gap of passes that run one after the other, in proportion to their launches: a queue
// that is full in one of them carries the next.
void add_launch_gaps(const LayerCosting& costing, std::initializer_list<HostedPass> passes,
                     double sharpness);

}  // namespace orrery::step
