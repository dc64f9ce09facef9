#include "sim/step/model/layer_blocks.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

// Y[m, n] = X[m, k] W: all three products multiply m, n and k.
TEST(PassBuilder, LinearLayerHasThreeProductsOfTheSameSize) {
  const LinearLayer linear{.tokens = 7, .outputs = 11, .inputs = 13, .batch = 3};
  LayerPasses passes;
  add_linear_forward(passes.forward, linear, PrecisionSpec{});
  add_linear_backward(passes, linear, PrecisionSpec{});
  for (const Pass* pass : {&passes.forward, &passes.backward_input, &passes.backward_weight}) {
    ASSERT_EQ(pass->size(), 1U);
    EXPECT_EQ(gemm_flop(*pass), 2.0 * 7.0 * 11.0 * 13.0 * 3.0);
  }
}

TEST(PassBuilder, CollectiveSharesFollowTheKind) {
  const auto share = [](CollectiveKind kind) {
    Pass pass;
    add_collective(pass, {.kind = kind, .elements_total = 1000.0, .ranks = 4});
    const CollectiveOp collective = collectives(pass).at(0);
    EXPECT_EQ(in_bytes(collective.bytes_total), 2000.0);
    return collective.bytes_per_rank_in / collective.bytes_total;
  };
  EXPECT_EQ(share(CollectiveKind::all_reduce), 1.0);
  EXPECT_EQ(share(CollectiveKind::reduce_scatter), 1.0);
  EXPECT_EQ(share(CollectiveKind::all_gather), 0.25);
  EXPECT_EQ(share(CollectiveKind::all_to_all), 0.25);
}

TEST(PassBuilder, GroupOfOneAddsNoCollective) {
  Pass pass;
  add_collective(pass, {.elements_total = 1000.0, .ranks = 1});
  EXPECT_TRUE(pass.empty());
}

}  // namespace
}  // namespace orrery::model
