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
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::trace {

// One event of a Chrome trace: its fields, as far as this program reads them.
//
// field        | of the event            | meaning
// -------------|-------------------------|------------------------------------------------------
// phase        | ph                      | X, B, E, i, I, R, C, s, t, f, M
// time         | ts                      | ns, exact; absent: not there, or no number
// duration     | dur                     | ns, exact
// process,     | pid, tid                | text, whether written as number or text
// thread       |                         |
// correlation  | args.correlation        | joins a kernel with the call that launched it
// device,      | args.device, args.stream| of GPU activities
// stream       |                         |
// collective   | args "Collective name"  | of NCCL kernels, as PyTorch names it
// group...     | args "Process Group..." | name, description, ranks and size of the group
// external_id  | args "External id"      | joins a kernel with the host operation that launched it
// operands     | args "Input Dims" ...   | of host operations, where shapes were recorded
// numbers      | args of counters        | by name
//
// Times are read exactly: microseconds with decimals become nanoseconds without rounding between.

// Decimal microseconds as nanoseconds, exact for up to three decimals; nothing when it is no number
// or beyond 73 years.
[[nodiscard]] std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

// As PyTorch records them with record_shapes: sizes and strides by operand (none for lists of
// tensors), types, and the values of what is no tensor ("True", "0.5", "" for tensors).
struct Operands {
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<std::vector<std::int64_t>> strides;
  std::vector<std::string> types;
  std::vector<std::string> values;
};

struct TraceEvent {
  char phase = 0;
  std::string name;
  std::string category;
  std::string process;
  std::string thread;
  std::string id;
  std::optional<std::int64_t> time;
  std::optional<std::int64_t> duration;
  std::string argument_name;  // args.name or args.labels of metadata
  std::optional<std::int64_t> argument_order;
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> device;
  std::optional<std::int64_t> stream;
  std::optional<std::int64_t> group_size;
  std::optional<std::int64_t> external_id;
  Operands operands;
  std::string collective;
  std::string group;
  std::string group_description;
  std::string group_ranks;
  std::vector<std::pair<std::string, double>> numbers;

  void clear();
};

// Whether the name of a trace event contains a given part. Internal to trace/.

[[nodiscard]] constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

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
