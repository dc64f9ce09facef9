#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/kernels/kernel_case.hpp"
#include "sim/step/model/op.hpp"
#include "sim/step/model/precision.hpp"

namespace orrery::kernels {
namespace {

std::string problem(const std::string& text) {
  const ParsedCase result = parse_case(text);
  EXPECT_NE(result.kernel.has_value(), !result.problem.empty());
  return result.problem;
}

template <typename T>
T any_of(const std::vector<T>& values, RandomStream& random) {
  return values[random.uniform_int(values.size())];
}

// A case of the row that is sound: dependent axes are made to fit.
KernelCase random_case(const OperationRow& row, RandomStream& random) {
  KernelCase kernel{.operation = row.operation,
                    .role = any_of(row.roles, random),
                    .precision = any_of(row.precisions, random),
                    .extents = {}};
  for (std::size_t i = 0; i < row.axes.size(); ++i) {
    const bool is_switch = row.axes[i] == "causal" || row.axes[i] == "in_place";
    kernel.extents[i] =
        static_cast<std::int64_t>(is_switch ? random.uniform_int(2) : 1 + random.uniform_int(500));
  }
  if (row.operation == Operation::attention) {
    kernel.extents[1] = kernel.extents[2] * 4;
    kernel.extents[4] = kernel.extents[7] == 1 ? kernel.extents[3] : kernel.extents[4];
  } else if (row.operation == Operation::grouped_gemm) {
    const bool weight = kernel.role == Role::wgrad || kernel.role == Role::wgrad_accumulate;
    kernel.extents[4] = kernel.extents[weight ? 3 : 1];
  } else if (row.axes.front() == "ranks") {
    kernel.extents[0] = kernel.extents[1] * 8;
  }
  return kernel;
}

TEST(CaseText, ReadsBackWhatItWrites) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream random(seed, 0, Purpose::property_test);
    for (const OperationRow& row : operation_table()) {
      const KernelCase kernel = random_case(row, random);
      ASSERT_EQ(problem_of(kernel), std::nullopt) << to_text(kernel);
      const ParsedCase read = parse_case(to_text(kernel));
      ASSERT_TRUE(read.kernel.has_value()) << to_text(kernel) << ": " << read.problem;
      EXPECT_EQ(*read.kernel, kernel) << to_text(kernel);
    }
  }
}

TEST(CaseText, LeavesOutWhatHasOnlyOneValue) {
  const KernelCase copy{.operation = Operation::copy, .extents = {1048576}};
  EXPECT_EQ(to_text(copy), "copy bytes=1048576");
  const KernelCase gemm{.operation = Operation::gemm,
                        .role = Role::fprop,
                        .precision = Precision::fp8_block,
                        .extents = {8192, 28672, 4096}};
  EXPECT_EQ(to_text(gemm), "gemm fprop fp8_block m=8192 n=28672 k=4096");
}

TEST(CaseText, TakesWordsInAnyOrderAndBlanksOfAnyKind) {
  const ParsedCase a = parse_case("  gemm k=3\tm=1  bf16 n=2 fprop\n");
  const ParsedCase b = parse_case("gemm fprop bf16 m=1 n=2 k=3");
  ASSERT_TRUE(a.kernel && b.kernel) << a.problem << b.problem;
  EXPECT_EQ(*a.kernel, *b.kernel);
}

TEST(CaseText, NamesWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "a case starts with its operation, such as gemm"},
      {"gemn fprop bf16 m=1 n=1 k=1", "no operation is called \"gemn\"; the nearest is gemm"},
      {"zzzzzzzz", "no operation is called \"zzzzzzzz\""},
      {"gemm fprop bf16 m=1 n=1", "gemm wants k="},
      {"gemm fprop bf16 m=1 n=1 k=1 k=2", "k stands twice"},
      {"gemm fprop bf16 m=1 n=1 z=1 k=1", "gemm has no axis \"z\""},
      {"rms_norm forward bf16 row=1 columns=1",
       "rms_norm has no axis \"row\"; the nearest is rows"},
      {"gemm fprop bf16 m=0 n=1 k=1", "m=0 is no positive whole number"},
      {"gemm fprop bf16 m=-4 n=1 k=1", "m=-4 is no positive whole number"},
      {"gemm fprop bf16 m=4.5 n=1 k=1", "m=4.5 is no positive whole number"},
      {"gemm fprop bf16 m= n=1 k=1", "m= is no positive whole number"},
      {"gemm fprop bf16 m=99999999999999999999 n=1 k=1",
       "m=99999999999999999999 is beyond 64 bits"},
      {"gemm forward bf16 m=1 n=1 k=1",
       "gemm has no role forward, only fprop, dgrad, wgrad, wgrad_accumulate"},
      {"gemm bf16 m=1 n=1 k=1", "gemm wants a role: fprop, dgrad, wgrad, wgrad_accumulate"},
      {"copy forward bytes=1", "copy has no roles, so not forward"},
      {"rms_norm forward m=1", "rms_norm has no axis \"m\""},
      {"rms_norm forward rows=1 columns=1", "rms_norm wants a precision: bf16, fp16"},
      {"rms_norm forward fp8_row rows=1 columns=1",
       "rms_norm has no precision fp8_row, only bf16, fp16"},
      {"gemm fprop dgrad bf16 m=1 n=1 k=1", "two roles: fprop and dgrad"},
      {"gemm fprop bf16 fp16 m=1 n=1 k=1", "two precisions: bf16 and fp16"},
      {"gemm fpropp bf16 m=1 n=1 k=1",
       "\"fpropp\" is neither a role nor a precision nor an axis of gemm; the nearest is fprop"},
      {"gemm fprop bf16 m=9000000000 n=9000000000 k=9000000000",
       "gemm is more work than 2^62 bytes or FLOP"},
      {"all_reduce bf16 ranks=8 nodes=3 bytes=8 in_place=0", "ranks=8 is no multiple of nodes=3"},
      {"all_reduce bf16 ranks=8 nodes=2 bytes=8 in_place=2", "in_place=2: in_place is 0 or 1"},
      {"grouped_gemm fprop bf16 groups=2 m=8 n=1 k=1 largest=7",
       "largest=7 is below the mean, m=8"},
      {"grouped_gemm wgrad bf16 groups=2 m=1 n=1 k=8 largest=17",
       "largest=17 is more than all groups have together, groups=2 x k=8"},
      {"attention forward bf16 sequences=1 heads=6 groups=4 queries=8 keys=8 dim_qk=8 dim_v=8 "
       "causal=1",
       "heads=6 is no multiple of groups=4"},
      {"attention forward bf16 sequences=1 heads=4 groups=4 queries=8 keys=16 dim_qk=8 dim_v=8 "
       "causal=1",
       "causal=1 wants as many keys as queries, not queries=8 keys=16"},
  };
  for (const auto& [text, sentence] : cases) {
    EXPECT_EQ(problem(text), sentence) << text;
  }
}

TEST(ProblemOfCase, RefusesExtentsBeyondTheAxes) {
  KernelCase copy{.operation = Operation::copy, .extents = {4096, 1}};
  EXPECT_EQ(problem_of(copy), "copy has 1 axes, but extent 1 is 1");
  copy.extents[1] = 0;
  EXPECT_EQ(problem_of(copy), std::nullopt);
}

TEST(OperationTable, HasOneCompleteRowPerOperation) {
  std::set<std::string_view> names;
  for (const OperationRow& row : operation_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&row_of(row.operation), &row);
    EXPECT_FALSE(row.roles.empty());
    EXPECT_FALSE(row.precisions.empty());
    EXPECT_LE(row.axes.size(), kMaxAxes);
    EXPECT_NE(row.work, nullptr);
    for (const std::string_view text : {row.summary, row.flop, row.read, row.written}) {
      EXPECT_FALSE(text.empty()) << row.name;
    }
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Operation::send_receive) + 1);
  ASSERT_EQ(kOperations.size(), operation_table().size());
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    EXPECT_EQ(kOperations[i], operation_table()[i].operation);
  }
  EXPECT_EQ(kRoles.size(), static_cast<std::size_t>(Role::wgrad_accumulate));  // none has no word
  EXPECT_EQ(kPrecisions.size(), static_cast<std::size_t>(Precision::nvfp4) + 1);
}

// The formulas of every row against closed forms written out by hand.

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
