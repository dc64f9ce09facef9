#pragma once

// Puts timelines side by side on one time axis: one store with a group of rows for each, all of
// them starting at zero.
//
//   time = time on the clock of the side - start of its window
//
// side     | its rows
// ---------|-------------------------------------------------------------------------------------
// store    | the rows of the store, below a group of the side's name
// measured | the GPU of one rank: compute, a row for each axis of communication, copies: the rows
//          | that a simulated step has as well
//
// What is outside the window is left out, what extends beyond its ends is cut there; rows without
// anything left are not made. One store means one ruler, one zoom and one selection for all sides.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "gui/timeline/store/store_builder.hpp"
#include "sim/answer/trace/gpu_activity.hpp"
#include "sim/answer/trace/group_rules.hpp"

namespace orrery::timeline {

struct StoreSide {
  std::string name;
  std::shared_ptr<const Store> store;
  TimeRange window;  // on the clock of the store
};

struct MeasuredSide {
  std::string name;
  std::shared_ptr<const trace::GpuTrace> trace;
  std::uint32_t device = 0;
  TimeRange window;  // on the clock of the trace
};

class SideBySide {
 public:
  void add(const StoreSide& side);
  void add(const MeasuredSide& side, trace::AxisFinder& axes);

  // Nothing after a stop request. It is used up.
  [[nodiscard]] std::shared_ptr<const Store> build(std::stop_token stop = {});

 private:
  StoreBuilder builder_;
};

}  // namespace orrery::timeline
