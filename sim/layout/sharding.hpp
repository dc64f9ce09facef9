#pragma once

// How many bytes of parameters, gradients and optimizer state does one rank hold?
//
//   unsharded: (b_p + b_g + b_o) N bytes; mixed-precision Adam 2 + 2 + 12 = 16 bytes per parameter
//   ZeRO-1: b_o / n;  ZeRO-2: also b_g / n;  ZeRO-3: also b_p / n    (n = ranks of the shard group)
//
// symbol | meaning                              | unit            | origin
// -------|--------------------------------------|-----------------|------------------
// N      | parameters of the rank's stage shard | parameters      | model + layout
// b_p    | bytes of one parameter               | bytes/parameter | precision
// b_g    | bytes of one accumulated gradient    | bytes/parameter | precision
// b_o    | optimizer bytes (master + moments)   | bytes/parameter | precision
// n      | ranks of the shard group             | ranks           | layout
//
// Routed experts shard over their own (expert-data) group. Source: Rajbhandari et al. 2020
// (arXiv 1910.02054). With gradients reduced once per step the accumulation buffer is whole on
// every rank even under ZeRO-2; `gradients_sharded_while_accumulating` says which.

#include "sim/layout/layout_spec.hpp"
#include "sim/model/parameters.hpp"

namespace orrery::layout {

struct StateBytes {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
};

[[nodiscard]] StateBytes state_bytes(const model::ShardParameters& stage,
                                     const model::PrecisionSpec& precision,
                                     const Layout& layout,
                                     bool gradients_sharded_while_accumulating);

// Parameters of one pipeline device's shard: its chunks' layers, embedding and head.
[[nodiscard]] model::ShardParameters stage_shard_parameters(const model::ModelSpec& model,
                                                            const Layout& layout,
                                                            std::int64_t device);
[[nodiscard]] model::ShardParameters chunk_shard_parameters(const model::ModelSpec& model,
                                                            const Layout& layout,
                                                            std::int64_t device,
                                                            std::int64_t chunk);

[[nodiscard]] model::ShardContext shard_context(const Layout& layout);

}  // namespace orrery::layout
