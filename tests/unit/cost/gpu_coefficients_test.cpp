// Every constant of the laws that is a row of a table decides a time, and a profile can state its
// own.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/collective.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/hierarchical_exchange.hpp"
#include "sim/step/cost/transfer.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/stack_coefficients.hpp"
#include "tests/unit/cost/cost_fixture.hpp"

namespace orrery::cost {
namespace {

using hardware::GpuCoefficients;
using hardware::GpuProfile;
using model::CollectiveKind;
using model::Dtype;

std::vector<Seconds> products(const GpuProfile& gpu) {
  model::GemmOp op;
  op.part = model::Part::mlp_up;
  op.m = op.n = 1100;
  op.k = 512;
  std::vector<Seconds> times;
  const auto add = [&](const model::GemmOp& one) {
    times.push_back(gemm_cost(one, gpu, testing::neutral_stack()).time);
  };
  add(op);
  op.k = 513;
  add(op);
  op.k = 8192;
  op.grouped = true;
  op.batch = 8;
  add(op);
  model::GemmOp blocks;
  blocks.part = model::Part::mlp_up;
  blocks.m = blocks.n = blocks.k = 8192;
  blocks.dtype = Dtype::fp8;
  blocks.scaling = model::Fp8Scaling::block;
  add(blocks);
  return times;
}

std::vector<Seconds> attention(const GpuProfile& gpu) {
  std::vector<Seconds> times;
  for (const auto kernel : {hardware::AttentionGeneration::fa2, *gpu.attention.generation}) {
    auto stack = testing::neutral_stack();
    stack.attention_kernel = kernel;
    for (unsigned i = 0; i < 8; ++i) {
      model::AttentionOp op;
      op.sequences = 8;
      op.heads = op.query_groups = 64;
      op.head_dim_qk = op.head_dim_v = (i & 1U) != 0 ? 64 : 128;
      op.query_length = op.key_length = 2048;
      op.causal = (i & 2U) != 0;
      op.backward = op.deterministic = (i & 4U) != 0;
      times.push_back(attention_cost(op, gpu, stack).time);
    }
  }
  return times;
}

std::vector<Seconds> communication(const GpuProfile& gpu) {
  std::vector<Seconds> times;
  const auto add = [&](CollectiveKind kind, Bytes size, std::int64_t ranks, std::int64_t nodes) {
    auto cluster = testing::cluster({.nodes = nodes, .gpus_per_node = ranks / nodes});
    cluster.network.cross_rail = hardware::CrossRail::pxn;
    times.push_back(
        collective_time(kind, size, size, Dtype::bf16, testing::group(ranks, nodes), gpu, cluster)
            .total());
  };
  for (const Bytes size : {kibibytes(64.0), mebibytes(64.0), gibibytes(4.0)}) {
    for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                      CollectiveKind::all_to_all, CollectiveKind::send_receive}) {
      add(kind, size, 8, 1);
      add(kind, size, kind == CollectiveKind::send_receive ? 2 : 16, 2);
    }
    add(CollectiveKind::all_reduce, size, 144, 2);
  }
  const auto cluster = testing::cluster({.nodes = 8});
  for (const bool inside : {true, false}) {
    layout::HopPlacement hop;
    hop.same_domain = hop.same_node = inside;
    times.push_back(transfer_time(mebibytes(8.0), hop, gpu, cluster).latency);
    times.push_back(transfer_time(mebibytes(8.0), hop, gpu, cluster).transfer);
  }
  times.push_back(
      hierarchical_exchange_time({.over_network = mebibytes(1.0), .over_links = mebibytes(1.0)},
                                 testing::group(64, 8), gpu, cluster)
          .total());
  return times;
}

// What the laws give on a GPU whose profile states as little as it may.
std::vector<Seconds> battery(const GpuCoefficients& coefficients) {
  GpuProfile gpu = testing::gpu_profile("h100-sxm-80gb");
  gpu.own_coefficients = std::make_shared<const GpuCoefficients>(coefficients);
  for (hardware::GemmRate& rate : gpu.gemm) {
    rate.block_ratio.reset();
  }
  const auto leave_out = [](hardware::AttentionRate& rate) {
    rate.full_ratio.reset();
    rate.backward_ratio.reset();
    rate.head_64.reset();
  };
  leave_out(gpu.attention);
  for (hardware::AttentionRate& rate : gpu.attention_kernels) {
    leave_out(rate);
  }
  std::vector<Seconds> times = products(gpu);
  for (const auto& more : {attention(gpu), communication(gpu)}) {
    times.insert(times.end(), more.begin(), more.end());
  }
  return times;
}

TEST(GpuCoefficients, EachDecidesATime) {
  const GpuCoefficients usual = hardware::usual_coefficients(hardware::GpuArch::hopper);
  const std::vector<Seconds> before = battery(usual);
  for (const hardware::GpuCoefficient& row : hardware::gpu_coefficients()) {
    GpuCoefficients changed = usual;
    row.set(changed, 0.9 * row.get(usual));
    EXPECT_NE(battery(changed), before) << row.key;
  }
}

TEST(GpuCoefficients, AreNamedOnceWithTheirSource) {
  std::set<std::string_view> keys;
  for (const hardware::GpuCoefficient& row : hardware::gpu_coefficients()) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
    EXPECT_FALSE(row.source.empty()) << row.key;
    EXPECT_FALSE(row.meaning.empty()) << row.key;
  }
  for (const hardware::StackCoefficient& row : hardware::stack_coefficients()) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
  }
}

TEST(GpuCoefficients, AreThoseOfTheArchitecture) {
  using hardware::GpuArch;
  EXPECT_EQ(hardware::usual_coefficients(GpuArch::blackwell).nvls_share, 0.535);
  EXPECT_EQ(hardware::usual_coefficients(GpuArch::hopper).nvls_share, 0.61);
  EXPECT_EQ(hardware::usual_coefficients(GpuArch::gaudi).direct_share, 0.97);
  EXPECT_EQ(hardware::usual_coefficients(GpuArch::hopper).direct_share, 0.75);
  EXPECT_EQ(hardware::usual_coefficients(GpuArch::cdna).ring_share, 1.0);
  EXPECT_EQ(hardware::usual_coefficients(GpuArch::volta).ring_share, 0.965);
}

}  // namespace
}  // namespace orrery::cost
