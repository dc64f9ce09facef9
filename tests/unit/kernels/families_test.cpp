// Every product and attention case of a small sweep, verified where there is a GPU; without one
// each maker ends in one clear error.
#include "kernels/families.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device/device_info.hpp"
#include "kernels/device/runtime.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {
namespace {

bool has_device() {
  try {
    static_cast<void>(find_device());
    return true;
  } catch (const Error&) {
    return false;
  }
}

KernelCase case_of(const std::string& text) {
  const ParsedCase parsed = parse_case(text);
  EXPECT_TRUE(parsed.kernel) << parsed.problem;
  return parsed.kernel.value_or(KernelCase());
}

std::unique_ptr<Runnable> make(const KernelCase& kernel) {
  PrepareOptions options;
  options.rotated = std::int64_t{64} << 20;
  options.most_bytes = std::int64_t{2} << 30;
  switch (kernel.operation) {
    case Operation::gemm:
      return make_gemm(kernel, options);
    case Operation::grouped_gemm:
      return make_grouped_gemm(kernel, options);
    default:
      return make_attention(kernel, options);
  }
}

const std::vector<std::string>& cases() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all;
    for (const char* precision :
         {"bf16", "fp16", "tf32", "fp32", "fp8_tensor", "fp8_row", "fp8_block", "mxfp8", "nvfp4"}) {
      for (const char* role : {"fprop", "dgrad", "wgrad", "wgrad_accumulate"}) {
        all.push_back(std::string("gemm ") + role + " " + precision + " m=512 n=768 k=1024");
      }
    }
    for (const char* precision : {"bf16", "fp8_tensor"}) {
      for (const char* role : {"fprop", "dgrad"}) {
        all.push_back(std::string("grouped_gemm ") + role + " " + precision +
                      " groups=6 m=128 n=256 k=512 largest=256");
      }
      for (const char* role : {"wgrad", "wgrad_accumulate"}) {
        all.push_back(std::string("grouped_gemm ") + role + " " + precision +
                      " groups=6 m=256 n=512 k=128 largest=256");
      }
    }
    for (const char* role : {"forward", "backward"}) {
      for (const char* rest : {"bf16 sequences=2 heads=8 groups=2 queries=300 keys=300 dim_qk=128 "
                               "dim_v=128 causal=1",
                               "fp16 sequences=1 heads=4 groups=4 queries=256 keys=512 dim_qk=64 "
                               "dim_v=64 causal=0",
                               "bf16 sequences=1 heads=4 groups=4 queries=512 keys=512 dim_qk=192 "
                               "dim_v=128 causal=1"}) {
        all.push_back(std::string("attention ") + role + " " + rest);
      }
    }
    return all;
  }();
  return texts;
}

// Only cuDNN has kernels for these.
std::vector<std::string> narrow_attention() {
  std::vector<std::string> all;
  for (const char* role : {"forward", "backward"}) {
    for (const char* rest :
         {"heads=8 groups=2 queries=512 keys=512 dim_qk=128 dim_v=128 causal=1",
          "heads=4 groups=4 queries=512 keys=1024 dim_qk=128 dim_v=128 causal=0"}) {
      all.push_back(std::string("attention ") + role + " fp8_tensor sequences=2 " + rest);
    }
  }
  return all;
}

TEST(Families, EveryCaseIsRightOrUnsupported) {
  if (!has_device()) {
    GTEST_SKIP() << "this machine has no GPU";
  }
  const OwnedStream stream;
  std::vector<std::string> all = cases();
  for (const std::string& text : narrow_attention()) {
    all.push_back(text);
  }
  for (const std::string& text : all) {
    try {
      const auto runnable = make(case_of(text));
      const Verification checked = runnable->verify(stream.get());
      EXPECT_TRUE(checked.passed) << text << ": " << checked.where;
      EXPECT_GT(checked.compared, 0) << text;
      const Graph graph(stream.get(), [&](Stream capturing) {
        for (int copy = 0; copy < runnable->copies(); ++copy) {
          runnable->launch(capturing, copy);
        }
      });
      graph.launch(stream.get());
      stream.synchronize();
    } catch (const Unsupported& unsupported) {
      std::cout << text << ": " << unsupported.what() << "\n";
    }
  }
}

TEST(Families, WithoutAGpuEveryMakerEndsInOneSentence) {
  if (has_device()) {
    GTEST_SKIP() << "this machine has a GPU";
  }
  for (const std::string& text : cases()) {
    try {
      static_cast<void>(make(case_of(text)));
      FAIL() << text << ": nothing thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device) << text;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
}

TEST(Families, WhatNoLibraryOffersIsUnsupportedBeforeTheGpuIsAsked) {
  EXPECT_THROW(static_cast<void>(make(
                   case_of("grouped_gemm fprop mxfp8 groups=4 m=128 n=256 k=512 largest=256"))),
               Unsupported);
}

// In 8 bits nothing stands in for cuDNN: what it says, or that it is not there, is the answer.
TEST(Families, EightBitAttentionIsUnsupportedWithoutCudnn) {
  if (has_device()) {
    GTEST_SKIP() << "this machine has a GPU";
  }
  for (const std::string& text : narrow_attention()) {
    try {
      static_cast<void>(make(case_of(text)));
      FAIL() << text << ": nothing thrown";
    } catch (const Unsupported& unsupported) {
      const std::string words = unsupported.what();
      EXPECT_NE(words.find("cuDNN"), std::string::npos) << words;
      EXPECT_EQ(words.find('\n'), std::string::npos) << words;
      EXPECT_FALSE(unsupported.status().empty()) << words;
    }
  }
}

}  // namespace
}  // namespace orrery::kernels
