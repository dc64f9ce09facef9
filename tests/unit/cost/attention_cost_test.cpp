#include <gtest/gtest.h>

#include <cmath>

#include "sim/step/cost/attention.hpp"
#include "tests/unit/cost/cost_fixture.hpp"

namespace orrery::cost {
namespace {

using model::Dtype;

TEST(Attention, RateHalvesAtTheHalfLength) {
  const auto gpu = testing::gpu_profile("h200-sxm");
  const auto stack = testing::neutral_stack();
  model::AttentionOp op;
  op.sequences = 8;
  op.heads = op.query_groups = 64;
  op.head_dim_qk = op.head_dim_v = 128;
  op.query_length = op.key_length = static_cast<std::int64_t>(gpu.attention.half_length.value());
  EXPECT_NEAR(attention_rate(op, gpu, stack) / gpu.attention.forward.value(), 0.5, 1e-12);
  op.causal = false;
  ASSERT_TRUE(gpu.attention.full_ratio.has_value());
  EXPECT_NEAR(attention_rate(op, gpu, stack) / gpu.attention.forward.value(),
              1.0 / (1.0 + gpu.attention.full_ratio->value()), 1e-12);
}

TEST(Attention, TheStackNamesTheGenerationOfItsKernel) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  auto stack = testing::neutral_stack();
  EXPECT_EQ(attention_kernel_rate(gpu, stack).rate, &gpu.attention);
  stack.attention_kernel = hardware::AttentionGeneration::fa2;
  const AttentionKernelRate kernel = attention_kernel_rate(gpu, stack);
  EXPECT_EQ(kernel.rate, gpu.find_attention(hardware::AttentionGeneration::fa2));
  EXPECT_FALSE(kernel.derived);
  EXPECT_LT(kernel.rate->forward.value(), gpu.attention.forward.value());
}

// No FlashAttention takes 4-byte inputs: the generation before it, slower by the products' rates.
TEST(Attention, WideInputsRunTheKernelsBeforeFlashAttention2) {
  const auto gpu = testing::gpu_profile("a100-sxm-80gb");
  auto stack = testing::neutral_stack();
  stack.attention_kernel = hardware::AttentionGeneration::triton_2023;
  model::AttentionOp op;
  op.sequences = 8;
  op.heads = op.query_groups = 32;
  op.head_dim_qk = op.head_dim_v = 128;
  op.query_length = op.key_length = 4096;
  const FlopPerSecond narrow = attention_rate(op, gpu, stack);
  for (const auto kernel :
       {hardware::AttentionGeneration::fa2, hardware::AttentionGeneration::cudnn_9}) {
    stack.attention_kernel = kernel;
    op.dtype = model::Dtype::tf32;
    EXPECT_NEAR(attention_rate(op, gpu, stack) / narrow, 131.0 / 265.0, 1e-9);
    op.dtype = model::Dtype::fp32;
    EXPECT_NEAR(attention_rate(op, gpu, stack) / narrow, 17.9 / 265.0, 1e-9);
  }
  const Cost cost = attention_cost(op, gpu, stack);
  EXPECT_EQ(cost.extrapolated, cost.time);
}

// The A100's profile has no FlashAttention-3 (newer than its best: no faster) and the RTX A6000's
// no Triton of 2023: the ratio of the forward rates on an H100, 190 / 352.
TEST(Attention, AGenerationWithoutAnEntryIsDerivedAndAssumed) {
  auto stack = testing::neutral_stack();
  stack.attention_kernel = hardware::AttentionGeneration::fa3;
  const auto a100 = testing::gpu_profile("a100-sxm-80gb");
  EXPECT_DOUBLE_EQ(attention_kernel_rate(a100, stack).scale, 1.0);
  stack.attention_kernel = hardware::AttentionGeneration::triton_2023;
  const auto a6000 = testing::gpu_profile("rtx-a6000");
  EXPECT_DOUBLE_EQ(attention_kernel_rate(a6000, stack).scale, 190.0 / 352.0);
  model::AttentionOp op;
  op.sequences = 8;
  op.heads = op.query_groups = 32;
  op.head_dim_qk = op.head_dim_v = 128;
  op.query_length = op.key_length = 4096;
  const Cost cost = attention_cost(op, a6000, stack);
  EXPECT_GT(cost.by_source[static_cast<std::size_t>(SourceKind::assumed)], 0.9 * cost.time);
}

TEST(Attention, ADeterministicBackwardTakesAQuarterLonger) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto stack = testing::neutral_stack();
  model::AttentionOp op;
  op.sequences = 8;
  op.heads = op.query_groups = 32;
  op.head_dim_qk = op.head_dim_v = 128;
  op.query_length = op.key_length = 4096;
  model::AttentionOp ordered = op;
  ordered.deterministic = true;
  EXPECT_EQ(attention_rate(ordered, gpu, stack), attention_rate(op, gpu, stack));
  op.backward = ordered.backward = true;
  EXPECT_NEAR(attention_rate(op, gpu, stack) / attention_rate(ordered, gpu, stack), 1.25, 1e-12);
}

// With dropout a Blackwell GPU has no deterministic backward of cuDNN: FlashAttention-2 runs.
TEST(Attention, ADeterministicStackRunsFlashAttention2WhereCudnnHasNoOrderedBackward) {
  const auto gpu = testing::gpu_profile("gb200");
  const auto stack = testing::neutral_stack();
  model::AttentionOp op{.deterministic = true};
  EXPECT_EQ(attention_kernel_rate(gpu, stack, op).rate, &gpu.attention);
  op.dropout = true;
  EXPECT_EQ(attention_kernel_rate(gpu, stack, op).rate,
            gpu.find_attention(hardware::AttentionGeneration::fa2));
}

// cuDNN 9.19 on an H200: two thirds of the unmasked 8-bit rate, with half lengths of their own.
TEST(Attention, TheEightBitBackwardHasItsOwnHalfLengthAndCausalRate) {
  const auto gpu = testing::gpu_profile("h200-sxm");
  const auto stack = testing::neutral_stack();
  const hardware::AttentionRate& rate = gpu.attention;
  model::AttentionOp op;
  op.sequences = 1;
  op.heads = op.query_groups = 64;
  op.head_dim_qk = op.head_dim_v = 128;
  op.query_length = op.key_length = 8192;
  op.backward = true;
  op.dtype = Dtype::fp8;
  const double half = rate.half_length.value() * rate.backward_ratio_fp8->value();
  EXPECT_NEAR(attention_rate(op, gpu, stack) / rate.backward_fp8->value(),
              rate.causal_backward_fp8->value() / (1.0 + half / 8192.0), 1e-12);
  op.causal = false;
  EXPECT_NEAR(attention_rate(op, gpu, stack) / rate.backward_fp8->value(),
              1.0 / (1.0 + half * rate.full_ratio->value() / 8192.0), 1e-12);
  op.dtype = Dtype::bf16;
  EXPECT_NEAR(attention_rate(op, gpu, stack) / rate.backward.value(),
              1.0 / (1.0 + rate.half_length.value() * rate.full_ratio->value() *
                               rate.backward_ratio->value() / 8192.0),
              1e-12);
}

// A window of 1,024 keys over 4,096: 1,024 - 1,024^2 / 8,192 = 896 keys a query.
TEST(Attention, AWindowLimitsTheKeysOfAQuery) {
  model::AttentionOp op;
  op.sequences = 2;
  op.heads = op.query_groups = 64;
  op.head_dim_qk = op.head_dim_v = 64;
  op.query_length = op.key_length = 4096;
  const double full = in_flop(model::flop_count(op));
  op.window = 1024;
  EXPECT_NEAR(in_flop(model::flop_count(op)) / full, 2.0 * 896.0 / 4096.0, 1e-12);
}

TEST(Attention, FewTilesLeaveSmsIdle) {
  const auto gpu = testing::gpu_profile("h200-sxm");
  const auto stack = testing::neutral_stack();
  model::AttentionOp op;
  op.sequences = 1;
  op.heads = op.query_groups = 2;
  op.head_dim_qk = op.head_dim_v = 128;
  op.query_length = op.key_length = 4096;  // 64 tiles on 132 SMs
  model::AttentionOp full = op;
  full.heads = full.query_groups = 64;
  EXPECT_NEAR(attention_rate(op, gpu, stack) / attention_rate(full, gpu, stack), 64.0 / 132.0,
              1e-12);
}

}  // namespace
}  // namespace orrery::cost
