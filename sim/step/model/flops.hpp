#pragma once

// Model FLOP per token of training, by stated convention, as MFU needs it: MFU is this number times
// tokens per second over the peak.
//
//   palm         6 N + 12 L H Q T     N: parameters that a token is multiplied with
//   palm_causal  6 N +  6 L H Q T     half of the scores: what a causal kernel computes
//   (both)       + 3 x the forward of the scans of linear mixers (op.hpp); L counts the layers
//                with attention then
//   adapters     4 in place of each 6, and 6 N_adapters: frozen weights have no gradients
//   six_nd       6 N_active           no attention, N_active with all tables (published "37B")
//
//   hardware = convention + recomputation per token:
//     full       2 N_layers + 4 L H Q T (or half)     one more forward of the recomputed layers
//     selective  4 L H Q T (or half)                  one more forward of the attention core
//     modules    their products, and the core's forward if it is one of them
//   of palm_causal where fused kernels skip what a causal mask hides, else of palm
//
// symbol   | meaning                                             | unit       | origin
// ---------|-----------------------------------------------------|------------|------------------
// N        | active parameters without look-up tables: the input | parameters | parameters.hpp
//          | table counts only when it is also the output table  |            |
// N_layers | active parameters of the recomputed layers          | parameters | parameters.hpp
// L H Q    | layers, query heads, width of a head                | -          | ModelSpec
// T        | sequence length                                     | tokens     | ModelSpec
//
// Which N: PaLM 540B ties its tables, and its printed 46.2 % (45.7 % without attention) at 238.3k
// tokens/s on 6,144 TPU v4 is met with N = 540.35B, the tied table counted once, as the output
// projection (Chowdhery et al. 2022, arXiv 2204.02311, appendix B). An untied input table and
// learned positions are looked up, never multiplied: they are left out.
// Latent attention replaces 2 Q by the width of a key plus that of a value. Multi-token-prediction
// modules are trained and so belong to the palm conventions (layer, projection, shared head), but
// not to six_nd, whose published N leaves them out. Norms and biases are in N, as in the source.

#include <cstdint>
#include <limits>

#include "sim/step/model/model_spec.hpp"
#include "sim/step/model/transformer_ops.hpp"

namespace orrery::model {

enum class FlopConvention { palm, palm_causal, six_nd };

// N of the palm conventions, multi-token-prediction modules included.
[[nodiscard]] double multiplied_parameters(const ModelSpec& model);

[[nodiscard]] Flop model_flop_per_token(const ModelSpec& model, FlopConvention convention);

// `recomputed_layers`: the first so many layers are recomputed; all by default, after those of the
// model those of multi-token prediction modules. The head's own products are never.
[[nodiscard]] Flop hardware_flop_per_token(
    const ModelSpec& model, FlopConvention convention, Recompute policy,
    std::int64_t recomputed_layers = std::numeric_limits<std::int64_t>::max(),
    const RecomputeModules& modules = {});

}  // namespace orrery::model
