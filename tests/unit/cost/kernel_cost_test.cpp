#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/cost/cost_model.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/memory_bound.hpp"
#include "sim/step/cost/transfer.hpp"
#include "sim/step/model/transformer_ops.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/unit/cost/cost_fixture.hpp"

namespace orrery::cost {
namespace {

using model::Dtype;

model::GemmOp gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  model::GemmOp op;
  op.part = model::Part::mlp_up;
  op.m = m;
  op.n = n;
  op.k = k;
  op.batch = batch;
  return op;
}

TEST(Cost, WeakerSourceFollowsTheDocumentedOrder) {
  const std::vector<SourceKind> order = {SourceKind::assumed, SourceKind::datasheet,
                                         SourceKind::published, SourceKind::measured,
                                         SourceKind::given};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j < order.size(); ++j) {
      EXPECT_EQ(weaker(order[i], order[j]), order[std::min(i, j)]);
    }
  }
}

// 4096^3 in bf16: 3 * 4096^2 * 2 bytes; an accumulated weight gradient reads and writes fp32.
TEST(Gemm, BytesCountEachOperandOnce) {
  const double square = 4096.0 * 4096.0;
  EXPECT_DOUBLE_EQ(in_bytes(gemm_bytes(gemm(4096, 4096, 4096))), 6.0 * square);
  model::GemmOp wgrad = gemm(4096, 4096, 4096);
  wgrad.accumulates = true;
  EXPECT_DOUBLE_EQ(in_bytes(gemm_bytes(wgrad)), 12.0 * square);
  wgrad.accumulator = Dtype::bf16;
  EXPECT_DOUBLE_EQ(in_bytes(gemm_bytes(wgrad)), 8.0 * square);
}

// Tiles of 256 x 128 on 108 SMs: 8192 x 8192 has 2048 = 18.96 waves, 19 whole: 19 * 108 / 2048. On
// the 132 of a Hopper 1024 x 9216 has 288 = 2.18 waves, but 384 of 128 x 192 = 2.91.
TEST(Gemm, WaveRatioIsWholeWavesOverNeededTiles) {
  const auto a100 = testing::gpu_profile("a100-sxm-80gb");
  EXPECT_NEAR(wave_ratio(gemm(8192, 8192, 8192), a100), 19.0 * 108.0 / 2048.0, 1e-12);
  auto h100 = testing::gpu_profile("h100-sxm-80gb");
  EXPECT_NEAR(wave_ratio(gemm(1024, 9216, 4096), h100), 3.0 * 132.0 / 384.0, 1e-12);
  h100.arch = hardware::GpuArch::ampere;
  EXPECT_NEAR(wave_ratio(gemm(1024, 9216, 4096), h100), 3.0 * 132.0 / 288.0, 1e-12);
}

// 8 experts of 512 rows each: 512 tiles of 128 x 256, 5 waves of 108 SMs. When their rows differ by
// 23 (the square root), half of the experts need one row of tiles more: 576 tiles, 6 waves. When
// they differ by much, the last wave is half full on average.
TEST(Gemm, ExpertsOfDifferentRowsFillTilesOnAverage) {
  const auto a100 = testing::gpu_profile("a100-sxm-80gb");
  model::GemmOp op = gemm(512, 4096, 4096, 8);
  op.grouped = true;
  EXPECT_NEAR(wave_ratio(op, a100), 5.0 * 108.0 / 512.0, 1e-12);
  op.row_spread = 1.0 / std::sqrt(512.0);
  EXPECT_NEAR(wave_ratio(op, a100), 6.0 * 108.0 / 512.0, 1e-4);
  op.row_spread = 10.0;
  EXPECT_NEAR(wave_ratio(op, a100), (576.0 + 54.0) / 512.0, 1e-12);
}

// 8192 x 8192 in tiles of 128 x 192: 64 x 43 = 20.8 waves of 132.
TEST(Gemm, TimeOfALargeProductIsFlopOverTheSustainedRateWithItsPenalties) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto stack = testing::neutral_stack();
  const model::GemmOp op = gemm(8192, 8192, 8192);
  const hardware::GemmRate& rate = *gpu.find_gemm(Dtype::bf16);
  const double compute = 2.0 * 8192.0 * 8192.0 * 8192.0 /
                         in_flop_per_second(rate.sustained.value()) *
                         (1.0 + rate.half_depth.value() / 8192.0) *
                         std::pow(21.0 * 132.0 * 128.0 * 192.0 / (8192.0 * 8192.0), 0.75);
  const GemmTime time = gemm_time(op, gpu, stack);
  EXPECT_NEAR(in_seconds(time.compute), compute, 1e-12);
  const Cost cost = gemm_cost(op, gpu, stack);
  EXPECT_NEAR(in_seconds(cost.time),
              compute + 0.25 * in_seconds(time.memory) + in_seconds(gpu.launch_latency.value()),
              1e-12);
  EXPECT_EQ(cost.gap, gpu.launch_latency.value());
}

// fp32 and tf32: the same law at their own sustained rate and depth, over twice the bytes.
TEST(Gemm, WideProductsRunAtTheirOwnRates) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto stack = testing::neutral_stack();
  const model::GemmOp narrow = gemm(8192, 8192, 8192);
  const auto slowness = [](const hardware::GemmRate& rate) {
    return (1.0 + rate.half_depth.value() / 8192.0) / in_flop_per_second(rate.sustained.value());
  };
  for (const Dtype dtype : {Dtype::fp32, Dtype::tf32}) {
    model::GemmOp wide = narrow;
    wide.dtype = dtype;
    EXPECT_NEAR(gemm_time(wide, gpu, stack).compute / gemm_time(narrow, gpu, stack).compute,
                slowness(*gpu.find_gemm(dtype)) / slowness(*gpu.find_gemm(Dtype::bf16)), 1e-9);
    EXPECT_DOUBLE_EQ(in_bytes(gemm_bytes(wide)), 2.0 * in_bytes(gemm_bytes(narrow)));
  }
}

// One row: 2 k n FLOP on k n elements of 2 bytes is 1 FLOP per byte, far below the balance of 295.
TEST(Gemm, AThinProductIsBoundByMemory) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto stack = testing::neutral_stack();
  const model::GemmOp op = gemm(1, 16384, 16384);
  const Seconds floor = gemm_bytes(op) / memory_rate(gpu, stack);
  EXPECT_NEAR(in_seconds(gemm_cost(op, gpu, stack).time),
              in_seconds(floor + gpu.launch_latency.value()), 1e-12);
}

TEST(Gemm, AMissingUnitIsReplacedByAWiderTypeAndFlagged) {
  const auto gpu = testing::gpu_profile("a100-sxm-80gb");
  const auto stack = testing::neutral_stack();
  ASSERT_EQ(gpu.find_gemm(Dtype::fp8), nullptr);
  model::GemmOp op = gemm(4096, 4096, 4096);
  op.dtype = Dtype::fp8;
  const Cost cost = gemm_cost(op, gpu, stack);
  EXPECT_EQ(cost.extrapolated, cost.time);
  EXPECT_NEAR(
      gemm_time(op, gpu, stack).compute / gemm_time(gemm(4096, 4096, 4096), gpu, stack).compute,
      1.0, 1e-12);
}

TEST(Gemm, MisalignedDimensionsCost) {
  const auto gpu = testing::gpu_profile("a100-sxm-80gb");
  const auto stack = testing::neutral_stack();
  EXPECT_DOUBLE_EQ(gemm_time(gemm(4096, 4096, 4100), gpu, stack).alignment_penalty, 1.3);
  EXPECT_DOUBLE_EQ(gemm_time(gemm(4096, 4096, 4104), gpu, stack).alignment_penalty, 1.0);
}

// Filling and draining a tile takes k0 / K of its work; 0.58 of the memory time where that is more.
TEST(Gemm, AGroupExposesItsMemoryOrItsFilling) {
  const auto gpu = testing::gpu_profile("a100-sxm-80gb");
  const auto stack = testing::neutral_stack();
  const double k0 = gpu.find_gemm(Dtype::bf16)->half_depth.value();
  for (const std::int64_t rows : {64, 128, 512, 8192}) {
    model::GemmOp experts = gemm(rows, 4096, 1024, 8);
    experts.grouped = true;
    const GemmTime time = gemm_time(experts, gpu, stack);
    const Seconds fill = time.compute * (k0 / 1024.0 / (1.0 + k0 / 1024.0));
    const Seconds expected =
        std::max(time.compute - fill + std::max(fill, time.memory * 0.58), time.memory);
    EXPECT_NEAR(in_seconds(gemm_cost(experts, gpu, stack).time),
                in_seconds(expected + gpu.launch_latency.value()), 1e-12)
        << rows;
  }
}

// A loop over eight experts: seven launches more; where the host needs 9 us for a call and the GPU
// less for a product, the host decides.
TEST(Gemm, ALoopOverTheExpertsPaysForItsCalls) {
  const auto gpu = testing::gpu_profile("b200-sxm");
  const auto kernel = testing::neutral_stack();
  auto loop = kernel;
  loop.grouped_call_time =
      Coefficient<Seconds>(microseconds(9.0), {SourceKind::published, "SimuMax"});
  const Seconds latency = gpu.launch_latency.value();
  model::GemmOp large = gemm(4096, 5120, 5120, 8);
  large.grouped = true;
  const Cost many = gemm_cost(large, gpu, loop);
  EXPECT_NEAR(in_seconds(many.time - gemm_cost(large, gpu, kernel).time), in_seconds(latency * 7.0),
              1e-12);
  EXPECT_NEAR(in_seconds(many.gap), in_seconds(latency * 8.0), 1e-12);
  model::GemmOp small = gemm(64, 1024, 1024, 8);
  small.grouped = true;
  EXPECT_LT(gemm_cost(small, gpu, kernel).time, microseconds(20.0));
  EXPECT_NEAR(in_seconds(gemm_cost(small, gpu, loop).time),
              in_seconds(microseconds(72.0) + latency), 1e-12);
  small.grouped = false;  // a batched product is one call
  EXPECT_EQ(gemm_cost(small, gpu, loop).time, gemm_cost(small, gpu, kernel).time);
}

// 4096 x 512 has 64 tiles of 256 x 128 on 108 SMs: 108 / 64 = 1.69 of what is needed. At K = 32,768
// the product may be cut into parts of 8,192 or more: 3 parts give 192 tiles = 2 waves, 1.125.
TEST(Gemm, ADeepProductIsSplitOverTheIdleSms) {
  const auto a100 = testing::gpu_profile("a100-sxm-80gb");
  EXPECT_NEAR(wave_ratio(gemm(4096, 512, 4096), a100), 108.0 / 64.0, 1e-12);
  EXPECT_NEAR(wave_ratio(gemm(4096, 512, 32768), a100), 2.0 * 108.0 / 192.0, 1e-12);
  EXPECT_DOUBLE_EQ(wave_ratio(gemm(256, 128, 4096), a100), 2.0);  // other tiles bound the waste
}

// Head dimensions 216, 108, 150 and 225 in 16 bit: rows of 432, 216, 300 and 450 bytes.
TEST(Gemm, AttentionProductsPayForRowsThatAreNoMultipleOf16Bytes) {
  const auto gpu = testing::gpu_profile("a100-sxm-80gb");
  const auto scores = [&gpu](std::int64_t head_dim) {
    model::GemmOp op = gemm(2048, 2048, head_dim, 16);
    op.part = model::Part::attention_scores;
    return alignment_penalty(op, gpu);
  };
  EXPECT_DOUBLE_EQ(scores(216), 1.0);
  EXPECT_DOUBLE_EQ(scores(108), 5.4);
  EXPECT_DOUBLE_EQ(scores(150), 3.0);
  EXPECT_DOUBLE_EQ(scores(225), 13.0);
}

// Tokens are rows of no operand in 16 bit, and stacks pad them in 8 bit.
TEST(Gemm, TheNumberOfTokensCostsNoAlignment) {
  const auto gpu = testing::gpu_profile("a100-sxm-80gb");
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp8}) {
    for (const model::Role role : {model::Role::fprop, model::Role::dgrad, model::Role::wgrad}) {
      const bool weights = role == model::Role::wgrad;
      model::GemmOp op = weights ? gemm(4096, 1536, 1033) : gemm(1033, 1536, 4096);
      op.role = role;
      op.dtype = dtype;
      EXPECT_DOUBLE_EQ(alignment_penalty(op, gpu), 1.0);
      std::int64_t& row = weights ? op.m : op.k;
      row += 1;
      EXPECT_DOUBLE_EQ(alignment_penalty(op, gpu), 1.3);
    }
  }
}

// Hopper adds the sums of 1 x 128 blocks on its CUDA cores; Blackwell's units know scales of 32
// values and emulate the blocks with them.
TEST(Gemm, ScalesOfBlocksAndGroupsLowerTheRate) {
  const auto hopper = testing::gpu_profile("h200-sxm");
  const auto blackwell = testing::gpu_profile("b300-sxm");
  const auto compute = [](const hardware::GpuProfile& gpu, model::Fp8Scaling scaling,
                          const hardware::SoftwareProfile& stack) {
    model::GemmOp op = gemm(8192, 8192, 8192);
    op.dtype = Dtype::fp8;
    op.scaling = scaling;
    return gemm_time(op, gpu, stack).compute;
  };
  auto stack = testing::neutral_stack();
  using model::Fp8Scaling;
  const Seconds tensor = compute(hopper, Fp8Scaling::tensorwise, stack);
  EXPECT_EQ(compute(hopper, Fp8Scaling::delayed, stack), tensor);
  EXPECT_NEAR(tensor / compute(hopper, Fp8Scaling::block, stack), 0.82, 1e-12);
  // The same rule for every GPU without group scales, and DeepGEMM hides the sums on all of them.
  for (const char* name : {"h800-sxm", "h100-sxm-80gb", "h20-sxm", "mi300x", "gaudi3"}) {
    const auto gpu = testing::gpu_profile(name);
    auto own = testing::neutral_stack();
    const Seconds whole = compute(gpu, Fp8Scaling::delayed, own);
    EXPECT_NEAR(whole / compute(gpu, Fp8Scaling::block, own), 0.82, 1e-12) << name;
    own.block_products = hardware::BlockProducts::deepgemm;
    EXPECT_EQ(compute(gpu, Fp8Scaling::block, own), whole) << name;
  }
  EXPECT_EQ(compute(blackwell, Fp8Scaling::block, stack),
            compute(blackwell, Fp8Scaling::mx, stack));
  EXPECT_FALSE(hopper.find_gemm(Dtype::fp8)->mx_ratio.has_value());
  EXPECT_NEAR(
      compute(blackwell, Fp8Scaling::delayed, stack) / compute(blackwell, Fp8Scaling::mx, stack),
      0.93, 1e-12);
  stack.fp8_gemm_efficiency = Coefficient<double>(0.9, {SourceKind::assumed, "test"});
  EXPECT_NEAR(tensor / compute(hopper, Fp8Scaling::tensorwise, stack), 0.9, 1e-12);
  const model::GemmOp wide = gemm(8192, 8192, 8192);
  EXPECT_EQ(gemm_time(wide, hopper, stack).compute,
            gemm_time(wide, hopper, testing::neutral_stack()).compute);
}

TEST(Gemm, ShortProductsRunAboveTheSustainedRateWhereTheProfileSaysSo) {
  auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto stack = testing::neutral_stack();
  const model::GemmOp op = gemm(4096, 4096, 4096);  // 137.4 GFLOP
  const Seconds plain = gemm_time(op, gpu, stack).compute;
  const double work = 2.0 * 4096.0 * 4096.0 * 4096.0;
  for (hardware::GemmRate& rate : gpu.gemm) {
    rate.short_gain = Coefficient<double>(0.4, {SourceKind::assumed, "test"});
    rate.short_work = Coefficient<double>(work, {SourceKind::assumed, "test"});
  }
  EXPECT_NEAR(plain / gemm_time(op, gpu, stack).compute, 1.2, 1e-12);
}

TEST(Gemm, MoreWorkNeverTakesLessTimeByMoreThanAWave) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto stack = testing::neutral_stack();
  constexpr std::uint64_t kSeed = 20261121;
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int i = 0; i < 2000; ++i) {
    const auto pick = [&random] {
      return 64 * (1 + static_cast<std::int64_t>(random.uniform_int(256)));
    };
    const model::GemmOp small = gemm(pick(), pick(), pick());
    const model::GemmOp doubled = gemm(small.m, small.n, 2 * small.k);
    EXPECT_GT(gemm_cost(doubled, gpu, stack).time, gemm_cost(small, gpu, stack).time)
        << "seed " << kSeed << " case " << i;
    const Cost cost = gemm_cost(small, gpu, stack);
    Seconds sum;
    for (const Seconds part : cost.by_source) {
      sum += part;
    }
    EXPECT_NEAR(in_seconds(sum), in_seconds(cost.time), 1e-12);
    // Never above the peak of the data sheet, never above the memory's rate.
    EXPECT_LE(model::flop_count(small) / cost.time, gpu.find_gemm(Dtype::bf16)->peak.value());
  }
}

// The model names the products of unfused attention; the cost model knows them by these names.
TEST(Gemm, EveryBatchedProductOfUnfusedAttentionIsRecognised) {
  model::OpOptions options;
  options.attention = model::AttentionKernel::unfused;
  const auto gpt3 = shipped::model("gpt3-175b");
  const model::LayerPasses passes = model::layer_passes(gpt3, options, 0);
  int products = 0;
  for (const model::Pass* pass : {&passes.forward, &passes.backward_input}) {
    for (const model::PassOp& entry : *pass) {
      const auto* op = std::get_if<model::GemmOp>(&entry.op);
      if (op != nullptr && op->batch > 1) {
        EXPECT_TRUE(is_attention_product(*op)) << model::part_name(op->part);
        ++products;
      }
    }
  }
  EXPECT_EQ(products, 6);  // 2 forward, 4 backward
}

TEST(MemoryBound, TimeIsGapsAndBytesOverTheReachedRate) {
  const auto gpu = testing::gpu_profile("a100-sxm-80gb");
  auto stack = testing::neutral_stack();
  stack.memory_efficiency = {0.5, {SourceKind::assumed, "eager"}};
  stack.kernel_gap = {microseconds(3.0), {SourceKind::assumed, "python"}};
  const model::MemoryOp op{
      .part = model::Part::norm, .read = mebibytes(64.0), .written = mebibytes(64.0), .kernels = 4};
  const Cost cost = memory_bound_cost(op, gpu, stack);
  const Seconds gaps = (gpu.launch_latency.value() + microseconds(3.0)) * 4.0;
  const Seconds bytes_time =
      mebibytes(128.0) / (gpu.hbm_bandwidth.value() * gpu.memory_efficiency.value() * 0.5);
  EXPECT_NEAR(in_seconds(cost.time), in_seconds(gaps + bytes_time), 1e-12);
  EXPECT_NEAR(in_seconds(cost.gap), in_seconds(gaps), 1e-15);
}

// H200, cuDNN: 6.9 us + 3 x 128 MiB / (0.82 x 4.8 TB/s) backward.
TEST(MemoryBound, ANamedNormHasItsOwnLatencyAndRate) {
  const auto gpu = testing::gpu_profile("h200-sxm");
  auto stack = testing::neutral_stack();
  const model::MemoryOp norm{.part = model::Part::mlp_norm,
                             .role = model::Role::backward,
                             .read = mebibytes(256.0),
                             .written = mebibytes(128.0)};
  stack.norm_kernel = hardware::NormImplementation::cudnn;
  const double cudnn = in_seconds(memory_bound_cost(norm, gpu, stack).time);
  EXPECT_NEAR(cudnn, 6.9e-6 + in_bytes(mebibytes(384.0)) / (0.82 * 4.8e12), 1e-9);
  stack.norm_kernel = hardware::NormImplementation::pytorch;
  EXPECT_GT(in_seconds(memory_bound_cost(norm, gpu, stack).time), 2.0 * cudnn);
}

// 1,024 rows, forward. torch.compile: 8,192 lanes hold rows of 5,120 (0.6 idle for a busy one) and
// a row of 5,120 is read in more than two chunks, of 8,192 no idle lane. PyTorch: 3.88 waves of 16
// rows on 132 SMs, 4 whole, and (8192 / 4096)^0.25.
TEST(MemoryBound, TheWidthOfTheRowsMovesANamedNorm) {
  using hardware::NormImplementation;
  const auto gpu = testing::gpu_profile("h200-sxm");
  const auto time = [&gpu](NormImplementation implementation, double rows, std::int64_t width) {
    auto stack = testing::neutral_stack();
    stack.norm_kernel = implementation;
    const Bytes size = bytes(2.0 * rows * static_cast<double>(width));
    return in_seconds(
        memory_bound_cost(
            {.part = model::Part::norm, .read = size, .written = size, .width = width}, gpu, stack)
            .time);
  };
  const auto traffic = [&gpu](NormImplementation implementation, double rows, double width) {
    return 4.0 * rows * width / (4.8e12 * gpu.find_norm(implementation)->forward.value());
  };
  const auto latency = [&gpu](NormImplementation implementation) {
    return in_seconds(gpu.find_norm(implementation)->forward_latency.value());
  };
  constexpr auto kCompile = NormImplementation::torch_compile;
  EXPECT_NEAR(time(kCompile, 8192.0, 5120),
              3.0 * latency(kCompile) + traffic(kCompile, 8192.0, 5120.0) * 1.06, 1e-10);
  EXPECT_NEAR(time(kCompile, 8192.0, 8192),
              3.0 * latency(kCompile) + traffic(kCompile, 8192.0, 8192.0), 1e-10);
  constexpr auto kPyTorch = NormImplementation::pytorch;
  EXPECT_NEAR(time(kPyTorch, 8192.0, 8192),
              latency(kPyTorch) + traffic(kPyTorch, 8192.0, 8192.0) * std::pow(2.0, 0.25) * 4.0 *
                                      16.0 * 132.0 / 8192.0,
              1e-10);
  // Heads of 128: each of 63 waves waits for its reads.
  EXPECT_NEAR(time(kPyTorch, 131072.0, 128), latency(kPyTorch) + 63.0 * 0.95e-6, 1e-10);
  EXPECT_NEAR(time(kPyTorch, 64.0, 128), 8.5e-6, 1e-12);  // the host's time for an eager call
  constexpr auto kCudnn = NormImplementation::cudnn;
  EXPECT_NEAR(time(kCudnn, 131072.0, 128),
              latency(kCudnn) + 131072.0 * 24e-12 + traffic(kCudnn, 131072.0, 128.0), 1e-10);
}

TEST(MemoryBound, OptimizerMovesItsTrafficPerParameter) {
  const auto gpu = testing::gpu_profile("a100-sxm-80gb");
  const auto stack = testing::neutral_stack();
  const double billion = kGiga;
  const Seconds moved = bytes(30.0 * billion) / memory_rate(gpu, stack);
  EXPECT_NEAR(in_seconds(optimizer_cost(billion, gpu, stack).time),
              in_seconds(moved + gpu.launch_latency.value()), 1e-12);
}

TEST(Transfer, MessagesTakeTheFastestWireBetweenTheirRanks) {
  const auto gpu = testing::gpu_profile("h100-sxm-80gb");
  const auto cluster = testing::cluster({.nodes = 4});
  const Bytes size = gibibytes(1.0);
  const auto rate = [&](const layout::HopPlacement& hop) {
    return in_gigabytes_per_second(transfer_time(size, hop, gpu, cluster).bandwidth);
  };
  EXPECT_NEAR(rate({.same_domain = true, .same_node = true}), 0.75 * 450.0, 1e-9);
  const layout::HopPlacement away{
      .same_domain = false, .same_node = false, .sharing_node = 8, .tier = 0};
  EXPECT_NEAR(rate(away), 0.86 * 50.0, 1e-9);  // published: 42-43 GB/s between p5 hosts
}

// Launch times of a stack are those of a Xeon; a Grace needs 1.4 times as long.
TEST(CostModel, LaunchesAsSlowlyAsTheHostOfTheGpu) {
  hardware::SoftwareProfile stack = testing::neutral_stack();
  stack.host_launch_time = {microseconds(10.0), {SourceKind::assumed, "test"}};
  const auto launch = [&stack](const char* gpu) {
    const CostModel costs(testing::gpu_profile(gpu), stack, testing::cluster({}));
    return in_microseconds(costs.software().host_launch_time.value());
  };
  EXPECT_DOUBLE_EQ(launch("h100-sxm-80gb"), 10.0);
  EXPECT_DOUBLE_EQ(launch("gb200"), 14.0);
}

TEST(CostModel, DispatchesEveryKindOfOperation) {
  const CostModel costs(testing::gpu_profile("h100-sxm-80gb"), testing::neutral_stack(),
                        testing::cluster({}));
  Placements places;
  places.tensor = testing::group(8, 1);
  const model::GemmOp product = gemm(4096, 4096, 4096);
  EXPECT_EQ(costs.operation(product, places).time, costs.gemm(product).time);
  model::CollectiveOp reduce;
  reduce.kind = model::CollectiveKind::all_reduce;
  reduce.axis = model::CommAxis::tensor;
  reduce.bytes_per_rank_in = reduce.bytes_total = mebibytes(128.0);
  EXPECT_GT(costs.operation(reduce, places).time, Seconds());
  reduce.axis = model::CommAxis::context;  // a group of one
  EXPECT_EQ(costs.operation(reduce, places).time, Seconds());
}

}  // namespace
}  // namespace orrery::cost
