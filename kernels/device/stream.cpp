#include "kernels/device/stream.hpp"

#include <cuda_runtime_api.h>

#include "kernels/device/status.hpp"
#include "sim/base/units.hpp"

namespace orrery::kernels {

namespace {

struct CapturedDeleter {
  void operator()(CUgraph_st* graph) const {
    static_cast<void>(cudaGraphDestroy(graph));
  }
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

void Event::wait() const {
  check(cudaEventSynchronize(event_.get()), "wait for an event");
}

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
