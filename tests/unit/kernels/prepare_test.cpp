// Every operation has a maker. Without a GPU each says so; with one, each is checked.

#include <gtest/gtest.h>

#include <string>

#include "kernels/device/device_info.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/device/runtime.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {
namespace {

const char* const kCases[] = {
    "gemm fprop bf16 m=256 n=256 k=256",
    "grouped_gemm fprop bf16 groups=2 m=128 n=256 k=256 largest=128",
    "attention forward bf16 sequences=1 heads=4 groups=2 queries=256 keys=256 dim_qk=64 dim_v=64 "
    "causal=1",
    "rms_norm forward bf16 rows=300 columns=4096",
    "rms_norm backward bf16 rows=300 columns=5120",
    "layer_norm forward fp16 rows=300 columns=12288",
    "layer_norm backward bf16 rows=300 columns=16384",
    "residual_add bf16 rows=300 columns=1000",
    "rotary forward bf16 tokens=300 heads=5 dim=128",
    "rotary backward fp16 tokens=300 heads=5 dim=64",
    "swiglu forward bf16 rows=300 columns=1000",
    "swiglu backward bf16 rows=300 columns=1000",
    "cross_entropy forward bf16 rows=100 columns=32000",
    "cross_entropy backward bf16 rows=100 columns=32001",
    "embedding forward bf16 rows=300 columns=1024 vocabulary=1000",
    "embedding backward bf16 rows=300 columns=1024 vocabulary=100",
    "quantize forward fp8_tensor rows=300 columns=1024",
    "quantize backward fp8_tensor rows=300 columns=1024",
    "quantize forward fp8_row rows=300 columns=5120",
    "quantize forward fp8_block rows=300 columns=1024",
    "quantize forward mxfp8 rows=300 columns=1024",
    "quantize forward nvfp4 rows=300 columns=1024",
    "quantize_transpose backward fp8_tensor rows=384 columns=1024",
    "quantize_transpose forward fp8_row rows=384 columns=1024",
    "quantize_transpose forward fp8_block rows=384 columns=1024",
    "quantize_transpose forward mxfp8 rows=384 columns=1024",
    "quantize_transpose forward nvfp4 rows=384 columns=1024",
    "permute forward bf16 rows=300 columns=1024 copies=8",
    "permute backward bf16 rows=300 columns=1024 copies=8",
    "unpermute forward bf16 rows=300 columns=1024 copies=6",
    "unpermute backward bf16 rows=300 columns=1024 copies=6",
    "gradient_norm bf16 elements=1000003",
    "gradient_norm fp32 elements=1000003",
    "adamw bf16 elements=1000003",
    "adamw fp32 elements=1000003",
    "copy bytes=1000003",
    "host_to_device bytes=1000003",
    "device_to_host bytes=1000003",
};

KernelCase parsed(const std::string& text) {
  const ParsedCase result = parse_case(text);
  EXPECT_TRUE(result.kernel.has_value()) << text << ": " << result.problem;
  return result.kernel.value_or(KernelCase{});
}

bool has_gpu() {
  try {
    static_cast<void>(find_device());
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(Prepare, EveryCaseSaysThatThereIsNoGpuOrIsRight) {
  const bool gpu = has_gpu();
  for (const char* const text : kCases) {
    SCOPED_TRACE(text);
    try {
      const auto runnable = prepare(parsed(text), {.rotated = 0, .seed = 3});
      ASSERT_TRUE(gpu);
      const OwnedStream stream;
      const Verification verification = runnable->verify(stream.get());
      EXPECT_TRUE(verification.passed) << verification.where << ", " << verification.worst_error;
      EXPECT_GT(verification.compared, 0);
    } catch (const Unsupported& unsupported) {
      EXPECT_TRUE(gpu) << unsupported.what();
    } catch (const Error& error) {
      EXPECT_FALSE(gpu) << error.what();
      EXPECT_EQ(error.kind(), ErrorKind::device) << error.what();
    }
  }
}

TEST(Prepare, CollectivesAreNoCaseOfOneProcess) {
  EXPECT_THROW(
      static_cast<void>(prepare(parsed("all_reduce bf16 ranks=8 nodes=1 bytes=8 in_place=0"), {})),
      Unsupported);
}

TEST(Prepare, OwnKernelsRefuseShapesThatTheyDoNotTake) {
  for (const char* const text :
       {"rms_norm forward bf16 rows=4 columns=100", "rms_norm forward bf16 rows=4 columns=16392",
        "rotary forward bf16 tokens=4 heads=2 dim=24", "swiglu forward bf16 rows=4 columns=100",
        "quantize forward mxfp8 rows=4 columns=96",
        "quantize_transpose forward mxfp8 rows=4 columns=128",
        "permute forward bf16 rows=4 columns=64 copies=65",
        "embedding forward bf16 rows=4 columns=100 vocabulary=10"}) {
    EXPECT_THROW(static_cast<void>(prepare(parsed(text), {})), Unsupported) << text;
  }
}

}  // namespace
}  // namespace orrery::kernels
