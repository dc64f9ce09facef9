#include "kernels/device/device_info.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "sim/base/error.hpp"

namespace orrery::kernels {
namespace {

bool has_gpu() {
  int visible = 0;
  return cudaGetDeviceCount(&visible) == cudaSuccess && visible > 0;
}

TEST(FindDevice, WithoutAGpuItIsOneSentenceThatEndsInExitCodeFive) {
  if (has_gpu()) {
    GTEST_SKIP() << "this machine has a GPU";
  }
  try {
    static_cast<void>(find_device());
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    const std::string sentence = error.what();
    EXPECT_TRUE(sentence.starts_with("no ")) << sentence;
    EXPECT_NE(sentence.find("NVIDIA GPU"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  }
}

TEST(FindDevice, WithAGpuItDescribesIt) {
  if (!has_gpu()) {
    GTEST_SKIP() << "this machine has no GPU";
  }
  const DeviceInfo info = find_device();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.memory, info.l2);
  EXPECT_GT(info.driver, 0);
  EXPECT_THROW(static_cast<void>(find_device(info.visible_gpus)), Error);
}

TEST(FindDevice, EachReasonHasItsSentence) {
  EXPECT_EQ(no_device_sentence(cudaErrorInsufficientDriver),
            "no usable NVIDIA GPU: the driver is missing or older than CUDA " +
                cuda_version_text(CUDART_VERSION) +
                " needs; CUDA status 35 (cudaErrorInsufficientDriver)");
  EXPECT_EQ(no_device_sentence(cudaErrorNoDevice),
            "no NVIDIA GPU is visible on this machine; CUDA status 100 (cudaErrorNoDevice)");
  EXPECT_NE(no_device_sentence(cudaErrorSystemDriverMismatch).find("CUDA status 803"),
            std::string::npos);
}

TEST(CudaVersion, ReadsAsMajorAndMinor) {
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12090), "12.9");
}

}  // namespace
}  // namespace orrery::kernels
