#pragma once

// A whole run that a case states in a few numbers, through the real run simulator.
//
// symbol   | meaning                                         | unit | origin
// ---------|-------------------------------------------------|------|----------
// steps    | optimizer steps until the end                   | -    | case
// step     | time of one                                     | s    | case
// saves    | steps between checkpoints; 0: none              | -    | case
// stall    | training blocked by a save                      | s    | case
// durable  | from the begin of a save until it protects      | s    | case
// restart  | from a failure to the next step, in one stage   | s    | case

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/scenario/presets/preset_library.hpp"

namespace orrery::validate {

struct RunCase {
  std::int64_t steps = 1;
  Seconds step;
  std::int64_t save_every = 0;
  Seconds stall;
  Seconds restart;
  std::vector<Seconds> failures = {};
  std::int64_t evaluate_every = 0;  // 0: never
  Seconds evaluation = {};
  std::optional<Seconds> durable = {};  // absent: a save protects when its stall is over
};

struct RunCaseTimes {
  Seconds wall;
  Seconds lost;
  Seconds checkpoint;
  Seconds restart;
  Seconds evaluation;
};

// Nothing when the run's rules refuse the case.
[[nodiscard]] std::optional<RunCaseTimes> run_case(const RunCase& run);

// Calendar time of a published run, by what is known of it before it begins.
//
// symbol     | meaning                                                      | unit  | origin
// -----------|--------------------------------------------------------------|-------|-------------
// steps,step | training without losses                                      | -, s  | publication
// saves      | as stated; else at the best interval, 14 B per parameter     | -, s  | publication
// failures   | stated rates; else those of a preset: of that run, or of a    | 1/s   | publication,
//            | fleet with such GPUs                                         |       | preset
// machines   | that break per day of the calendar: while the job waits none | 1/d   | publication
//            | does, so they break more often while it runs                 |       |
// recovery   | preset rsc-2024: detected within 5 min, 5 to 20 min restart  | s     | preset
// repair     | two days; as many spares as 99 of 100 times suffice, unless  | s, -  | assumed
//            | their number is stated                                       |       |
//
// The same rule for every run, nothing fitted to any: what is left between the answer and the
// published calendar is downtime that nobody itemised.

struct CalendarCase {
  std::string failures;  // a preset, where no rate is stated
  std::int64_t steps = 1;
  Seconds step;
  double parameters = 0.0;
  std::int64_t nodes = 1;
  std::int64_t save_every = 0;  // 0: the best interval
  Seconds save;
  std::int64_t evaluate_every = 0;
  Seconds evaluation;
  Seconds ramp;                          // before `steps`, at another pace
  std::vector<Seconds> named_losses;     // itemised by the publication
  std::optional<double> restarts;        // over the whole run
  std::optional<double> machines_a_day;  // that break
  std::optional<std::int64_t> spares;
};

struct CalendarTimes {
  Seconds fault_free;
  Seconds calendar;  // mean of the trials, named losses included
  double failures = 0.0;
  std::vector<std::string> notes;
};

// Nothing when the run's rules refuse the case.
[[nodiscard]] std::optional<CalendarTimes> simulate_calendar(const CalendarCase& run,
                                                             const scenario::PresetLibrary& presets,
                                                             int threads);

}  // namespace orrery::validate
