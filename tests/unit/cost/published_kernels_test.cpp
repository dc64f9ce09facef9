// Compares predicted kernel times with published measurements: GEMM, grouped GEMM, fused attention
// and norms, on the shipped GPU profiles and a stack that changes nothing.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/memory_bound.hpp"
#include "tests/unit/cost/cost_fixture.hpp"
#include "tests/unit/cost/published_rows.hpp"

namespace orrery::cost {
namespace {

constexpr const char* kFile = "kernel_measurements.yaml";

bool print_rows() { return std::getenv("ORRERY_PRINT_ROWS") != nullptr; }

std::optional<std::string> profile_of(const testing::Row& row) {
  if (row.contains("gpu", "GB200")) {
    return "gb200";
  }
  if (row.contains("gpu", "B300")) {
    return "b300-sxm";
  }
  if (row.contains("gpu", "B200")) {
    return "b200-sxm";
  }
  if (row.contains("gpu", "GH200")) {
    return "gh200";
  }
  if (row.contains("gpu", "NVL")) {
    return "h200-nvl";
  }
  if (row.contains("gpu", "H200")) {
    return "h200-sxm";
  }
  if (row.contains("gpu", "H100")) {
    return "h100-sxm-80gb";
  }
  if (row.contains("gpu", "H800")) {
    return "h800-sxm";
  }
  if (row.contains("gpu", "A100 PCIe")) {
    return "a100-pcie-80gb";
  }
  return row.contains("gpu", "NVIDIA A100") ? std::optional<std::string>("a100-sxm-80gb")
                                            : std::nullopt;
}

std::optional<model::Dtype> dtype_of(const testing::Row& row) {
  const std::string dtype = row.get("dtype");
  if (dtype == "bf16" || dtype == "bfloat16" || dtype == "fp16_or_bf16") {
    return model::Dtype::bf16;
  }
  if (dtype == "fp16") {
    return model::Dtype::fp16;
  }
  return dtype.rfind("fp8", 0) == 0 ? std::optional(model::Dtype::fp8) : std::nullopt;
}

std::int64_t integer(const std::string& text) { return std::stoll(text); }

model::Role role_of(const testing::Row& row) {
  if (row.get("role") == "wgrad") {
    return model::Role::wgrad;
  }
  return row.get("role") == "dgrad" ? model::Role::dgrad : model::Role::fprop;
}

// A dense or grouped product; n and k of a grouped one are outputs and inputs of the layer.
std::optional<model::GemmOp> gemm_of(const testing::Row& row, bool grouped) {
  const auto dtype = dtype_of(row);
  const auto shape = row.list.find(grouped ? "nk" : "mnk");
  if (!dtype || shape == row.list.end() || row.contains("regime", "quantization")) {
    return std::nullopt;
  }
  model::GemmOp op;
  op.dtype = *dtype;
  op.role = role_of(row);
  op.accumulates = op.role == model::Role::wgrad;
  op.grouped = grouped;
  const auto& sizes = shape->second;
  if (!grouped) {
    op.m = integer(sizes[0]);
    op.n = integer(sizes[1]);
    op.k = integer(sizes[2]);
    return op;
  }
  const std::int64_t rows = integer(row.get("m_per_group"));
  const std::int64_t outputs = integer(sizes[0]);
  const std::int64_t inputs = integer(sizes[1]);
  op.batch = integer(row.get("groups"));
  op.accumulator = row.get("out") == "bf16" ? model::Dtype::bf16 : model::Dtype::fp32;
  op.m = op.accumulates ? outputs : rows;
  op.n = op.role == model::Role::fprop ? outputs : inputs;
  op.k = op.accumulates ? rows : op.role == model::Role::dgrad ? outputs : inputs;
  return op;
}

void add(testing::ErrorTable& table, const std::string& group, const std::string& what,
         double predicted, double measured) {
  table.add(group, predicted, measured);
  if (print_rows()) {
    std::cout << group << ' ' << what << " measured " << measured << " predicted " << predicted
              << ' ' << 100.0 * (predicted / measured - 1.0) << " %\n";
  }
}

// `efficiency` is the stack's one coefficient, the same for every shape.
testing::ErrorTable gemm_errors(const std::string& section, bool grouped,
                                const std::string& only_gpu = "", double efficiency = 1.0) {
  hardware::SoftwareProfile stack = testing::neutral_stack();
  stack.gemm_efficiency = {efficiency, stack.gemm_efficiency.source()};
  testing::ErrorTable table;
  for (const testing::Row& row : testing::published_rows(kFile, section)) {
    const auto profile = profile_of(row);
    const auto op = gemm_of(row, grouped);
    stack.grouped_call_time.reset();
    stack.block_products = row.get("source").find("deepgemm") == std::string::npos
                               ? hardware::BlockProducts::library
                               : hardware::BlockProducts::deepgemm;
    if (row.get("source") == "simumax") {  // a loop of cuBLAS calls
      stack.grouped_call_time =
          Coefficient<Seconds>(microseconds(9.1), {SourceKind::published, "SimuMax"});
    }
    if (!profile || !op || row.get("gpu").find(only_gpu) == std::string::npos) {
      continue;
    }
    const hardware::GpuProfile gpu = testing::gpu_profile(*profile);
    const double measured = *row.number("tflops");
    const double predicted =
        in_teraflop(model::flop_count(*op)) / in_seconds(gemm_cost(*op, gpu, stack).time);
    const std::string shape = std::to_string(op->m) + " x " + std::to_string(op->n) + " x " +
                              std::to_string(op->k) + " x " + std::to_string(op->batch);
    add(table,
        row.get("gpu") + ' ' + row.get("dtype") + ' ' + row.get("regime") + row.get("layout"),
        row.get("role") + ' ' + shape, predicted, measured);
  }
  return table;
}

TEST(PublishedKernels, DenseGemmsOnTheSustainedRate) {
  const testing::ErrorTable table = gemm_errors("dense_gemm", false);
  std::cout << table.text();
  EXPECT_GE(table.overall().n, 100U);
  EXPECT_LE(table.overall().mape, 0.16);
  // Bursts of a second outrun the power-limited rate that the profiles state, so the bias is down.
  EXPECT_LT(table.of("NVIDIA H100 SXM bf16 burst_best_shape").bias, 0.0);
  EXPECT_LE(table.of("NVIDIA H800 SXM fp8_e4m3_block burst").mape, 0.13);
}

TEST(PublishedKernels, OneEfficiencyPerStackFitsTheShapesOfItsGemms) {
  const testing::ErrorTable a100 = gemm_errors("dense_gemm", false, "A100 PCIe");
  const testing::ErrorTable b200 = gemm_errors("dense_gemm", false, "NVIDIA B200", 0.775);
  const auto a100_rows = a100.of("NVIDIA A100 PCIe bf16 framework_back_to_back");
  const auto b200_rows = b200.of("NVIDIA B200 bf16 framework_back_to_back");
  std::cout << a100.text() << b200.text();
  EXPECT_EQ(a100_rows.n, 37U);
  EXPECT_LE(a100_rows.mape, 0.035);
  EXPECT_LE(a100_rows.median, 0.025);
  EXPECT_EQ(b200_rows.n, 38U);
  EXPECT_LE(b200_rows.mape, 0.09);
  EXPECT_LE(b200_rows.median, 0.06);
}

TEST(PublishedKernels, GroupedGemms) {
  const testing::ErrorTable a100 = gemm_errors("grouped_gemm", true, "A100 PCIe");
  const testing::ErrorTable b200 = gemm_errors("grouped_gemm", true, "NVIDIA B200", 0.775);
  std::cout << a100.text() << b200.text();
  EXPECT_EQ(a100.overall().n, 7U);
  EXPECT_LE(a100.overall().mape, 0.05);
  EXPECT_EQ(b200.overall().n, 80U);
  EXPECT_LE(b200.overall().mape, 0.09);
  EXPECT_LE(std::abs(b200.overall().bias), 0.05);
}

TEST(PublishedKernels, FusedAttention) {
  const hardware::SoftwareProfile stack = testing::neutral_stack();
  testing::ErrorTable table;
  for (const testing::Row& row : testing::published_rows(kFile, "attention")) {
    const auto profile = profile_of(row);
    const auto dtype = dtype_of(row);
    const bool current = row.contains("impl", "cuDNN 9") || row.get("impl") == "FlashAttention-3";
    if (!profile || !dtype || *dtype == model::Dtype::fp8 || !current || !row.number("seq") ||
        row.get("causal").empty() || row.number("window").value_or(0.0) > 0.0) {
      continue;
    }
    const hardware::GpuProfile gpu = testing::gpu_profile(*profile);
    model::AttentionOp op;
    op.query_length = op.key_length = integer(row.get("seq"));
    op.sequences = row.number("batch") ? integer(row.get("batch")) : 16384 / op.query_length;
    op.head_dim_qk = integer(row.get("d_qk"));
    op.head_dim_v = integer(row.get("d_v"));
    op.heads = row.number("q_heads") ? integer(row.get("q_heads")) : 2048 / op.head_dim_qk;
    op.query_groups = row.number("kv_heads") ? integer(row.get("kv_heads")) : op.heads;
    op.causal = row.get("causal") == "true";
    op.backward = row.get("pass") == "bwd";
    op.deterministic = row.get("deterministic") == "true";
    op.dtype = *dtype;
    const double predicted =
        in_teraflop(model::flop_count(op)) / in_seconds(attention_cost(op, gpu, stack).time);
    add(table,
        row.get("gpu") + ' ' + row.get("impl") + ' ' + row.get("pass") +
            (row.get("d_qk") == "128" ? "" : " other d"),
        row.get("seq") + (op.causal ? " causal" : " full"), predicted, *row.number("tflops"));
  }
  std::cout << table.text();
  EXPECT_EQ(table.overall().n, 72U);
  EXPECT_LE(table.overall().mape, 0.065);
  EXPECT_LE(std::abs(table.overall().bias), 0.03);
}

TEST(PublishedKernels, NormsMoveTheirBytes) {
  const hardware::SoftwareProfile stack = testing::neutral_stack();
  testing::ErrorTable table;
  for (const testing::Row& row : testing::published_rows(kFile, "memory_bound")) {
    const auto profile = profile_of(row);
    const auto rate = row.number("fwd_gbps");
    if (!profile || !rate || row.get("impl") != "cudnn") {
      continue;
    }
    const hardware::GpuProfile gpu = testing::gpu_profile(*profile);
    const Bytes size = bytes(2.0 * *row.number("rows") * *row.number("cols"));
    const model::MemoryOp op{
        .part = model::Part::norm, .read = size, .written = size, .kernels = 1};
    const double predicted =
        in_gigabytes_per_second((size + size) / memory_bound_cost(op, gpu, stack).time);
    add(table, row.get("gpu") + " norm", row.get("rows"), predicted, *rate);
  }
  std::cout << table.text();
  EXPECT_EQ(table.overall().n, 22U);
  EXPECT_LE(table.overall().mape, 0.14);
}

// Each implementation with its own laws, both directions.
TEST(PublishedKernels, NamedNorms) {
  using hardware::NormImplementation;
  testing::ErrorTable table;
  for (const testing::Row& row : testing::published_rows(kFile, "memory_bound")) {
    const auto profile = profile_of(row);
    if (!profile || row.get("op") != "rms_norm") {
      continue;
    }
    const std::string impl = row.get("impl");
    const hardware::GpuProfile gpu = testing::gpu_profile(*profile);
    hardware::SoftwareProfile stack = testing::neutral_stack();
    stack.norm_kernel = impl == "cudnn"     ? NormImplementation::cudnn
                        : impl == "pytorch" ? NormImplementation::pytorch
                                            : NormImplementation::torch_compile;
    const Bytes size = bytes(2.0 * *row.number("rows") * *row.number("cols"));
    for (const auto& [key, reads] : {std::pair("fwd_gbps", 1.0), std::pair("bwd_gbps", 2.0)}) {
      const model::MemoryOp op{.part = model::Part::norm,
                               .role = reads > 1.0 ? model::Role::backward : model::Role::forward,
                               .read = size * reads,
                               .written = size,
                               .width = integer(row.get("cols"))};
      if (const auto rate = row.number(key)) {
        const Bytes moved = op.read + op.written;
        const double predicted =
            in_gigabytes_per_second(moved / memory_bound_cost(op, gpu, stack).time);
        add(table, row.get("gpu") + ' ' + impl + ' ' + key, row.get("rows"), predicted, *rate);
      }
    }
  }
  std::cout << table.text();
  EXPECT_EQ(table.overall().n, 120U);
  EXPECT_LE(table.overall().mape, 0.055);
  EXPECT_LE(std::abs(table.overall().bias), 0.02);
}

}  // namespace
}  // namespace orrery::cost
