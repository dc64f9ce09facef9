#pragma once

// Owners of device and pinned host memory for operands, and how many operand sets fit:
//
//   operand_sets(set, rotated, most) = max(1, min(ceil((rotated + 1) / set), floor(most / set)))
//
// symbol  | meaning                                                  | unit | origin
// --------|----------------------------------------------------------|------|----------------
// set     | bytes of one operand set of a case                       | byte | the kernel
// rotated | bytes that the sets together exceed (4 x L2)             | byte | PrepareOptions
// most    | device memory that may be taken                          | byte | memory_budget
//
// A device that is out of memory is not a failure: this GPU does not offer the case. Unsupported
// with the status cudaErrorMemoryAllocation. Sets are capped at kMostSets: small operands would
// otherwise ask for thousands of them, and a call that small is not bound by memory.

#include <cublas_api.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/device/runnable.hpp"
#include "kernels/nvml/nvml.hpp"

struct CUevent_st;
struct CUgraphExec_st;

namespace orrery::kernels {

// Interprets the status codes of CUDA libraries. Every call is checked; its status becomes nothing,
// Unsupported (a result, kept in the profile) or orrery::Error (exit code 5).
//
// library | fine | unsupported                         | no device                | failed
// --------|------|-------------------------------------|--------------------------|---------
// cuda    | 0    | 801 not supported                   | 3, 34, 35, 46, 100, 803, | the rest
//         |      |                                     | 804                      |
// cublas  | 0    | 8 architecture, 15 not supported    | 1 not initialised        | the rest
// cudnn   | 0    | 3000..3999 not supported            | 1001 not initialised     | the rest
// nccl    | 0    | -                                   | -                        | the rest
//
// Source: driver_types.h, cublas_api.h, cudnn_graph.h and nccl.h of CUDA 13.0.

enum class Library { cuda, cublas, cudnn, nccl };

enum class Verdict { fine, unsupported, no_device, failed };

[[nodiscard]] Verdict verdict_of(Library library, int status);

// "cuBLAS status 15 (CUBLAS_STATUS_NOT_SUPPORTED)"; an empty name leaves out the parentheses.
[[nodiscard]] std::string status_text(Library library, int status, std::string_view name);

// Throws what verdict_of says; returns when it is fine. `what`: "copy the operands".
void check_status(Library library, int status, std::string_view name, std::string_view what);

void check(cudaError_t status, std::string_view what);
void check(cublasStatus_t status, std::string_view what);

// ORRERY_CHECK for .cu files: its macro needs fmt, which nvcc does not compile.
void require(bool holds, const char* sentence);

// After <<<>>>: launches report their errors only here.
void check_launch(std::string_view kernel);

// Libraries that the program loads on demand. A missing one disables only what needs it and is
// reported in one line; everything else is measured.
//
// library | file           | without it
// --------|----------------|------------------------------------------------------------
// nccl    | libnccl.so.2   | no collectives
// cudnn   | libcudnn.so.9  | attention runs on Orrery's kernels, none in 8 bits
// nvrtc   | libnvrtc.so.13 | kernels that cudnn-frontend compiles at run time: none here
//
// Their functions are defined here under their own names (nccl_forward.cpp, cudnn_forward.cpp) and
// ask the library, so that callers and the headers of cudnn-frontend are written as if it were
// linked.

enum class LateLibrary { nccl, cudnn, nvrtc };

// Opened by the first call, until the process ends.
[[nodiscard]] const SharedLibrary& late_library(LateLibrary which);

// "libnccl.so.2 is not on this machine: no collectives"; empty where the library is there.
[[nodiscard]] std::string absence_of(LateLibrary which);

[[noreturn]] void throw_function_missing(LateLibrary which, const char* name);

// Throws Unsupported where the library is missing, or is older than the function.
template <typename Signature>
[[nodiscard]] Signature* late_function(LateLibrary which, const char* name) {
  auto* const function = late_library(which).find<Signature>(name);
  if (function == nullptr) {
    throw_function_missing(which, name);
  }
  return function;
}

inline constexpr int kMostSets = 256;
inline constexpr std::int64_t kMemoryAlignment = 256;  // bytes, of every buffer

namespace detail {

struct InDevice {
  static void* allocate(std::int64_t bytes);
  void operator()(void* data) const;
};

struct PinnedOnHost {
  static void* allocate(std::int64_t bytes);
  void operator()(void* data) const;
};

}  // namespace detail

template <typename Place>
class Buffer {
 public:
  Buffer() = default;

  // Uninitialised; 0 bytes: data() is null.
  explicit Buffer(std::int64_t bytes) : data_(Place::allocate(bytes)), bytes_(bytes) {}

  [[nodiscard]] void* data() const { return data_.get(); }

  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data());
  }

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, Place> data_;
  std::int64_t bytes_ = 0;
};

using DeviceBuffer = Buffer<detail::InDevice>;
// Page-locked host memory: the only kind that transfers reach full speed with.
using PinnedBuffer = Buffer<detail::PinnedOnHost>;

[[nodiscard]] std::int64_t free_device_memory();

// options.most_bytes, or 80 % of what is free.
[[nodiscard]] std::int64_t memory_budget(const PrepareOptions& options);

// Operand sets to allocate; throws Unsupported when not even one fits.
[[nodiscard]] int operand_sets(std::int64_t set_bytes, std::int64_t rotated, std::int64_t most);

// Copies of sets, waited for. Sizes in bytes.
void copy_to_host(void* host, const void* device, std::int64_t bytes, Stream stream);
void copy_to_device(void* device, const void* host, std::int64_t bytes, Stream stream);

// The next multiple of kMemoryAlignment.
[[nodiscard]] constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

// Owners of a stream, of events and of a captured graph, with which calls are enqueued, timed and
// repeated.
//
//   seconds_between(a, b) = time on the device between two recorded events, resolution 0.5 us
//
// A graph is captured once and launched often: no launch of a kernel inside it costs host time.

namespace detail {

struct StreamDeleter {
  void operator()(CUstream_st* stream) const;
};

struct EventDeleter {
  void operator()(CUevent_st* event) const;
};

struct GraphDeleter {
  void operator()(CUgraphExec_st* graph) const;
};

}  // namespace detail

// A stream that does not wait for the default stream.
class OwnedStream {
 public:
  OwnedStream();

  [[nodiscard]] Stream get() const { return stream_.get(); }

  // Waits for everything enqueued, and reports what failed in it.
  void synchronize() const;

 private:
  std::unique_ptr<CUstream_st, detail::StreamDeleter> stream_;
};

class Event {
 public:
  Event();

  void record(Stream stream) const;
  void wait() const;                   // the host waits
  [[nodiscard]] bool reached() const;  // without waiting

  [[nodiscard]] CUevent_st* get() const { return event_.get(); }

 private:
  std::unique_ptr<CUevent_st, detail::EventDeleter> event_;
};

// Waits for `to`; both were recorded on the same device.
[[nodiscard]] double seconds_between(const Event& from, const Event& to);

// `stream` goes on only after `event`: orders two streams without the host.
void wait_for(Stream stream, const Event& event);

class Graph {
 public:
  // Everything that `enqueue` puts on the stream, and on streams joined to it by events, becomes
  // one graph; nothing of it runs now.
  Graph(Stream stream, const std::function<void(Stream)>& enqueue);

  void launch(Stream stream) const;

  [[nodiscard]] std::size_t nodes() const { return nodes_; }

 private:
  std::unique_ptr<CUgraphExec_st, detail::GraphDeleter> executable_;
  std::size_t nodes_ = 0;
};

}  // namespace orrery::kernels
