#include "sim/scenario/usual_stack.hpp"

namespace orrery::scenario {

UsualStack usual_stack(const layout::LayoutSpec& layout) {
  using layout::Sharding;
  const bool sharded = layout.sharding == Sharding::zero2 || layout.sharding == Sharding::zero3 ||
                       layout.sharding == Sharding::hsdp;
  if (sharded && layout.pipeline == 1) {
    return {layout.expert > 1 ? "automodel-fsdp2" : "torchtitan-fsdp2", "megatron-core"};
  }
  const bool replicas = layout.tensor == 1 && layout.pipeline == 1 &&
                        layout.sharding == Sharding::none && layout.context == 1 &&
                        layout.expert == 1;
  return {"megatron-core", replicas ? "pytorch-ddp" : "nemo"};
}

}  // namespace orrery::scenario
