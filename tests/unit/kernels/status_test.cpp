#include "kernels/device/status.hpp"

#include <gtest/gtest.h>

#include "kernels/device/runnable.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {
namespace {

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
  for (const cudaError_t status : {cudaErrorInsufficientDriver,
                                   cudaErrorNoDevice,
                                   cudaErrorStubLibrary,
                                   cudaErrorSystemDriverMismatch}) {
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

}  // namespace
}  // namespace orrery::kernels
