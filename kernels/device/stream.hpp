#pragma once

// Owners of a stream, of events and of a captured graph, with which calls are enqueued, timed and
// repeated.
//
//   seconds_between(a, b) = time on the device between two recorded events, resolution 0.5 us
//
// A graph is captured once and launched often: no launch of a kernel inside it costs host time.

#include <functional>
#include <memory>

#include "kernels/device/runnable.hpp"

struct CUevent_st;
struct CUgraphExec_st;

namespace orrery::kernels {

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

  [[nodiscard]] Stream get() const {
    return stream_.get();
  }

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

  [[nodiscard]] CUevent_st* get() const {
    return event_.get();
  }

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

  [[nodiscard]] std::size_t nodes() const {
    return nodes_;
  }

 private:
  std::unique_ptr<CUgraphExec_st, detail::GraphDeleter> executable_;
  std::size_t nodes_ = 0;
};

}  // namespace orrery::kernels
