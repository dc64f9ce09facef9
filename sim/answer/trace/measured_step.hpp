#pragma once

// The time of a measured step, accounted for in the categories of the predicted ledger.
//
//   sum over categories = end - begin of the step, exactly (integer nanoseconds)
//
// Each nanosecond of one GPU belongs to the first of these that covers it:
//
//   1. compute       kernels of the model: GEMM, attention, routing, memory-bound, unknown
//   2. optimizer     update, gradient norm
//   3. exposed_*     communication that nothing above hides, by axis: tensor, context, expert,
//                    pipeline, data
//   4. idle, bubble  of a collective, the part in which it waits for the last peer: known when the
//                    traces of several ranks of the group are read together (peer_waiting.hpp)
//   5. offload       copies between host and device
//   6. data_stall    nothing runs, the host has launched nothing, and waits for its data loader
//   7. launch_gap    nothing runs, and the host launched the next activity after that began, or the
//                    gap is at most 10 us
//   8. idle          nothing runs, although the next activity was launched: it waits for an event
//
// recompute is always zero: kernel names do not distinguish a forward pass from its repetition.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/trace/gpu_activity.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::trace {

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

struct OperationTime {
  Operation operation = Operation::none;
  Axis axis = Axis::data;
  std::int64_t count = 0;
  std::int64_t busy = 0;    // an operation runs on at least one stream
  std::int64_t hidden = 0;  // busy, in common with compute or optimizer
};

struct MeasuredStep {
  std::string name;
  Span span;  // on the clock of the trace
  step::StepLedger ledger;
  std::array<std::int64_t, kWorks> work{};  // of compute and optimizer, without double counting
  std::vector<OperationTime> operations;    // by axis, then operation
};

[[nodiscard]] step::StepCategory exposed_category(Axis axis);

// One activity of communication: what it serves, and how long it waited at its beginning for the
// last of its peers.
struct Communication {
  Axis axis = Axis::data;
  std::int64_t waiting = 0;
};

// The activities of one device, sorted into disjoint sets once for all its steps.
class StepMeter {
 public:
  // `communication` by index of the activity; only that of communication is looked at.
  StepMeter(const GpuTrace& trace, std::uint32_t device,
            const std::vector<Communication>& communication);

  [[nodiscard]] MeasuredStep measure(const StepWindow& window) const;

 private:
  struct OperationSpans {
    Operation operation = Operation::none;
    Axis axis = Axis::data;
    std::vector<std::int64_t> begins;  // ascending
    SpanSet busy;
  };

  void sort_activities(const std::vector<Communication>& communication);
  void book_gaps(Span window, MeasuredStep& step) const;

  const GpuTrace* trace_;
  std::vector<const GpuActivity*> activities_;         // of the device
  std::array<SpanSet, kWorks> work_;                   // disjoint; compute and optimizer
  std::array<SpanSet, step::kStepCategories> booked_;  // disjoint
  SpanSet hiding_;                                     // compute and optimizer
  SpanSet busy_;                                       // anything at all
  std::vector<OperationSpans> operations_;
};

}  // namespace orrery::trace
