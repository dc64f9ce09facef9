#pragma once

// A recorded trace of the spot nodes that could be had in a zone over time, and of their price.
//
//   available(t) = available of the last row at or before t;  a trace repeats after its length
//
// symbol    | meaning                                                     | unit  | origin
// ----------|-------------------------------------------------------------|-------|----------
// time      | since the begin of the trace, ascending, the first one 0    | s     | CSV file
// available | nodes that can be held at the same time                     | nodes | CSV file
// price     | of one GPU; optional column                                 | $/h   | CSV file
// length    | time of the last row, whose other fields are not looked at  | ns    | CSV file

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"

namespace orrery::run {

struct SpotRow {
  SimTime from;
  std::int64_t available = 0;
  std::optional<DollarsPerSecond> price;  // of one GPU

  friend bool operator==(const SpotRow&, const SpotRow&) = default;
};

struct SpotTrace {
  std::string name;
  std::vector<SpotRow> rows;  // neighbours differ; the first begins at 0
  SimTime length;

  friend bool operator==(const SpotTrace&, const SpotTrace&) = default;
};

// When row `row` ends: the next one begins, or the trace is over.
[[nodiscard]] inline SimTime end_of(const SpotTrace& trace, std::size_t row) {
  return row + 1 < trace.rows.size() ? trace.rows[row + 1].from : trace.length;
}

}  // namespace orrery::run
