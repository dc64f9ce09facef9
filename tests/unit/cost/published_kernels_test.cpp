// Rates of kernels as the model has them beside published measurements: GEMM, grouped GEMM, fused
// attention and norms, on the shipped GPU profiles and a stack that changes nothing. The rows are
// those of `orrery validate`; here stands how large their errors may be.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "sim/validate/validate.hpp"
#include "tests/checkout.hpp"

namespace orrery::validate {
namespace {

struct Limits {
  std::string_view group;
  std::size_t n;
  double mape;
  double median;
  double bias;
};

// Rows of one GPU and operation in which the shapes differ most.
constexpr Limits kLimits[] = {
    {"NVIDIA A100 PCIe dense_gemm", 37, 0.035, 0.025, 0.02},
    {"NVIDIA B200 dense_gemm", 38, 0.09, 0.06, 0.02},
    {"NVIDIA B300 SXM6 AC dense_gemm", 33, 0.065, 0.04, 0.03},
    {"NVIDIA H200 NVL dense_gemm", 16, 0.025, 0.02, 0.01},
    {"NVIDIA H800 SXM dense_gemm", 15, 0.13, 0.1, 0.08},
    {"NVIDIA A100 PCIe grouped_gemm", 7, 0.05, 0.045, 0.05},
    {"NVIDIA B200 grouped_gemm", 80, 0.09, 0.06, 0.05},
    {"NVIDIA H200 attention cuDNN 9.19", 41, 0.035, 0.025, 0.02},
    {"NVIDIA GB200 attention cuDNN 9.22", 58, 0.055, 0.04, 0.02},
    {"NVIDIA H100 80GB SXM5 attention Triton", 14, 0.045, 0.025, 0.02},
    {"NVIDIA H100 80GB SXM5 attention cuDNN (2024)", 28, 0.045, 0.035, 0.02},
    {"NVIDIA H200 rms_norm cudnn", 22, 0.045, 0.04, 0.02},
    {"NVIDIA H200 rms_norm pytorch", 18, 0.055, 0.045, 0.03},
    {"NVIDIA H200 rms_norm torch_compile", 22, 0.055, 0.03, 0.02},
    {"NVIDIA GB200 rms_norm pytorch", 10, 0.045, 0.035, 0.02},
    {"NVIDIA GB200 rms_norm torch_compile", 26, 0.075, 0.05, 0.03},
    {"NVIDIA GB200 rms_norm cudnn", 22, 0.065, 0.05, 0.02},
};

TEST(PublishedKernels, ErrorsStayWithinWhatTheModelReaches) {
  Diagnostics diagnostics;
  const auto validation = validate_files(
      {std::string(kSourceDir) + "/scenarios/published/kernel_measurements.yaml"}, {}, diagnostics);
  ASSERT_TRUE(validation) << to_string(diagnostics);
  for (const Limits& limits : kLimits) {
    SCOPED_TRACE(limits.group);
    const auto group =
        std::find_if(validation->groups.begin(), validation->groups.end(),
                     [&](const GroupStatistics& one) { return one.name == limits.group; });
    ASSERT_NE(group, validation->groups.end());
    EXPECT_EQ(group->all.n, limits.n);
    EXPECT_EQ(group->all.skipped, 0U);
    EXPECT_LE(group->all.mape, limits.mape);
    EXPECT_LE(group->all.median, limits.median);
    EXPECT_LE(std::abs(group->all.bias), limits.bias);
  }
  EXPECT_LE(validation->overall.all.mape, 0.06);
  EXPECT_LE(validation->overall.mape_groups, 0.075);
}

}  // namespace
}  // namespace orrery::validate
