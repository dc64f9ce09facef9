#include "kernels/device/status.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/device/runnable.hpp"
#include "sim/base/check.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {

namespace {

constexpr std::array kNoDevice = {
    cudaErrorInitializationError,       cudaErrorStubLibrary, cudaErrorInsufficientDriver,
    cudaErrorDevicesUnavailable,        cudaErrorNoDevice,    cudaErrorSystemDriverMismatch,
    cudaErrorCompatNotSupportedOnDevice};

Verdict verdict_of_cuda(int status) {
  const bool none = std::any_of(kNoDevice.begin(), kNoDevice.end(),
                                [status](cudaError_t e) { return e == status; });
  if (none) {
    return Verdict::no_device;
  }
  return status == cudaErrorNotSupported ? Verdict::unsupported : Verdict::failed;
}

Verdict verdict_of_cublas(int status) {
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH) {
    return Verdict::unsupported;
  }
  return status == CUBLAS_STATUS_NOT_INITIALIZED ? Verdict::no_device : Verdict::failed;
}

Verdict verdict_of_cudnn(int status) {
  constexpr int kNotInitialized = 1001;
  constexpr int kFirstNotSupported = 3000;
  constexpr int kLastNotSupported = 3999;
  if (status >= kFirstNotSupported && status <= kLastNotSupported) {
    return Verdict::unsupported;
  }
  return status == kNotInitialized ? Verdict::no_device : Verdict::failed;
}

std::string_view name_of(Library library) {
  switch (library) {
    case Library::cuda:
      return "CUDA";
    case Library::cublas:
      return "cuBLAS";
    case Library::cudnn:
      return "cuDNN";
    case Library::nccl:
      return "NCCL";
  }
  return "";
}

}  // namespace

Verdict verdict_of(Library library, int status) {
  if (status == 0) {
    return Verdict::fine;
  }
  switch (library) {
    case Library::cuda:
      return verdict_of_cuda(status);
    case Library::cublas:
      return verdict_of_cublas(status);
    case Library::cudnn:
      return verdict_of_cudnn(status);
    case Library::nccl:
      return Verdict::failed;
  }
  return Verdict::failed;
}

std::string status_text(Library library, int status, std::string_view name) {
  const std::string number = fmt::format("{} status {}", name_of(library), status);
  return name.empty() ? number : fmt::format("{} ({})", number, name);
}

void check_status(Library library, int status, std::string_view name, std::string_view what) {
  const std::string text = status_text(library, status, name);
  switch (verdict_of(library, status)) {
    case Verdict::fine:
      return;
    case Verdict::unsupported:
      throw Unsupported(fmt::format("cannot {}: {}", what, text), text);
    case Verdict::no_device:
      throw Error(ErrorKind::device,
                  fmt::format("no usable NVIDIA GPU: cannot {}: {}", what, text));
    case Verdict::failed:
      throw Error(ErrorKind::device, fmt::format("the GPU failed to {}: {}", what, text));
  }
}

void check(cudaError_t status, std::string_view what) {
  if (status != cudaSuccess) {
    check_status(Library::cuda, status, cudaGetErrorName(status), what);
  }
}

void check(cublasStatus_t status, std::string_view what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    check_status(Library::cublas, status, cublasLtGetStatusName(status), what);
  }
}

void require(bool holds, const char* sentence) { ORRERY_CHECK(holds, "{}", sentence); }

void check_launch(std::string_view kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) {
    check(status, fmt::format("launch {}", kernel));
  }
}

namespace {

struct Row {
  const char* file;
  std::string_view without;
};

// In the order of LateLibrary.
constexpr std::array<Row, 3> kRows = {
    {{"libnccl.so.2", "no collectives"},
     {"libcudnn.so.9", "attention runs on kernels of our own, none in 8 bits"},
     {"libnvrtc.so.13", "nothing is compiled at run time"}}};

const Row& row_of(LateLibrary which) { return kRows[static_cast<std::size_t>(which)]; }

}  // namespace

const SharedLibrary& late_library(LateLibrary which) {
  using At = SharedLibrary::At;
  static const SharedLibrary nccl(row_of(LateLibrary::nccl).file, At::end_of_process);
  static const SharedLibrary cudnn(row_of(LateLibrary::cudnn).file, At::end_of_process);
  static const SharedLibrary nvrtc(row_of(LateLibrary::nvrtc).file, At::end_of_process);
  switch (which) {
    case LateLibrary::nccl:
      return nccl;
    case LateLibrary::cudnn:
      return cudnn;
    case LateLibrary::nvrtc:
      break;
  }
  return nvrtc;
}

std::string absence_of(LateLibrary which) {
  const std::string& absence = late_library(which).absence();
  return absence.empty() ? absence : fmt::format("{}: {}", absence, row_of(which).without);
}

void throw_function_missing(LateLibrary which, const char* name) {
  const std::string absence = absence_of(which);
  throw Unsupported(absence.empty()
                        ? fmt::format("{} here is too old: it has no {}", row_of(which).file, name)
                        : absence,
                    "library missing");
}

}  // namespace orrery::kernels
