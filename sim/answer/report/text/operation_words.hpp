#pragma once

// The description of one operation of a step in lines for people, in traces and on screen.
//
//   rate  = work / time that it takes on its stream
//   share = booked time * runs / step time
//
// symbol | meaning                                                          | unit | origin
// -------|------------------------------------------------------------------|------|----------
// work   | FLOP; bytes through memory, or that one rank sends               | -    | timeline
// runs   | how often tasks of this kind run in the step on one GPU          | -    | slices

#include <string>
#include <vector>

#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::report {

// "1.2 TFLOP at 612 TFLOP/s", "8 ranks of one node, each sends 67 MB at 182 GB/s", "compute waits
// 120 us for it, 300 us are hidden", "slowed 12 us by the experts' all-to-all beside it", "0.42 %
// of the step in 16 runs"
[[nodiscard]] std::vector<std::string> operation_lines(const step::OperationTimeline& timeline,
                                                       const step::PlacedOperation& placed,
                                                       double runs, SimTime step_time);

}  // namespace orrery::report
