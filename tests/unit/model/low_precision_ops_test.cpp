#include <utility>

#include "sim/step/model/transformer_ops.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

// FP8: linear layers multiply in FP8, attention and logits do not; each GEMM's input is cast and
// transposed (2 bytes read, 2 written per element), and tensorwise scaling reads it once more.
TEST(Fp8, LinearLayersOnly) {
  const ModelSpec model = preset_spec("llama3-8b");
  OpOptions options;
  options.precision.compute = Dtype::fp8;
  const LayerPasses passes = layer_passes(model, options, 0);
  EXPECT_EQ(find_gemm(passes.forward, "qkv")->dtype, Dtype::fp8);
  EXPECT_EQ(find_gemm(passes.backward_weight, "mlp_down", Role::wgrad)->dtype, Dtype::fp8);
  EXPECT_EQ(find_gemm(head_passes(model, options).forward, "logits")->dtype, Dtype::bf16);
  for (const PassOp& op : passes.forward) {
    if (const auto* attention = std::get_if<AttentionOp>(&op.op)) {
      EXPECT_EQ(attention->dtype, Dtype::bf16);
    }
  }
  const std::optional<MemoryOp> cast = find_memory(passes.forward, "fp8_cast_transpose");
  ASSERT_TRUE(cast.has_value());
  EXPECT_EQ(in_bytes(cast->read), 8192.0 * 4096.0 * 2.0);
  EXPECT_EQ(in_bytes(cast->written), 8192.0 * 4096.0 * 2.0);
  EXPECT_FALSE(find_memory(passes.forward, "fp8_amax").has_value());
  options.precision.fp8_scaling = Fp8Scaling::tensorwise;
  EXPECT_TRUE(find_memory(layer_passes(model, options, 0).forward, "fp8_amax").has_value());
}

// Norms and activations that write FP8 themselves leave a share of the traffic of the casts.
TEST(Fp8, FusedCastsMoveTheirShare) {
  const ModelSpec model = preset_spec("llama3-8b");
  OpOptions options;
  options.precision.compute = Dtype::fp8;
  options.precision.cast_share = 0.25;
  const auto cast = find_memory(layer_passes(model, options, 0).forward, "fp8_cast_transpose");
  ASSERT_TRUE(cast.has_value());
  EXPECT_EQ(in_bytes(cast->read), 8192.0 * 4096.0 * 2.0 / 4.0);
  EXPECT_EQ(in_bytes(cast->written), 8192.0 * 4096.0 * 2.0 / 4.0);
}

// Gathers in FP8: half the bytes; each of the 4 ranks casts its quarter of the tokens and
// transposes the whole. What is scattered stays wide.
TEST(Fp8, TensorGathersMayMoveFp8) {
  const ModelSpec model = preset_spec("llama3-8b");
  OpOptions options;
  options.shard.tensor = 4;
  options.shard.sequence_parallel = true;
  options.precision.compute = Dtype::fp8;
  const auto total = [](const Pass& pass, std::string_view name) {
    double bytes = 0.0;
    for (const CollectiveOp& op : collectives(pass)) {
      bytes += part_name(op.part, op.role) == name ? in_bytes(op.bytes_total) : 0.0;
    }
    return bytes;
  };
  const LayerPasses wide = layer_passes(model, options, 0);
  options.precision.gathers_low = true;
  const LayerPasses low = layer_passes(model, options, 0);
  for (const char* name : {"tensor_all_gather", "tensor_all_gather_again"}) {
    EXPECT_EQ(2.0 * total(low.backward_input, name), total(wide.backward_input, name)) << name;
  }
  EXPECT_EQ(2.0 * total(low.forward, "tensor_all_gather"),
            total(wide.forward, "tensor_all_gather"));
  EXPECT_EQ(total(low.forward, "tensor_reduce_scatter"),
            total(wide.forward, "tensor_reduce_scatter"));
  const double inputs = 8192.0 * 4096.0;
  const auto cast = find_memory(low.forward, "fp8_cast");
  const auto transpose = find_memory(low.forward, "fp8_transpose");
  ASSERT_TRUE(cast.has_value() && transpose.has_value());
  EXPECT_EQ(in_bytes(cast->read), inputs * 2.0 / 4.0);
  EXPECT_EQ(in_bytes(cast->written), inputs / 4.0);
  EXPECT_EQ(in_bytes(transpose->read), inputs);
  EXPECT_EQ(in_bytes(transpose->written), inputs);
}

TEST(Fp8, RouterStaysInTheActivationType) {
  OpOptions options;
  options.precision.compute = Dtype::fp8;
  const LayerPasses passes = layer_passes(preset_spec("mixtral-8x7b"), options, 0);
  EXPECT_EQ(find_gemm(passes.forward, "router")->dtype, Dtype::bf16);
  EXPECT_EQ(find_gemm(passes.forward, "expert_up")->dtype, Dtype::fp8);
  EXPECT_TRUE(find_gemm(passes.forward, "expert_up")->grouped);
}

}  // namespace
}  // namespace orrery::model
