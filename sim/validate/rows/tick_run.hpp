#pragma once

// A schedule whose every operation costs a whole number of ticks, through the real step graph and
// the engine, in the quantities in which reference cases are stated.
//
//   busy + idle = makespan on every device; inner_idle = last_end - first_start - busy
//
// symbol     | meaning                                                   | unit  | origin
// -----------|-----------------------------------------------------------|-------|---------
// makespan   | last end of an operation                                  | ticks | computed
// span       | largest (last end - first start) of a device              | ticks | computed
// blocked    | rendezvous: time a device is in communication             | ticks | computed

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "sim/step/schedule/schedule.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

using Ticks = std::vector<std::int64_t>;

struct TickCosts {
  Ticks forward = {};   // by virtual stage
  Ticks backward = {};  // full
  Ticks input = {};     // empty where no backward is split
  Ticks weight = {};
  std::int64_t overlapped = 0;
  std::int64_t message = 0;
};

struct TickRun {
  std::int64_t makespan = 0;
  std::int64_t span = 0;
  Ticks busy = {};  // by device, as everything below
  Ticks idle = {};
  Ticks inner_idle = {};
  Ticks first_start = {};
  Ticks last_end = {};
  Ticks blocked = {};

  friend bool operator==(const TickRun&, const TickRun&) = default;
};

[[nodiscard]] Ticks uniform(int count, std::int64_t ticks);

[[nodiscard]] std::variant<TickRun, schedule::Deadlock> run_ticks(
    const schedule::Schedule& schedule, schedule::P2pMode mode, const TickCosts& costs);

// A schedule whose lists the case spells out (`order`, `placement`); nothing when unreadable.
[[nodiscard]] std::optional<schedule::Schedule> explicit_schedule(const DataRow& row);

}  // namespace orrery::validate
