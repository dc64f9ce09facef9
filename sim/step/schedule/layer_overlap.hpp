#pragma once

// The combined forward and backward step of MoE layers: the task graph of a chunk whose expert
// all-to-all hides behind the compute of the other direction.
//
// Two streams run in order, layer pair by layer pair (forward layer k, backward layer L - 1 - k):
//   comm     combine_b, dispatch_f, dispatch_b, combine_f
//   compute  attention_f, mlp_b, mlp_w, mlp_f, attention_b, attention_w
// Chains through the layers:
//   attention_f > dispatch_f > mlp_f > combine_f > attention_f of the next layer
//   combine_b > mlp_b > dispatch_b > attention_b > combine_b of the next layer down
// Weight gradients (_w) wait for their stream only.
//
// With unequal counts the pairs come first, then the other layers alone. The weight gradient of the
// last backward layer's attention runs last of all. Assumption: every layer of the chunk is MoE.
// Source: Megatron-LM model_chunk_schedule_plan.py and combined_1f1b.py, revision d98e8a64.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/step/engine/task_graph.hpp"

namespace orrery::schedule {

enum class LayerNode : std::uint8_t {
  attention_forward,
  dispatch_forward,
  mlp_forward,
  combine_forward,
  combine_backward,
  mlp_backward,
  mlp_weight,
  dispatch_backward,
  attention_backward,
  attention_weight
};

inline constexpr std::size_t kLayerNodes = 10;

[[nodiscard]] constexpr bool is_all_to_all(LayerNode node) {
  return node == LayerNode::dispatch_forward || node == LayerNode::combine_forward ||
         node == LayerNode::dispatch_backward || node == LayerNode::combine_backward;
}

struct LayerOverlapOptions {
  int forward_layers = 0;
  int backward_layers = 0;
  bool early_attention_release = false;
};

struct LayerOverlap {
  engine::TaskGraph graph;
  std::vector<LayerNode> nodes;           // by TaskId
  std::optional<TaskId> forward_output;   // the last combine_forward
  std::optional<TaskId> backward_output;  // the last attention_backward
};

[[nodiscard]] LayerOverlap build_layer_overlap(const LayerOverlapOptions& options);

}  // namespace orrery::schedule
