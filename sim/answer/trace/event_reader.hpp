#pragma once

// A reader of trace files: Chrome trace events, as PyTorch (Kineto), Perfetto and `orrery export`
// write them, one after the other; .json or .json.gz.
//
// The content decides, never the name of the file. The text is never in memory as a whole. A file
// that is malformed, cut off, too large or no trace gives one sentence that says where and why; a
// file that cannot be opened throws Error(io).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "sim/answer/trace/trace_event.hpp"

namespace orrery::trace {

struct ReadLimits {
  std::uint64_t most_bytes = std::uint64_t{8} << 30U;  // on the disk, and unpacked
  std::stop_token stop = {};
  std::function<void(double share)> progress = {};  // on the thread that reads; 0 to 1
};

// The first GPU of `deviceProperties`; 0 and empty where the file does not say.
struct TracedGpu {
  std::string name;
  std::int64_t major = 0;  // compute capability
  std::int64_t minor = 0;
  std::int64_t multiprocessors = 0;
  std::int64_t memory = 0;  // bytes
};

// What the file says beside its events.
struct TraceFacts {
  std::string title;                 // of a trace that `orrery export` wrote: the scenario
  std::optional<std::int64_t> rank;  // of PyTorch's distributedInfo
  std::optional<std::int64_t> world_size;
  TracedGpu gpu = {};
};

struct EventReading {
  TraceFacts facts;
  std::string problem;  // empty: all events were read
  bool cancelled = false;
  bool refused = false;  // `take` returned false
  std::uint64_t events = 0;
};

// False ends the reading.
using TakeEvent = std::function<bool(const TraceEvent& event)>;

[[nodiscard]] EventReading read_events(const std::filesystem::path& path, const ReadLimits& limits,
                                       const TakeEvent& take);

// Whether it looks like a trace by its first bytes: an object or array with `traceEvents`, `ph` or
// another word of the format; unpacked where it is gzip. Throws Error(io).
[[nodiscard]] bool is_trace_file(const std::filesystem::path& path);

}  // namespace orrery::trace
