#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "sim/base/random.hpp"
#include "sim/step/kernels/kernel_case.hpp"

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

}  // namespace
}  // namespace orrery::kernels
