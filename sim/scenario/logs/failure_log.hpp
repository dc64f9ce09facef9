#pragma once

// The failures of a run that is over, from a log, to be replayed instead of random ones.
//
// A CSV file: a header line, then one line per failure, in any order; empty lines and lines that
// begin with # are skipped; a field may be in double quotes.
//
// column                        | meaning                                         | unit
// ------------------------------|-------------------------------------------------|------
// time, time_s, time_h, time_d  | since the start of the run                      | named
// timestamp                     | the same as a date in UTC; needs training.start | date
// cause                         | name of a cause of the scenario, or a new one   | -
// nodes                         | nodes it took out; optional                     | nodes
// outage, outage_s, outage_min, | until training went on; without it the stages   | named
// outage_h                      | of the recovery are simulated                   |
//
// A time in a column without a unit names its own, such as 12.5h.
//
// Exactly one of the columns of time is there, and `cause`. Of a file whose first line names no
// column nothing is quoted: a scenario may name any file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/run/failures/failure_spec.hpp"

namespace orrery::scenario {

// The failures in `text`, which was read from `file`; nothing when a diagnostic was added. `start`
// is that of the run, in seconds since 1970-01-01T00:00Z.
[[nodiscard]] std::optional<std::vector<run::LoggedFailure>> read_failure_log(
    std::string_view text, const std::string& file, std::optional<std::int64_t> start,
    Diagnostics& diagnostics);

}  // namespace orrery::scenario
