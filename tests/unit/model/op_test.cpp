#include "sim/step/model/op.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string_view>

namespace orrery::model {
namespace {

TEST(FlopCount, GemmIsTwoMNKPerProduct) {
  const GemmOp gemm{.part = Part::mlp_up, .m = 8192, .n = 28672, .k = 8192, .batch = 4};
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
  EXPECT_EQ(
      in_flop(flop_count(Op{MemoryOp{.part = Part::norm, .read = bytes(1.0), .written = {}}})),
      0.0);
  EXPECT_EQ(in_flop(flop_count(Op{CollectiveOp{}})), 0.0);
}

// A ledger by name tells every part apart, and every direction that costs something else.
TEST(PartName, IsThatOfOnePart) {
  std::map<std::string_view, Part> owners;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Part::count_); ++i) {
    const auto part = static_cast<Part>(i);
    for (const Role role : {Role::forward, Role::backward}) {
      const auto [owner, is_new] = owners.emplace(part_name(part, role), part);
      EXPECT_TRUE(is_new || owner->second == part) << owner->first;
    }
  }
  EXPECT_EQ(part_name(Part::residual_add, Role::backward), "residual_gradient_add");
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
