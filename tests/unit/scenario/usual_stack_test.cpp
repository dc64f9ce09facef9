// The stack of a scenario that names none follows its layout.

#include "sim/scenario/usual_stack.hpp"

#include <gtest/gtest.h>

namespace orrery::scenario::test {
namespace {

using layout::LayoutSpec;
using layout::Sharding;

LayoutSpec sharded(Sharding sharding) {
  LayoutSpec layout;
  layout.sharding = sharding;
  return layout;
}

TEST(UsualStack, OfShardedGradientsWithoutAPipelineIsOneOfFsdp2) {
  for (const Sharding sharding : {Sharding::zero2, Sharding::zero3, Sharding::hsdp}) {
    LayoutSpec layout = sharded(sharding);
    EXPECT_EQ(usual_stack(layout).name, "torchtitan-fsdp2");
    EXPECT_EQ(usual_stack(layout).other, "megatron-core");
    layout.tensor = 4;
    EXPECT_EQ(usual_stack(layout).name, "torchtitan-fsdp2");
    layout.expert = 8;
    EXPECT_EQ(usual_stack(layout).name, "automodel-fsdp2");
    layout.pipeline = 2;
    EXPECT_EQ(usual_stack(layout).name, "megatron-core");
  }
}

TEST(UsualStack, OfOtherLayoutsIsMegatronCore) {
  EXPECT_EQ(usual_stack({}).name, "megatron-core");
  EXPECT_EQ(usual_stack({}).other, "pytorch-ddp");
  LayoutSpec layout = sharded(Sharding::zero1);
  EXPECT_EQ(usual_stack(layout).other, "nemo");
  layout.tensor = 8;
  EXPECT_EQ(usual_stack(layout).name, "megatron-core");
}

}  // namespace
}  // namespace orrery::scenario::test
