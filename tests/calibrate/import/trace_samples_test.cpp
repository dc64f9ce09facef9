#include <gtest/gtest.h>

#include "calibrate/import/import_report.hpp"
#include "tests/cli/cli_fixture.hpp"
#include "tests/support.hpp"
#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::calibration_import::testing {
namespace {

using trace::testing::KinetoWriter;

const std::string kTypes = R"("Input type": ["c10::BFloat16", "c10::BFloat16"])";

// A product of [m, k] by [k, n], each operand turned in memory or not.
std::string product(int m, int n, int k, bool left, bool right) {
  const auto strides = [](int rows, int columns, bool turned) {
    return turned ? "[1, " + std::to_string(rows) + "]" : "[" + std::to_string(columns) + ", 1]";
  };
  return "\"Concrete Inputs\": [\"\", \"\"], \"Input Dims\": [[" + std::to_string(m) + ", " +
         std::to_string(k) + "], [" + std::to_string(k) + ", " + std::to_string(n) +
         "]], \"Input Strides\": [" + strides(m, k, left) + ", " + strides(k, n, right) + "], " +
         kTypes;
}

const std::string kFlash =
    R"("Concrete Inputs": ["", "", "", "0.", "True", "False", ""], "Input Dims": )"
    R"([[1, 32, 4096, 128], [1, 8, 4096, 128], [1, 8, 4096, 128], [], [], [], []], "Input type": )"
    R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar", "Scalar", ""])";

// A layer as PyTorch traces it: operations lie in each other, kernels carry the External id of the
// innermost one and the correlation of their launch, on the thread of the operation.
KinetoWriter layer() {
  KinetoWriter writer(0, 8);
  writer.gpu()
      .operation("aten::linear", 0.0, 40.0, 1)
      .operation("aten::mm", 5.0, 30.0, 2, product(4096, 14336, 4096, false, true))
      .launch(101, 10.0)
      .kernel("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", 100.0, 700.0,
              {.correlation = 101, .external_id = 2})
      .operation("aten::mm", 50.0, 30.0, 3, product(4096, 14336, 4096, false, true))
      .launch(102, 55.0)
      .launch(103, 60.0)
      .kernel("nvjet_hsh_splitK", 800.0, 690.0, {.correlation = 102, .external_id = 3})
      .kernel("splitKreduce_kernel", 1490.0, 20.0, {.correlation = 103, .external_id = 3})
      .operation("aten::_scaled_dot_product_flash_attention", 90.0, 40.0, 4, kFlash)
      .operation("aten::_flash_attention_forward", 95.0, 30.0, 5)
      .launch(104, 100.0)
      .kernel("void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", 1600.0, 300.0,
              {.correlation = 104, .external_id = 5})
      .operation("aten::mm", 140.0, 10.0, 6, product(4096, 4096, 14336, false, false))
      .launch(105, 142.0)
      .kernel("nvjet_dgrad", 1900.0, 710.0, {.correlation = 105, .external_id = 6})
      .operation("aten::mm", 160.0, 10.0, 7, product(14336, 4096, 4096, true, false))
      .launch(106, 162.0)
      .kernel("nvjet_wgrad", 2700.0, 720.0, {.correlation = 106, .external_id = 7});
  return writer;
}

TraceSamples read(const KinetoWriter& writer) {
  const TempFolder folder;
  return read_trace_samples(folder.write("rank0.json", writer.text()), "2026-11-20 12:00:00");
}

const calibrate::Sample* find(const TraceSamples& found, const std::string& text) {
  for (const calibrate::Sample& sample : found.samples) {
    if (sample.kernel == *kernels::parse_case(text).kernel) {
      return &sample;
    }
  }
  return nullptr;
}

TEST(TraceSamples, KernelsOfACallBecomeOneTimeOfItsCase) {
  const TraceSamples found = read(layer());
  ASSERT_EQ(found.problem, "");
  EXPECT_EQ(found.machine.gpu, "NVIDIA H200");
  EXPECT_EQ(found.machine.multiprocessors, 132);
  EXPECT_FALSE(found.machine.gpu_uuid);
  ASSERT_EQ(found.samples.size(), 4U);
  EXPECT_EQ(found.calls, 5);
  const auto* forward = find(found, "gemm fprop bf16 m=4096 n=14336 k=4096");
  ASSERT_NE(forward, nullptr);
  ASSERT_EQ(forward->times.size(), 2U);
  EXPECT_NEAR(forward->times[0], 700.0, 1e-9);
  EXPECT_NEAR(forward->times[1], 710.0, 1e-9);  // split: 690 + 20
  EXPECT_EQ(forward->implementation, "cublaslt");
  EXPECT_EQ(forward->block, "trace");
  EXPECT_FALSE(forward->state.sm_clock);
  ASSERT_NE(find(found, "gemm dgrad bf16 m=4096 n=4096 k=14336"), nullptr);
  ASSERT_NE(find(found, "gemm wgrad bf16 m=14336 n=4096 k=4096"), nullptr);
  const auto* attention =
      find(found,
           "attention forward bf16 sequences=1 heads=32 groups=8 queries=4096 keys=4096 "
           "dim_qk=128 dim_v=128 causal=1");
  ASSERT_NE(attention, nullptr);
  ASSERT_EQ(attention->times.size(), 1U);
  EXPECT_NEAR(attention->times[0], 300.0, 1e-9);
  EXPECT_EQ(attention->implementation, "flash");
  EXPECT_TRUE(found.left_out.empty());
}

TEST(TraceSamples, WithoutALaunchTheExternalIdJoins) {
  KinetoWriter writer;
  writer.gpu()
      .operation("aten::mm", 5.0, 30.0, 2, product(512, 1024, 256, false, true))
      .kernel("nvjet_hsh", 100.0, 7.0, {.external_id = 2});
  const TraceSamples found = read(writer);
  ASSERT_EQ(found.samples.size(), 1U);
  ASSERT_EQ(found.samples[0].times.size(), 1U);
  EXPECT_NEAR(found.samples[0].times[0], 7.0, 1e-9);
}

// No shape is guessed: each reason stands with the time that it costs.
TEST(TraceSamples, WhatTheTraceDoesNotSayIsLeftOutWithTheReason) {
  KinetoWriter writer;
  writer.gpu()
      .operation("aten::mm", 0.0, 5.0, 1)
      .launch(1, 2.0)
      .kernel("nvjet_a", 100.0, 10.0, {.correlation = 1})
      .operation("aten::mm", 10.0, 5.0, 2,
                 R"("Input Dims": [[8, 4], [4, 16]], "Input Strides": [], )" + kTypes)
      .launch(2, 12.0)
      .kernel("nvjet_b", 110.0, 20.0, {.correlation = 2})
      .kernel("nvjet_c", 130.0, 30.0, {.correlation = 77})
      .operation("aten::add_", 20.0, 5.0, 3)
      .launch(4, 22.0)
      .kernel("vectorized_elementwise_kernel", 160.0, 40.0, {.correlation = 4})
      .kernel("ncclDevKernel_AllReduce", 200.0, 50.0);
  const TraceSamples found = read(writer);
  EXPECT_TRUE(found.samples.empty());
  const std::map<std::string, Seconds> expected = {
      {"aten::mm: the sizes of its two matrices are not recorded (record_shapes=True)",
       microseconds(10.0)},
      {"aten::mm: strides are not recorded, so that a product and its gradients look the same",
       microseconds(20.0)},
      {"matrix multiplication whose launch or External id is not in the trace", microseconds(30.0)},
      {"memory-bound kernels outside of the calls that have a case", microseconds(40.0)},
      {"communication and copies", microseconds(50.0)}};
  ASSERT_EQ(found.left_out.size(), expected.size());
  for (const auto& [reason, time] : expected) {
    const auto at = found.left_out.find(reason);
    ASSERT_NE(at, found.left_out.end()) << reason;
    EXPECT_NEAR(at->second / time, 1.0, 1e-9) << reason;
  }
}

TEST(TraceSamples, ATraceThatDoesNotNameItsGpuIsRefused) {
  EXPECT_EQ(read(KinetoWriter()).problem,
            "does not name its GPU (deviceProperties): a profile could not be used");
}

std::string refusal(std::string_view name, const trace::Operands& operands) {
  const TracedCall call = call_of(name, operands);
  EXPECT_FALSE(call.kernel);
  return call.refusal;
}

TEST(TraceCalls, RefuseWhatNoCaseStandsFor) {
  trace::Operands operands{.sizes = {{8, 4}, {4, 16}},
                           .strides = {{1, 8}, {1, 4}},
                           .types = {"c10::BFloat16", "c10::BFloat16"},
                           .values = {}};
  EXPECT_EQ(refusal("aten::mm", operands),
            "both of its matrices are turned, as no pass of training has them");
  operands.types = {"double", "double"};
  EXPECT_EQ(refusal("aten::mm", operands), "its element type is not one of 16 or 8 bits");
  operands.types = {"c10::Float8_e4m3fn", "c10::Float8_e4m3fn"};
  operands.sizes = {{8, 4}, {4, 16}, {8, 1}, {1, 16}};
  EXPECT_EQ(refusal("aten::_scaled_mm", operands), "its scales are not one per tensor");
  operands.sizes = {{8, 4}, {4, 16}, {}, {1}};
  operands.strides = {{4, 1}, {1, 4}};
  EXPECT_EQ(call_of("aten::_scaled_mm", operands).kernel,
            kernels::parse_case("gemm fprop fp8_tensor m=8 n=16 k=4").kernel);
  const trace::Operands unknown{.sizes = {{1, 8, 64, 128}, {1, 8, 64, 128}, {1, 8, 64, 128}},
                                .strides = {},
                                .types = {"c10::Half"},
                                .values = {}};
  EXPECT_EQ(refusal("aten::_scaled_dot_product_cudnn_attention", unknown),
            "whether it is causal is not recorded (Concrete Inputs)");
}

class SamplesCli : public cli::testing::CliTest {};

TEST_F(SamplesCli, WritesAJournalThatACalibrationReads) {
  write("rank0.json", layer().text());
  const auto done = run("import rank0.json --as-samples -o mine.samples.jsonl");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("5 calls of 4 cases on NVIDIA H200: 100.0 % of the time of kernels"),
            std::string::npos)
      << done.out;
  const auto journal = calibrate::read_measurements(path("mine.samples.jsonl"));
  EXPECT_EQ(journal.samples.size(), 4U);
  EXPECT_EQ(journal.fingerprint.gpu, "NVIDIA H200");
  // Samples of two traces are not mixed.
  EXPECT_EQ(run("import rank0.json --as-samples -o mine.samples.jsonl").code, 6);
  EXPECT_EQ(run("import rank0.json --as-samples").code, 2);
  EXPECT_EQ(run("import rank0.json rank0.json --as-samples -o two.jsonl").code, 2);
}

TEST_F(SamplesCli, ATraceWithoutShapesIsRefusedWithItsReasons) {
  KinetoWriter writer;
  writer.gpu()
      .operation("aten::mm", 0.0, 5.0, 1)
      .launch(1, 2.0)
      .kernel("nvjet_a", 100.0, 10.0, {.correlation = 1});
  write("bare.json", writer.text());
  const auto done = run("import bare.json --as-samples -o none.jsonl");
  EXPECT_EQ(done.code, 3);
  EXPECT_NE(done.err.find("left out 100.0 %: aten::mm: the sizes of its two matrices are not "
                          "recorded (record_shapes=True)"),
            std::string::npos)
      << done.err;
}

}  // namespace
}  // namespace orrery::calibration_import::testing
