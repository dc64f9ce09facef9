#pragma once

// The training stack that runs a layout where the scenario names none, and the other likely choice
// for it.
//
// layout                                                  | stack            | the other choice
// --------------------------------------------------------|------------------|------------------
// gradients or parameters sharded, no pipeline, experts   | automodel-fsdp2  | megatron-core
// gradients or parameters sharded, no pipeline            | torchtitan-fsdp2 | megatron-core
// replicas alone: no tensor, no pipeline, no shards       | megatron-core    | pytorch-ddp
// anything else                                           | megatron-core    | nemo
//
// Sharded gradients or parameters are zero2, zero3 and hsdp. Origin: what PyTorch's FSDP2 is used
// for beside the layouts of Megatron Core (stack_offers.hpp states who offers what).

#include <string_view>

#include "sim/layout/layout_spec.hpp"

namespace orrery::scenario {

struct UsualStack {
  std::string_view name;
  std::string_view other;
};

[[nodiscard]] UsualStack usual_stack(const layout::LayoutSpec& layout);

}  // namespace orrery::scenario
