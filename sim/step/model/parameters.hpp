#pragma once

// Parameter counts: of the whole model, active per token, and of one rank's shard.
//
//   dense layer = QKV (h (a + 2 g) d + biases) + output (a d h) + MLP (2 or 3 h f) + norms
//   MoE layer   = attention + router h E + E experts + shared experts
//   other mixers: recurrence.hpp; a layer that is one block alone has that block and one norm
//   adapters    = sum of r (k + n) over the linear layers k x n that have one; DoRA: n more;
//                 bottlenecks behind a block: 2 h r + r + h
//   total       = embedding V h (once when tied, else twice) + L layers + final norm (+ MTP)
//   active      = total - the routed experts a token is not sent to (embedding table included)
//
// Published counts are the test: e.g. DeepSeek-V3 671B in all and 37B active (arXiv 2412.19437).

#include <array>
#include <cstdint>

#include "sim/step/model/model_spec.hpp"
#include "sim/step/model/transformer_ops.hpp"

namespace orrery::model {

struct ParameterCounts {
  std::int64_t embedding = 0;  // input table (and positions)
  std::int64_t head = 0;       // output table, 0 when tied
  std::int64_t layers = 0;     // all transformer layers
  std::int64_t final_norm = 0;
  std::int64_t mtp = 0;       // multi-token-prediction modules, not in total
  std::int64_t total = 0;     // embedding + head + layers + final_norm
  std::int64_t active = 0;    // that a token passes through
  std::int64_t adapters = 0;  // low-rank adapters, not in total
  std::int64_t whole = 0;     // of total: those that are not frozen

  // What gradients and optimizer states exist for.
  [[nodiscard]] std::int64_t trained() const { return adapters + whole; }
};

[[nodiscard]] ParameterCounts count_parameters(const ModelSpec& model);

// How many layers of the same parameters a range has, and the first of them.
struct LikeLayers {
  std::int64_t count = 0;
  std::int64_t first = 0;
};

// By ModelSpec::shape_index, over the layers from `first` to before `last`.
[[nodiscard]] std::array<LikeLayers, kLayerKinds> count_layers(const ModelSpec& model,
                                                               std::int64_t first,
                                                               std::int64_t last);

// Parameters of one layer (0-based); `active` leaves out the experts a token is not sent to.
struct LayerParameters {
  std::int64_t total = 0;
  std::int64_t active = 0;
  double whole = 0.0;         // of total: those that are not frozen
  double whole_active = 0.0;  // of active
};

[[nodiscard]] LayerParameters count_layer_parameters(const ModelSpec& model, std::int64_t layer);

// The part of a rank's shard that all tensor ranks split and its routed experts (split by expert
// and expert_tensor): apart, because their data-parallel groups differ.
struct ShardShare {
  double dense = 0.0;
  double expert = 0.0;

  [[nodiscard]] double all() const { return dense + expert; }

  friend bool operator==(const ShardShare&, const ShardShare&) = default;
};

// Parameters of one rank's shard of a layer, a bucket, a stage.
struct ShardParameters {
  double dense = 0.0;
  double expert = 0.0;
  ShardShare frozen = {};  // of these: neither gradients nor optimizer state
  ShardShare packed = {};  // of the frozen ones: held in 4 bits

  [[nodiscard]] double all() const { return dense + expert; }

  [[nodiscard]] ShardShare trained() const {
    return {dense - frozen.dense, expert - frozen.expert};
  }

  // The number of parameters of `wide` bytes that take as much memory and wire.
  [[nodiscard]] ShardShare stored(Bytes wide) const;

  void add(const ShardParameters& more, double count = 1.0);
};

// Of one 4-bit parameter with its doubly quantised scales: 0.5 + 1/64 + 4/(64 x 256).
inline constexpr Bytes kPackedBytes = bytes(0.5 + 1.0 / 64.0 + 4.0 / (64.0 * 256.0));

// Outputs of the linear layers of a layer that have an adapter, all together.
[[nodiscard]] double adapted_outputs(const ModelSpec& model, std::int64_t layer);

[[nodiscard]] ShardParameters layer_shard_parameters(const ModelSpec& model,
                                                     const ShardContext& shard, std::int64_t layer);
[[nodiscard]] ShardParameters embedding_shard_parameters(const ModelSpec& model,
                                                         const ShardContext& shard);
// Final norm, output table (nothing when tied) and multi-token-prediction modules.
[[nodiscard]] ShardParameters head_shard_parameters(const ModelSpec& model,
                                                    const ShardContext& shard);

// The copy of the input table that a last stage apart from the first one holds: for tied embeddings
// and for multi-token prediction; 0 otherwise. Its gradient is summed over first and last stage.
[[nodiscard]] double shared_table_shard_parameters(const ModelSpec& model,
                                                   const ShardContext& shard);

}  // namespace orrery::model
