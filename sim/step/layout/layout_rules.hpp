#pragma once

// Rules of parallel layouts: which degrees divide a model, and where virtual stages are placed. The
// resolver puts a violation into words; the search of layouts asks the rules a million times.

#include <cstdint>

#include "sim/step/model/model_spec.hpp"

namespace orrery::layout {

// How virtual stages lie on the pipeline devices.
//   loop: stage g on device g mod p, chunk g / p
//   vee: the second chunk runs back up, so that device 0 holds the first and the last stage
//   bidirectional: p stages, each held twice: chunk 0 is stage d, chunk 1 is stage p - 1 - d
enum class StagePlacement : std::uint8_t { loop, vee, bidirectional };

[[nodiscard]] constexpr std::int64_t stages_of(StagePlacement placement, std::int64_t pipeline,
                                               std::int64_t chunks) {
  return pipeline * (placement == StagePlacement::bidirectional ? 1 : chunks);
}

// The embedding and the loss may stand alone on the first and the last stage.
[[nodiscard]] constexpr std::int64_t most_stages(const model::ModelSpec& model) {
  return model.num_layers + 2;
}

[[nodiscard]] constexpr std::int64_t attention_groups(const model::ModelSpec& model) {
  return model.num_query_groups > 0 ? model.num_query_groups : model.num_attention_heads;
}

// Groups are split, or copied to as many ranks each.
[[nodiscard]] constexpr bool tensor_splits_groups(const model::ModelSpec& model,
                                                  std::int64_t tensor) {
  const auto splits = [tensor](std::int64_t groups) {
    return (tensor > groups ? tensor % groups : groups % tensor) == 0;
  };
  const std::int64_t full = model.full_attention ? model.full_attention->num_query_groups : 0;
  return model.mla.has_value() || (splits(attention_groups(model)) && (full == 0 || splits(full)));
}

// Heads of linear mixers are split over tensor ranks, those of the values over context ranks too.
[[nodiscard]] inline bool linear_heads_split(const model::ModelSpec& model, std::int64_t tensor,
                                             std::int64_t context) {
  return !model.linear_attention ||
         (model.linear_attention->value_heads % (tensor * context) == 0 &&
          model.linear_attention->key_heads % tensor == 0);
}

[[nodiscard]] constexpr bool tensor_splits(const model::ModelSpec& model, std::int64_t tensor) {
  return model.num_attention_heads % tensor == 0 && tensor_splits_groups(model, tensor) &&
         (model.ffn_hidden_size <= 0 || model.ffn_hidden_size % tensor == 0);
}

[[nodiscard]] constexpr bool sequence_splits(const model::ModelSpec& model, std::int64_t tensor,
                                             std::int64_t context) {
  return model.sequence_length % (tensor * context) == 0;
}

// Causal context parallelism gives every rank one chunk from the front and one from the back.
[[nodiscard]] constexpr bool context_splits(const model::ModelSpec& model, std::int64_t context) {
  return context == 1 || model.sequence_length % (2 * context) == 0;
}

}  // namespace orrery::layout
