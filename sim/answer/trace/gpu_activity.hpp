#pragma once

// The GPU activity of one traced process: kernels, copies and fills on the GPU, with the calls that
// launched them and the annotations of the host.
//
// symbol   | meaning                                         | unit | origin
// ---------|-------------------------------------------------|------|-----------------------------
// activity | kernel, copy or fill on a stream of a device    | ns   | kernel, gpu_memcpy,
//          |                                                 |      | gpu_memset
// launch   | begin of the call that put it on its stream     | ns   | cuda_runtime, cuda_driver
// mark     | annotation that could be a step, or part of one | ns   | user_annotation
// loading  | the host waits for its data loader              | ns   | user_annotation (DataLoader)
//
// Times count from the clock of the trace. Activities are sorted by begin.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/answer/trace/event_reader.hpp"
#include "sim/answer/trace/group_rules.hpp"
#include "sim/answer/trace/kernel_rules.hpp"

namespace orrery::trace {

// Sets of time spans: when at least one activity was going on, and when nothing else hid it.
//
//   exposed = communication without compute;   hidden = communication in common with compute
//
// symbol  | meaning                                              | unit | origin
// --------|------------------------------------------------------|------|-------------------
// span    | [begin, end)                                         | ns   | a trace
// set     | spans that neither overlap nor touch, ascending      | ns   | of() and the rest
// length  | sum over the spans: exact, in integers               | ns   | computed
//
// Every operation is one pass over both sets. For all A and B:
//   length(A) = length(A common B) + length(A without B)
//   length(A unite B) = length(A) + length(B without A)

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const { return end - begin; }

  friend bool operator==(const Span&, const Span&) = default;
};

class SpanSet {
 public:
  SpanSet() = default;

  // Spans in any order, which may overlap; those without length are left out.
  [[nodiscard]] static SpanSet of(std::vector<Span> spans);

  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }

  [[nodiscard]] std::int64_t length() const;
  [[nodiscard]] SpanSet unite(const SpanSet& other) const;
  [[nodiscard]] SpanSet common(const SpanSet& other) const;
  [[nodiscard]] SpanSet without(const SpanSet& other) const;

  // The part in a window: O(log n + spans found).
  [[nodiscard]] SpanSet within(Span window) const;

 private:
  std::vector<Span> spans_;
};

inline constexpr std::uint32_t kNoGroup = UINT32_MAX;

struct GpuActivity {
  Span span;
  std::uint32_t name = 0;          // index into GpuTrace::kernels
  std::uint32_t group = kNoGroup;  // index into GpuTrace::groups
  std::uint32_t device = 0;        // index into GpuTrace::devices
  Operation operation = Operation::none;
  std::optional<std::int64_t> launch;
};

struct KernelName {
  std::string name;
  KernelKind kind;
};

struct Annotation {
  std::string name;
  Span span;
  bool on_gpu = false;
};

struct GpuTrace {
  std::string file;
  TraceFacts facts;
  std::vector<KernelName> kernels;
  std::vector<CommunicationGroup> groups;
  std::vector<std::string> devices;
  std::vector<GpuActivity> activities;
  std::vector<Annotation> marks;  // in order of begin
  SpanSet loading;

  [[nodiscard]] const KernelName& kernel_of(const GpuActivity& activity) const {
    return kernels[activity.name];
  }
};

// Whether it is a kernel, a copy or a fill, by its category.
[[nodiscard]] bool is_gpu_category(std::string_view category);

// A filter of trace events: keeps those of the GPU, the calls that launched them and the
// annotations.
//
// Memory: 64 bytes per activity and 16 per launch; names and groups once.

class ActivityCollector {
 public:
  void add(const TraceEvent& event);

  [[nodiscard]] std::size_t activities() const { return trace_.activities.size(); }

  [[nodiscard]] std::size_t launches() const { return launches_.size(); }

  // Joins launches and activities, and sorts. The collector is used up.
  [[nodiscard]] GpuTrace finish(std::string file, TraceFacts facts);

 private:
  [[nodiscard]] bool is_on_gpu(const TraceEvent& event) const;
  void add_activity(const TraceEvent& event);
  void add_annotation(const TraceEvent& event);
  void add_metadata(const TraceEvent& event);
  std::uint32_t name_of(const std::string& name);
  std::uint32_t group_of(const TraceEvent& event);
  std::uint32_t device_of(const TraceEvent& event);

  struct Launch {
    std::int64_t correlation = 0;
    std::int64_t begin = 0;
  };

  GpuTrace trace_;
  std::vector<std::int64_t> correlations_;  // by activity; -1: none
  std::vector<Launch> launches_;
  std::vector<Span> loading_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::map<CommunicationGroup, std::uint32_t> groups_;
  std::map<std::string, std::uint32_t> devices_;
  std::map<std::string, bool> gpu_processes_;                        // by what metadata calls them
  std::map<std::pair<std::string, std::string>, bool> gpu_threads_;  // likewise
};

}  // namespace orrery::trace
