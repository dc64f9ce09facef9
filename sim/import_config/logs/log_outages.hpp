#pragma once

// When a training run stopped and began again: what its logs tell of failures, for the failure log
// of a scenario (scenario/logs/failure_log.hpp).
//
// A log tells it where the lines of its steps are dated. A restart is a step that has been before,
// settings that are printed again, or the next file. The time between the last step and the first
// one after it, less the time of the steps that this line stands for, is the outage. What lies
// between two steps without a restart - evaluation, a save, a hang that ended - is none.
//
// Ranks and nodes that write one log, or one log each, tell of one run: what lies at one time
// belongs together, and an outage is read from one clock. A file without an overlap is the next.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/units.hpp"
#include "sim/import_config/imported.hpp"
#include "sim/import_config/logs/training_log.hpp"

namespace orrery::import_config {

struct LoggedOutage {
  Seconds after;                // since the first step of the logs
  Seconds outage;               // until training went on
  std::int64_t lost_steps = 0;  // done again
  SourceLocation where;         // of the first step afterwards
  std::int64_t step = 0;        // its number
  bool anew = true;             // the program began again; else it went back on its own
};

struct LoggedOutages {
  std::size_t dated_steps = 0;  // lines of steps with a date; without them nothing is known
  Seconds length;               // from the first of them to the last
  std::vector<LoggedOutage> outages;
  std::vector<SourceLocation> set_back;  // steps before which the clock was set back
  std::int64_t interval = 1;             // steps that a line stands for
  std::vector<StepTime> kept;            // by number; of a step that was done again the last time
};

// Of all files that are logs, in the order of their dates. Linear in the lines of a log, times the
// ranks that write it.
[[nodiscard]] LoggedOutages outages_of_logs(std::span<const ConfigFile> files);

// The text of a failure log: time_s, cause, outage_s.
[[nodiscard]] std::string failure_log_text(const LoggedOutages& found);

}  // namespace orrery::import_config
