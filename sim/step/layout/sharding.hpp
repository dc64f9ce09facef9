#pragma once

// The bytes of parameters, gradients and optimizer state that one rank holds.
//
//   unsharded: (b_p + b_g + b_o) N bytes; mixed-precision Adam 2 + 2 + 12 = 16 bytes per parameter
//   ZeRO-1: b_o / n;  ZeRO-2: also b_g / n;  ZeRO-3: also b_p / n    (n = ranks of the shard group)
//
// of the N parameters of a stage's shard: b_p bytes of a parameter, b_g of its accumulated
// gradient, b_o of what the optimizer holds of it (master copy and moments).
//
// Routed experts shard over their own (expert-data) group: over all of it, or over the part that
// lies inside a stated shard group, t n / (et e) ranks; the rest of the group repeats the shard.
// Source: Rajbhandari et al. 2020 (arXiv 1910.02054). Whole gradients that live for a while beside
// their shards are the business of step/memory_account.hpp.

#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/model/parameters.hpp"

namespace orrery::layout {

// How the ranks that hold the same routed experts split into shards and replicas of the shard.
struct ExpertShard {
  std::int64_t ranks = 1;     // ranks that share one copy of the states
  std::int64_t replicas = 1;  // groups that hold a copy each; ranks * replicas = expert_data
};

[[nodiscard]] ExpertShard expert_shard(const Layout& layout);

// Parameters whose optimizer state one rank holds and updates.
[[nodiscard]] double optimizer_parameters(const model::ShardParameters& stage,
                                          const Layout& layout);

// Parameters that one rank keeps between their uses: its share of them with zero3 and hsdp.
[[nodiscard]] double kept_parameters(const model::ShardParameters& stage, const Layout& layout);

struct StateBytes {
  Bytes parameters;
  Bytes frozen;  // of the parameters: those that the optimizer leaves alone
  Bytes gradients;
  Bytes optimizer;
};

[[nodiscard]] StateBytes state_bytes(const model::ShardParameters& stage,
                                     const model::PrecisionSpec& precision, const Layout& layout);

// Parameters of one pipeline device's shard: its chunks' layers, embedding and head.
[[nodiscard]] model::ShardParameters stage_shard_parameters(const model::ModelSpec& model,
                                                            const Layout& layout,
                                                            std::int64_t device);
[[nodiscard]] model::ShardParameters chunk_shard_parameters(const model::ModelSpec& model,
                                                            const Layout& layout,
                                                            std::int64_t device,
                                                            std::int64_t chunk);

// The copy of the input table (tied embeddings, multi-token prediction) that the chunk with the
// head holds when another device holds the table itself; 0 otherwise.
[[nodiscard]] double shared_table_parameters(const model::ModelSpec& model, const Layout& layout,
                                             std::int64_t device, std::int64_t chunk);

}  // namespace orrery::layout
