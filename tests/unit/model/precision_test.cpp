#include "sim/step/model/precision.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "sim/step/model/transformer_ops.hpp"
#include "tests/unit/model/model_test_support.hpp"

namespace orrery::model {
namespace {

struct Row {
  Dtype narrow;
  Fp8Scaling scaling;
  double read;
  double written;
  double copy;  // one kept copy with its scales
};

// Reads: 2 bytes a pass. Two copies written: 1 or 1/2 byte and the share of a scale each.
constexpr std::array<Row, 6> kRows = {{{Dtype::fp8, Fp8Scaling::delayed, 2.0, 2.0, 1.0},
                                       {Dtype::fp8, Fp8Scaling::tensorwise, 4.0, 2.0, 1.0},
                                       {Dtype::fp8, Fp8Scaling::rowwise, 8.0, 2.0, 1.0},
                                       {Dtype::fp8, Fp8Scaling::block, 2.0, 2.0625, 1.03125},
                                       {Dtype::fp8, Fp8Scaling::mx, 2.0, 2.0625, 1.03125},
                                       {Dtype::fp4, Fp8Scaling::nvfp4, 4.0, 1.125, 0.5625}}};

TEST(Precision, CastTrafficCountsEveryReadAndBothCopiesWithTheirScales) {
  for (const Row& row : kRows) {
    const CastTraffic cast = cast_traffic(Dtype::bf16, row.narrow, row.scaling);
    EXPECT_DOUBLE_EQ(cast.read, row.read);
    EXPECT_DOUBLE_EQ(cast.written, row.written);
    EXPECT_EQ(cast.kernels, static_cast<int>(row.read / 2.0));
  }
}

TEST(Precision, LinearLayersKeepOneNarrowCopyOfTheirInputs) {
  for (const Row& row : kRows) {
    OpOptions options;
    options.precision.compute = row.narrow;
    options.precision.fp8_scaling = row.scaling;
    const ShardDims dims = shard_dims(preset_spec("llama3-8b"), options);
    EXPECT_DOUBLE_EQ(dims.linear_input_bytes, row.copy);
    EXPECT_TRUE(dims.low_precision);
  }
}

// Attention, norms and the router never see 8 or 4 bits; every product of a linear layer does.
TEST(Precision, OnlyLinearLayersMultiplyInLowPrecision) {
  for (const Row& row : kRows) {
    OpOptions options;
    options.precision.compute = row.narrow;
    options.precision.fp8_scaling = row.scaling;
    const LayerPasses passes = layer_passes(preset_spec("llama3-8b"), options, 0);
    int products = 0;
    for (const Pass* pass : {&passes.forward, &passes.backward_input, &passes.backward_weight}) {
      for (const PassOp& entry : *pass) {
        if (const auto* gemm = std::get_if<GemmOp>(&entry.op)) {
          EXPECT_EQ(gemm->dtype, row.narrow) << part_name(gemm->part);
          EXPECT_EQ(gemm->scaling, row.scaling) << part_name(gemm->part);
          ++products;
        } else if (const auto* attention = std::get_if<AttentionOp>(&entry.op)) {
          EXPECT_EQ(attention->dtype, Dtype::bf16);
        }
      }
    }
    EXPECT_EQ(products, 12);  // qkv, output, up, down; three products each
  }
}

// llama3-8b, one layer: 4096 x (6144 + 4096 + 28672 + 14336) weights, 2 bytes read for each.
TEST(Precision, AStackMayCastItsWeightsInEveryForward) {
  OpOptions options;
  options.precision.compute = Dtype::fp8;
  const auto reads = [&options] {
    double sum = 0.0;
    for (const PassOp& entry : layer_passes(preset_spec("llama3-8b"), options, 0).forward) {
      const auto* memory = std::get_if<MemoryOp>(&entry.op);
      if (memory != nullptr && is_cast(memory->part)) {
        sum += in_bytes(memory->read);
      }
    }
    return sum;
  };
  const double before = reads();
  options.precision.casts_weights = true;
  EXPECT_DOUBLE_EQ(reads() - before, 2.0 * 4096.0 * (6144.0 + 4096.0 + 28672.0 + 14336.0));
}

// A gradient of 2 bytes is added to the sum of 4: per weight 6 are read and 4 written, in as many
// kernels as there are products.
TEST(Precision, GradientsThatAreNotFusedAreAddedByAKernelEach) {
  OpOptions options;
  options.precision.fuses_gradients = false;
  double read = 0.0;
  double written = 0.0;
  for (const PassOp& entry : layer_passes(preset_spec("llama3-8b"), options, 0).backward_weight) {
    const auto* memory = std::get_if<MemoryOp>(&entry.op);
    if (memory != nullptr && memory->part == Part::gradient_add) {
      read += in_bytes(memory->read);
      written += in_bytes(memory->written);
    }
    if (const auto* gemm = std::get_if<GemmOp>(&entry.op)) {
      EXPECT_FALSE(gemm->accumulates) << part_name(gemm->part);
    }
  }
  const double weights = 4096.0 * (6144.0 + 4096.0 + 28672.0 + 14336.0);
  EXPECT_DOUBLE_EQ(read, 6.0 * weights);
  EXPECT_DOUBLE_EQ(written, 4.0 * weights);
}

TEST(Precision, DeterminismMarksAttentionAndSortsTheEmbeddingsGradient) {
  OpOptions options;
  options.precision.deterministic = true;
  const ModelSpec model = preset_spec("llama3-8b");
  for (const PassOp& entry : layer_passes(model, options, 0).backward_input) {
    if (const auto* attention = std::get_if<AttentionOp>(&entry.op)) {
      EXPECT_TRUE(attention->deterministic);
    }
  }
  const auto sort =
      find_memory(embedding_passes(model, options).backward_weight, "embedding_gradient_sort");
  ASSERT_TRUE(sort.has_value());
  EXPECT_DOUBLE_EQ(in_bytes(sort->read), 8192.0 * 4096.0 * 2.0);
}

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
