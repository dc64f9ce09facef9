// The formulas of every row against closed forms written out by hand.

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "sim/step/kernels/kernel_case.hpp"
#include "sim/step/model/op.hpp"
#include "sim/step/model/precision.hpp"

namespace orrery::kernels {
namespace {

KernelCase parsed(const std::string& text) {
  const ParsedCase result = parse_case(text);
  EXPECT_TRUE(result.kernel.has_value()) << text << ": " << result.problem;
  return result.kernel.value_or(KernelCase{});
}

struct Expected {
  std::string text;
  double flop;
  double read;
  double written;
};

class WorkOfRow : public ::testing::TestWithParam<Expected> {};

TEST_P(WorkOfRow, EqualsItsClosedForm) {
  const Work work = work_of(parsed(GetParam().text));
  EXPECT_EQ(in_flop(work.flop), GetParam().flop);
  EXPECT_EQ(in_bytes(work.read), GetParam().read);
  EXPECT_EQ(in_bytes(work.written), GetParam().written);
  EXPECT_EQ(in_bytes(work.moved()), GetParam().read + GetParam().written);
}

INSTANTIATE_TEST_SUITE_P(
    Products, WorkOfRow,
    ::testing::Values(
        // 2 m n k; (m k + n k) e; m n r with r = max(e, 2)
        Expected{"gemm fprop bf16 m=3 n=5 k=7", 210, (21 + 35) * 2, 15 * 2},
        Expected{"gemm dgrad fp8_tensor m=3 n=5 k=7", 210, 21 + 35, 15 * 2},
        Expected{"gemm fprop nvfp4 m=4 n=8 k=16", 1024, (64 + 128) * 0.5, 32 * 2},
        Expected{"gemm wgrad tf32 m=3 n=5 k=7", 210, (21 + 35) * 4, 15 * 4},
        // C is read and written in fp32
        Expected{"gemm wgrad_accumulate bf16 m=3 n=5 k=7", 210, 56 * 2 + 15 * 4, 15 * 4},
        Expected{"grouped_gemm fprop bf16 groups=4 m=3 n=5 k=7 largest=6", 4 * 210, 4 * 56 * 2,
                 4 * 15 * 2},
        Expected{"grouped_gemm wgrad_accumulate fp8_block groups=4 m=3 n=5 k=7 largest=7", 4 * 210,
                 4 * (56 + 60), 4 * 60},
        // 2 x sequences 2 x heads 8 x queries 16 x keys 32 x (64 + 48)
        Expected{"attention forward bf16 sequences=2 heads=8 groups=2 queries=16 keys=32 dim_qk=64 "
                 "dim_v=48 causal=0",
                 2.0 * 2 * 8 * 16 * 32 * 112, 2.0 * (2 * 8 * 16 * 64 + 2 * 2 * 32 * 112),
                 2.0 * 2 * 8 * 16 * 48 + 4 * 2 * 8 * 16},
        // half the pairs, 5 products for 2; reads Q, K, V, O, dO and a statistic per query
        Expected{"attention backward fp16 sequences=1 heads=4 groups=4 queries=16 keys=16 dim_qk=8 "
                 "dim_v=8 causal=1",
                 2.5 * 0.5 * 2 * 4 * 16 * 16 * 16, 2.0 * (5 * 4 * 16 * 8) + 4 * 4 * 16,
                 2.0 * (3 * 4 * 16 * 8)}));

INSTANTIATE_TEST_SUITE_P(
    Streams, WorkOfRow,
    ::testing::Values(
        Expected{"rms_norm forward bf16 rows=6 columns=8", 0, 96, 96},
        Expected{"rms_norm backward bf16 rows=6 columns=8", 0, 192, 96},
        Expected{"layer_norm forward fp16 rows=6 columns=8", 0, 96, 96},
        Expected{"layer_norm backward fp16 rows=6 columns=8", 0, 192, 96},
        Expected{"residual_add bf16 rows=6 columns=8", 0, 192, 96},
        Expected{"rotary forward bf16 tokens=6 heads=3 dim=8", 0, 288, 288},
        Expected{"rotary backward bf16 tokens=6 heads=3 dim=8", 0, 288, 288},
        Expected{"swiglu forward bf16 rows=6 columns=8", 0, 192, 96},
        Expected{"swiglu backward bf16 rows=6 columns=8", 0, 288, 192},
        // logits once and the ids of 8 bytes; loss and log-sum-exp, fp32, per row
        Expected{"cross_entropy forward bf16 rows=6 columns=100", 0, 1200 + 48, 48},
        Expected{"cross_entropy backward bf16 rows=6 columns=100", 0, 1200 + 48, 1200},
        Expected{"embedding forward bf16 rows=6 columns=8 vocabulary=100", 0, 96 + 48, 96},
        // gradient rows, and the fp32 sums read and written
        Expected{"embedding backward bf16 rows=6 columns=8 vocabulary=100", 0, 96 + 192 + 48, 192},
        Expected{"permute forward bf16 rows=6 columns=8 copies=4", 0, 96, 384},
        Expected{"permute backward bf16 rows=6 columns=8 copies=4", 0, 384, 96},
        Expected{"unpermute forward bf16 rows=6 columns=8 copies=4", 0, 384, 96},
        Expected{"unpermute backward bf16 rows=6 columns=8 copies=4", 0, 96 + 384, 384}));

INSTANTIATE_TEST_SUITE_P(
    CastsAndOptimizer, WorkOfRow,
    ::testing::Values(
        Expected{"quantize forward fp8_tensor rows=128 columns=256", 0, 65536, 32768},
        Expected{"quantize forward fp8_row rows=128 columns=256", 0, 65536, 32768},
        // an fp32 scale per 128, a byte per 32, half a byte and a byte per 16
        Expected{"quantize forward fp8_block rows=128 columns=256", 0, 65536, 32768 + 1024},
        Expected{"quantize forward mxfp8 rows=128 columns=256", 0, 65536, 32768 + 1024},
        Expected{"quantize forward nvfp4 rows=128 columns=256", 0, 131072, 16384 + 2048},
        Expected{"quantize_transpose backward fp8_tensor rows=128 columns=256", 0, 65536, 65536},
        Expected{"quantize_transpose forward fp8_row rows=128 columns=256", 0, 196608, 65536},
        Expected{"quantize_transpose forward nvfp4 rows=128 columns=256", 0, 131072, 36864},
        Expected{"gradient_norm bf16 elements=1000", 0, 2000, 0},
        Expected{"gradient_norm fp32 elements=1000", 0, 4000, 0},
        // master, two moments read and written, bf16 weights written: 30 and 28 bytes in all
        Expected{"adamw fp32 elements=1000", 0, 16000, 14000},
        Expected{"adamw bf16 elements=1000", 0, 14000, 14000}));

INSTANTIATE_TEST_SUITE_P(
    Transfers, WorkOfRow,
    ::testing::Values(
        Expected{"copy bytes=4096", 0, 4096, 4096},
        Expected{"host_to_device bytes=4096", 0, 0, 4096},
        Expected{"device_to_host bytes=4096", 0, 4096, 0},
        Expected{"all_reduce bf16 ranks=8 nodes=2 bytes=4096 in_place=1", 0, 4096, 4096},
        Expected{"all_gather bf16 ranks=8 nodes=2 bytes=4096 in_place=0", 0, 512, 4096},
        Expected{"reduce_scatter fp32 ranks=8 nodes=1 bytes=4096 in_place=0", 0, 4096, 512},
        Expected{"all_to_all bf16 ranks=8 nodes=1 bytes=4096 in_place=0", 0, 4096, 4096},
        Expected{"send_receive bf16 ranks=2 nodes=1 bytes=4096 in_place=0", 0, 4096, 4096}));

// The simulator and the measurement must count the same FLOP.
TEST(WorkOfCases, CountsTheFlopOfTheModel) {
  const model::GemmOp gemm{.part = model::Part::mlp_up, .m = 8192, .n = 28672, .k = 4096};
  EXPECT_EQ(work_of(parsed("gemm fprop bf16 m=8192 n=28672 k=4096")).flop, flop_count(gemm));
  for (const bool causal : {false, true}) {
    for (const bool backward : {false, true}) {
      const model::AttentionOp attention{.sequences = 2,
                                         .heads = 64,
                                         .query_groups = 8,
                                         .query_length = 4096,
                                         .key_length = 4096,
                                         .head_dim_qk = 192,
                                         .head_dim_v = 128,
                                         .causal = causal,
                                         .backward = backward};
      const std::string text = std::string("attention ") + (backward ? "backward" : "forward") +
                               " bf16 sequences=2 heads=64 groups=8 queries=4096 keys=4096 "
                               "dim_qk=192 dim_v=128 causal=" +
                               (causal ? "1" : "0");
      EXPECT_EQ(work_of(parsed(text)).flop, flop_count(attention));
    }
  }
}

// Casts with the transposed copy move what the model counts, but for a tensor whose scale is known.
TEST(WorkOfCases, CountsTheCastsOfTheModel) {
  const std::vector<std::pair<std::string, model::Fp8Scaling>> recipes = {
      {"fp8_tensor", model::Fp8Scaling::delayed},
      {"fp8_block", model::Fp8Scaling::block},
      {"mxfp8", model::Fp8Scaling::mx},
      {"nvfp4", model::Fp8Scaling::nvfp4}};
  for (const auto& [name, scaling] : recipes) {
    const auto narrow = name == "nvfp4" ? model::Dtype::fp4 : model::Dtype::fp8;
    const auto traffic = model::cast_traffic(model::Dtype::bf16, narrow, scaling);
    const Work work =
        work_of(parsed("quantize_transpose forward " + name + " rows=512 columns=256"));
    EXPECT_EQ(in_bytes(work.read), 512 * 256 * traffic.read) << name;
    EXPECT_EQ(in_bytes(work.written), 512 * 256 * traffic.written) << name;
  }
}

TEST(GroupRows, SpreadsTheRestEvenlyAndLosesNoToken) {
  EXPECT_EQ(group_rows(parsed("grouped_gemm fprop bf16 groups=4 m=10 n=8 k=8 largest=10")),
            (std::vector<std::int64_t>{10, 10, 10, 10}));
  // 40 - 17 = 23 over three groups
  EXPECT_EQ(group_rows(parsed("grouped_gemm dgrad bf16 groups=4 m=10 n=8 k=8 largest=17")),
            (std::vector<std::int64_t>{17, 8, 8, 7}));
  // tokens of a weight gradient are k
  EXPECT_EQ(group_rows(parsed("grouped_gemm wgrad bf16 groups=3 m=8 n=8 k=10 largest=30")),
            (std::vector<std::int64_t>{30, 0, 0}));
  EXPECT_EQ(group_rows(parsed("grouped_gemm fprop bf16 groups=1 m=10 n=8 k=8 largest=10")),
            (std::vector<std::int64_t>{10}));
}

}  // namespace
}  // namespace orrery::kernels
