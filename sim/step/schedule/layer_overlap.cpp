#include "sim/step/schedule/layer_overlap.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "sim/base/check.hpp"

namespace orrery::schedule {

namespace {

constexpr std::int32_t kCompute = 0;
constexpr std::int32_t kComm = 1;

class LayerOverlapBuilder {
 public:
  explicit LayerOverlapBuilder(const LayerOverlapOptions& options) : options_(options) {}

  LayerOverlap build() {
    const int rounds = std::max(options_.forward_layers, options_.backward_layers);
    for (int k = 0; k < rounds; ++k) {
      add_round(k < options_.forward_layers, k < options_.backward_layers, k);
    }
    if (options_.backward_layers > 0) {
      add(LayerNode::attention_weight);  // of the last backward layer
    }
    overlap_.forward_output = forward_;
    overlap_.backward_output = backward_;
    auto finished = std::move(builder_).finish();
    ORRERY_CHECK(std::holds_alternative<engine::TaskGraph>(finished),
                 "the streams of a combined step of {} and {} layers wait for each other",
                 options_.forward_layers, options_.backward_layers);
    overlap_.graph = std::get<engine::TaskGraph>(std::move(finished));
    return std::move(overlap_);
  }

 private:
  using Node = LayerNode;

  TaskId add(Node node) {
    overlap_.nodes.push_back(node);
    return builder_.add_task(is_all_to_all(node) ? kComm : kCompute);
  }

  // One more link of the chain of a direction.
  void extend(std::optional<TaskId>& chain, Node node) {
    const TaskId task = add(node);
    if (chain) {
      builder_.add_edge(*chain, task);
    }
    chain = task;
  }

  // One layer of each direction that still has one, every stream in its order and every chain in
  // its own: a node is added after its stream's and its chain's predecessor.
  void add_round(bool forward, bool backward, int round) {
    const bool early = options_.early_attention_release;
    const auto f = [&](Node node) { forward ? extend(forward_, node) : void(); };
    const auto b = [&](Node node) { backward ? extend(backward_, node) : void(); };
    const bool owes_attention = backward && round > 0;
    if (owes_attention) {
      add(Node::attention_weight);  // of the backward layer before
    }
    f(Node::attention_forward);
    b(Node::combine_backward);
    b(Node::mlp_backward);
    if (backward) {
      add(Node::mlp_weight);
    }
    f(Node::dispatch_forward);
    b(Node::dispatch_backward);
    if (early) {
      b(Node::attention_backward);
    }
    f(Node::mlp_forward);
    if (!early) {
      b(Node::attention_backward);
    }
    f(Node::combine_forward);
  }

  LayerOverlapOptions options_;
  engine::GraphBuilder builder_;
  LayerOverlap overlap_;
  std::optional<TaskId> forward_;   // end of the forward chain so far
  std::optional<TaskId> backward_;  // end of the backward chain so far
};

}  // namespace

LayerOverlap build_layer_overlap(const LayerOverlapOptions& options) {
  ORRERY_CHECK(options.forward_layers >= 0 && options.backward_layers >= 0,
               "a combined step of {} forward and {} backward layers", options.forward_layers,
               options.backward_layers);
  return LayerOverlapBuilder(options).build();
}

}  // namespace orrery::schedule
