#include "kernels/device/device_info.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "kernels/device/late_library.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/kernels/has_gpu.hpp"

namespace orrery::kernels {
namespace {

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

TEST(Refusal, NamesASliceOfAGpuAndOneThatIsTooOld) {
  DeviceInfo info;
  info.name = "NVIDIA H100 80GB HBM3 MIG 3g.40gb";
  info.major = 9;
  EXPECT_EQ(refusal_of(info), "");
  info.mig = true;
  EXPECT_EQ(refusal_of(info),
            "NVIDIA H100 80GB HBM3 MIG 3g.40gb is cut into slices (MIG): the rates of a slice are "
            "not those of the GPU, and a training run has whole ones; measure on a GPU with MIG "
            "off");
  info = DeviceInfo();
  info.name = "Tesla V100-SXM2-16GB";
  info.major = 7;
  EXPECT_EQ(refusal_of(info),
            "Tesla V100-SXM2-16GB has compute capability 7.0: the kernels need 8.0 or later");
}

TEST(Uuid, ReadsAsTheDriversToolsPrintIt) {
  std::array<std::byte, 16> bytes = {};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * 17);
  }
  EXPECT_EQ(uuid_text(bytes), "GPU-00112233-4455-6677-8899-aabbccddeeff");
}

// Absence is told in one line that says what it costs; what is there answers.
TEST(LateLibrary, AFunctionThatIsNotThereIsUnsupported) {
  for (const LateLibrary which : {LateLibrary::nccl, LateLibrary::cudnn, LateLibrary::nvrtc}) {
    EXPECT_EQ(late_library(which).found(), absence_of(which).empty());
    try {
      (void)late_function<void()>(which, "orreryHasNoSuchFunction");
      FAIL() << "found";
    } catch (const Unsupported& unsupported) {
      const std::string words = unsupported.what();
      EXPECT_TRUE(words.ends_with("it has no orreryHasNoSuchFunction") ||
                  words == absence_of(which))
          << words;
      EXPECT_EQ(unsupported.status(), "library missing");
    }
  }
}

TEST(CudaVersion, ReadsAsMajorAndMinor) {
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12090), "12.9");
}

}  // namespace
}  // namespace orrery::kernels
