#pragma once

// What the oracle tests of schedules share: the grid of costs and a run with equal stages.
//
// symbol     | meaning (ticks)
// -----------|---------------------------------------------------------------------------
// T          | makespan
// F, B       | forward and full backward of a virtual stage; B = I + W
// t          | message from one device to the next
// p, v, m, N | devices, chunks per device, micro-batches, group size

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/schedule/run_ticks.hpp"

namespace orrery::schedule {
using Int = std::int64_t;

struct Costs {
  Int forward;
  Int backward;
  Int message;
};

inline std::vector<Costs> cost_grid(bool with_messages) {
  std::vector<Costs> grid;
  for (const auto& [forward, backward] :
       std::vector<std::pair<Int, Int>>{{1, 1}, {1, 2}, {2, 5}, {5, 2}, {3, 7}, {4, 8}}) {
    for (const Int message : {0, 1, 2, 3, 4, 7}) {
      if (with_messages || message == 0) {
        grid.push_back({forward, backward, message});
      }
    }
  }
  return grid;
}

inline Int makespan(const ScheduleRequest& request, P2pMode mode, const Costs& costs) {
  const Schedule schedule = generated(request);
  return must_run(schedule, mode,
                  equal_costs(schedule, costs.forward, costs.backward, 0, costs.message))
      .makespan;
}

inline std::string where(const ScheduleRequest& r, const Costs& c) {
  return std::string(to_string(r.kind)) + " p=" + std::to_string(r.devices) +
         " v=" + std::to_string(r.chunks) + " m=" + std::to_string(r.micro_batches) +
         " N=" + std::to_string(r.group_size.value_or(0)) + " F=" + std::to_string(c.forward) +
         " B=" + std::to_string(c.backward) + " t=" + std::to_string(c.message);
}

inline Int positive(Int value) { return std::max<Int>(0, value); }

inline Int ceil_divide(Int value, Int by) { return (value + by - 1) / by; }

}  // namespace orrery::schedule
