#pragma once

// The boundaries of training steps in a trace, on the GPU.
//
//   begin of a step = begin of the first activity that the host launched within its mark
//   end of a step   = begin of the next one
//
// found by     | when                                      | begin of step n
// -------------|-------------------------------------------|-----------------------------------
// marks        | annotations "ProfilerStep#n" of PyTorch's | first activity launched in mark n;
//              | profiler, or the text the user names      | without launches: the mark itself
// optimizer    | no marks, two or more bursts of optimizer | end of the burst before
//              | kernels, apart by more than half of the   |
//              | longest distance between two of them      |
// whole        | none of these, or asked for               | begin of the trace
//
// The last step has no next one: it ends with the last activity that was launched in its mark, and
// is at least as long as the mark. The host runs ahead of the GPU, so a mark's own times are not
// those of its work.

#include <optional>
#include <string>
#include <vector>

#include "sim/answer/trace/gpu_activity.hpp"

namespace orrery::trace {

struct StepWindow {
  std::string name;
  Span span;
};

struct StepSearch {
  std::optional<std::string> marker;  // annotations or kernels with this text begin a step
  bool whole = false;                 // the trace is one step
};

enum class FoundBy { marks, kernels, optimizer, whole };

struct FoundSteps {
  std::vector<StepWindow> windows;  // ascending, without overlap
  FoundBy by = FoundBy::whole;
};

// Of one device. Nothing when it has no activities, or none with the user's marker.
[[nodiscard]] FoundSteps find_steps(const GpuTrace& trace, std::uint32_t device,
                                    const StepSearch& search);

}  // namespace orrery::trace
