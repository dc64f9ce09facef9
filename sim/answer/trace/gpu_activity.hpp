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
#include <vector>

#include "sim/answer/trace/event_reader.hpp"
#include "sim/answer/trace/group_rules.hpp"
#include "sim/answer/trace/kernel_rules.hpp"
#include "sim/answer/trace/span_set.hpp"

namespace orrery::trace {

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

}  // namespace orrery::trace
