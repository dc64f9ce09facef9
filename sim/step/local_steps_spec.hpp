#pragma once

// Local steps in the manner of DiLoCo: how often islands of GPUs synchronise, and how.
//
// symbol  | meaning                                                        | unit    | origin
// --------|----------------------------------------------------------------|---------|---------
// every   | inner steps between two outer ones (H)                         | steps   | scenario
// islands | groups of whole replicas that only meet in the outer step (K)  | groups  | scenario
// rate    | what one island sends to the next, one direction               | byte/s  | scenario
// latency | of one hop between islands                                     | s       | scenario
// bits    | of one parameter's difference on the wire                      | bit     | scenario
// overlap | the outer all-reduce streams beside the inner steps            | -       | scenario
//
// Sources: DiLoCo, arXiv 2311.08105 (H = 500, K = 8); Streaming DiLoCo, arXiv 2501.18512 (overlap,
// 4 bits); INTELLECT-1, arXiv 2412.01152 (H = 100, 8 bits).

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"

namespace orrery::step {

struct LocalStepsSpec {
  std::int64_t every = 1;
  std::int64_t islands = 1;            // 1: no local steps
  std::optional<BytesPerSecond> rate;  // absent: the NICs of one island
  Seconds latency;
  double bits = 32.0;
  bool overlap = false;
};

}  // namespace orrery::step
