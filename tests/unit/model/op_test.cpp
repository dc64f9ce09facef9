#include "sim/model/op.hpp"

#include <gtest/gtest.h>

namespace orrery::model {
namespace {

TEST(FlopCount, GemmIsTwoMNKPerProduct) {
  const GemmOp gemm{.name = "mlp_up", .m = 8192, .n = 28672, .k = 8192, .batch = 4};
  EXPECT_EQ(in_flop(flop_count(gemm)), 2.0 * 8192.0 * 28672.0 * 8192.0 * 4.0);
}

// 2 s^2 a (d_qk + d_v) = 2 * 4096^2 * 32 * 256; half when causal; 2.5 times as much backward.
TEST(FlopCount, AttentionHalvesWhenCausalAndGrowsBackward) {
  AttentionOp attention{.sequences = 1,
                        .heads = 32,
                        .query_groups = 8,
                        .query_length = 4096,
                        .key_length = 4096,
                        .head_dim_qk = 128,
                        .head_dim_v = 128,
                        .causal = false};
  const double full = 2.0 * 4096.0 * 4096.0 * 32.0 * 256.0;
  EXPECT_EQ(in_flop(flop_count(attention)), full);
  attention.causal = true;
  EXPECT_EQ(in_flop(flop_count(attention)), full / 2.0);
  attention.backward = true;
  EXPECT_EQ(in_flop(flop_count(attention)), 1.25 * full);
}

TEST(FlopCount, MemoryOperationsAndCollectivesCountNothing) {
  EXPECT_EQ(in_flop(flop_count(Op{MemoryOp{.name = "norm", .read = bytes(1.0), .written = {}}})),
            0.0);
  EXPECT_EQ(in_flop(flop_count(Op{CollectiveOp{}})), 0.0);
}

TEST(BytesPerElement, FollowsTheType) {
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::fp32)), 4.0);
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::tf32)), 4.0);
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::bf16)), 2.0);
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::fp16)), 2.0);
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::fp8)), 1.0);
  EXPECT_EQ(in_bytes(bytes_per_element(Dtype::fp4)), 0.5);
}

}  // namespace
}  // namespace orrery::model
