#include "kernels/device/runtime.hpp"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/check.hpp"
#include "sim/base/error.hpp"
#include "sim/base/units.hpp"

namespace orrery::kernels {

namespace {

constexpr std::array kNoDevice = {
    cudaErrorInitializationError,       cudaErrorStubLibrary, cudaErrorInsufficientDriver,
    cudaErrorDevicesUnavailable,        cudaErrorNoDevice,    cudaErrorSystemDriverMismatch,
    cudaErrorCompatNotSupportedOnDevice};

Verdict verdict_of_cuda(int status) {
  const bool none = std::ranges::any_of(kNoDevice, [status](cudaError_t e) { return e == status; });
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

namespace {

[[noreturn]] void throw_out_of_memory(std::int64_t wanted, std::int64_t available) {
  throw Unsupported(fmt::format("needs {} bytes of device memory, {} are free", wanted, available),
                    status_text(Library::cuda, cudaErrorMemoryAllocation,
                                cudaGetErrorName(cudaErrorMemoryAllocation)));
}

}  // namespace

namespace detail {

void* InDevice::allocate(std::int64_t bytes) {
  ORRERY_CHECK(bytes >= 0, "a buffer has no negative size");
  void* data = nullptr;
  if (bytes == 0) {
    return data;
  }
  const cudaError_t status = cudaMalloc(&data, static_cast<std::size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // not sticky: the next launch must not see it
    throw_out_of_memory(bytes, free_device_memory());
  }
  check(status, "allocate device memory");
  return data;
}

void InDevice::operator()(void* data) const {
  static_cast<void>(cudaFree(data));  // a destructor cannot report; the next call will
}

void* PinnedOnHost::allocate(std::int64_t bytes) {
  ORRERY_CHECK(bytes >= 0, "a buffer has no negative size");
  void* data = nullptr;
  if (bytes == 0) {
    return data;
  }
  const cudaError_t status = cudaMallocHost(&data, static_cast<std::size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    throw Unsupported(fmt::format("cannot pin {} bytes of host memory", bytes),
                      status_text(Library::cuda, status, cudaGetErrorName(status)));
  }
  check(status, "pin host memory");
  return data;
}

void PinnedOnHost::operator()(void* data) const { static_cast<void>(cudaFreeHost(data)); }

}  // namespace detail

std::int64_t free_device_memory() {
  std::size_t available = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&available, &total), "ask for the free device memory");
  return static_cast<std::int64_t>(available);
}

std::int64_t memory_budget(const PrepareOptions& options) {
  constexpr std::int64_t kShare = 80;
  constexpr std::int64_t kPercent = 100;
  return options.most_bytes > 0 ? options.most_bytes : free_device_memory() / kPercent * kShare;
}

int operand_sets(std::int64_t set_bytes, std::int64_t rotated, std::int64_t most) {
  ORRERY_CHECK(set_bytes > 0 && rotated >= 0, "an operand set has a size");
  const std::int64_t fit = most / set_bytes;
  if (fit < 1) {
    throw_out_of_memory(set_bytes, most);
  }
  const std::int64_t wanted = rotated / set_bytes + 1;  // = ceil((rotated + 1) / set_bytes)
  return static_cast<int>(std::min({wanted, fit, std::int64_t{kMostSets}}));
}

void copy_to_host(void* host, const void* device, std::int64_t bytes, Stream stream) {
  check(cudaMemcpyAsync(host, device, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost,
                        stream),
        "copy to the host");
  check(cudaStreamSynchronize(stream), "copy to the host");
}

void copy_to_device(void* device, const void* host, std::int64_t bytes, Stream stream) {
  check(cudaMemcpyAsync(device, host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice,
                        stream),
        "copy to the device");
  check(cudaStreamSynchronize(stream), "copy to the device");
}

namespace {

struct CapturedDeleter {
  void operator()(CUgraph_st* graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
};

using Captured = std::unique_ptr<CUgraph_st, CapturedDeleter>;

Captured capture(Stream stream, const std::function<void(Stream)>& enqueue) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture a graph");
  cudaGraph_t graph = nullptr;
  try {
    enqueue(stream);
  } catch (...) {
    // The stream must leave capture mode, or every later call on it fails.
    static_cast<void>(cudaStreamEndCapture(stream, &graph));
    const Captured discarded(graph);
    static_cast<void>(cudaGetLastError());
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "capture a graph");
  return Captured(graph);
}

}  // namespace

namespace detail {

void StreamDeleter::operator()(CUstream_st* stream) const {
  static_cast<void>(cudaStreamDestroy(stream));
}

void EventDeleter::operator()(CUevent_st* event) const {
  static_cast<void>(cudaEventDestroy(event));
}

void GraphDeleter::operator()(CUgraphExec_st* graph) const {
  static_cast<void>(cudaGraphExecDestroy(graph));
}

}  // namespace detail

OwnedStream::OwnedStream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
  stream_.reset(stream);
}

void OwnedStream::synchronize() const {
  check(cudaStreamSynchronize(stream_.get()), "finish the calls on a stream");
}

Event::Event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "create an event");
  event_.reset(event);
}

void Event::record(Stream stream) const {
  check(cudaEventRecord(event_.get(), stream), "record an event");
}

void Event::wait() const { check(cudaEventSynchronize(event_.get()), "wait for an event"); }

bool Event::reached() const {
  const cudaError_t status = cudaEventQuery(event_.get());
  if (status == cudaErrorNotReady) {
    return false;
  }
  check(status, "query an event");
  return true;
}

double seconds_between(const Event& from, const Event& to) {
  to.wait();
  float milliseconds = 0.0F;
  check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "read the time of two events");
  return static_cast<double>(milliseconds) * kMilli;
}

void wait_for(Stream stream, const Event& event) {
  check(cudaStreamWaitEvent(stream, event.get(), 0), "make a stream wait for an event");
}

Graph::Graph(Stream stream, const std::function<void(Stream)>& enqueue) {
  const Captured captured = capture(stream, enqueue);
  check(cudaGraphGetNodes(captured.get(), nullptr, &nodes_), "count the nodes of a graph");
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, captured.get(), 0), "instantiate a graph");
  executable_.reset(executable);
}

void Graph::launch(Stream stream) const {
  check(cudaGraphLaunch(executable_.get(), stream), "launch a graph");
}

}  // namespace orrery::kernels
