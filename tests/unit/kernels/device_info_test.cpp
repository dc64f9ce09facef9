#include "kernels/device/device_info.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "kernels/device/runnable.hpp"
#include "kernels/device/runtime.hpp"
#include "sim/base/error.hpp"
#include "tests/unit/kernels/has_gpu.hpp"

namespace orrery::kernels {

namespace {

TEST(OperandSets, TogetherTheyExceedWhatIsRotated) {
  const std::int64_t most = std::int64_t{1} << 40;
  for (const std::int64_t set : {std::int64_t{1} << 20, std::int64_t{3'000'000}}) {
    for (const std::int64_t rotated : {set - 1, set, set + 1, 7 * set, 7 * set + 5}) {
      const std::int64_t sets = operand_sets(set, rotated, most);
      EXPECT_GT(sets * set, rotated);
      EXPECT_LE((sets - 1) * set, rotated) << "one set too many";
    }
  }
}

TEST(OperandSets, OneWhenNothingIsRotated) { EXPECT_EQ(operand_sets(1000, 0, 1000), 1); }

TEST(OperandSets, AsManyAsFitWhenMemoryIsShort) { EXPECT_EQ(operand_sets(1000, 10'000, 3500), 3); }

TEST(OperandSets, SmallOperandsStopAtTheCap) {
  EXPECT_EQ(operand_sets(1, 1'000'000, 2'000'000), kMostSets);
}

TEST(OperandSets, ACaseThatDoesNotFitIsUnsupported) {
  try {
    static_cast<void>(operand_sets(1001, 0, 1000));
    FAIL() << "nothing thrown";
  } catch (const Unsupported& unsupported) {
    EXPECT_STREQ(unsupported.what(), "needs 1001 bytes of device memory, 1000 are free");
    EXPECT_EQ(unsupported.status(), "CUDA status 2 (cudaErrorMemoryAllocation)");
  }
}

TEST(MemoryBudget, IsWhatTheOptionsSay) {
  PrepareOptions options;
  options.most_bytes = 12345;
  EXPECT_EQ(memory_budget(options), 12345);
}

TEST(Buffers, EmptyOnesNeedNoDevice) {
  const DeviceBuffer device(0);
  EXPECT_EQ(device.data(), nullptr);
  const PinnedBuffer pinned(0);
  EXPECT_EQ(pinned.data(), nullptr);
}

TEST(Aligned, IsTheNextMultiple) {
  EXPECT_EQ(aligned(0), 0);
  EXPECT_EQ(aligned(1), 256);
  EXPECT_EQ(aligned(256), 256);
  EXPECT_EQ(aligned(257), 512);
}

TEST(Status, EveryLibraryHasItsOwnWordForNotSupported) {
  EXPECT_EQ(verdict_of(Library::cuda, cudaErrorNotSupported), Verdict::unsupported);
  EXPECT_EQ(verdict_of(Library::cublas, CUBLAS_STATUS_NOT_SUPPORTED), Verdict::unsupported);
  EXPECT_EQ(verdict_of(Library::cublas, CUBLAS_STATUS_ARCH_MISMATCH), Verdict::unsupported);
  EXPECT_EQ(verdict_of(Library::cudnn, 3000), Verdict::unsupported);
  EXPECT_EQ(verdict_of(Library::cudnn, 3014), Verdict::unsupported);
  EXPECT_EQ(verdict_of(Library::cudnn, 4000), Verdict::failed);
  EXPECT_EQ(verdict_of(Library::cudnn, 2000), Verdict::failed);
  EXPECT_EQ(verdict_of(Library::nccl, 5), Verdict::failed);
}

TEST(Status, ZeroIsFineEverywhere) {
  for (const Library library : {Library::cuda, Library::cublas, Library::cudnn, Library::nccl}) {
    EXPECT_EQ(verdict_of(library, 0), Verdict::fine);
    EXPECT_NO_THROW(check_status(library, 0, "", "do anything"));
  }
}

TEST(Status, AMissingDriverOrGpuIsNoFailureOfAKernel) {
  for (const cudaError_t status : {cudaErrorInsufficientDriver, cudaErrorNoDevice,
                                   cudaErrorStubLibrary, cudaErrorSystemDriverMismatch}) {
    EXPECT_EQ(verdict_of(Library::cuda, status), Verdict::no_device) << status;
  }
  EXPECT_EQ(verdict_of(Library::cublas, CUBLAS_STATUS_NOT_INITIALIZED), Verdict::no_device);
  EXPECT_EQ(verdict_of(Library::cudnn, 1001), Verdict::no_device);
  EXPECT_EQ(verdict_of(Library::cuda, cudaErrorIllegalAddress), Verdict::failed);
}

TEST(Status, UnsupportedKeepsNumberAndNameForTheProfile) {
  try {
    check(CUBLAS_STATUS_NOT_SUPPORTED, "choose an algorithm");
    FAIL() << "nothing thrown";
  } catch (const Unsupported& unsupported) {
    EXPECT_EQ(unsupported.status(), "cuBLAS status 15 (CUBLAS_STATUS_NOT_SUPPORTED)");
    EXPECT_STREQ(unsupported.what(),
                 "cannot choose an algorithm: cuBLAS status 15 (CUBLAS_STATUS_NOT_SUPPORTED)");
  }
}

TEST(Status, AFailureIsAnErrorOfTheDevice) {
  try {
    check(cudaErrorIllegalAddress, "run the copy");
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_STREQ(error.what(),
                 "the GPU failed to run the copy: CUDA status 700 (cudaErrorIllegalAddress)");
  }
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
