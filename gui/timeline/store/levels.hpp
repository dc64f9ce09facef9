#pragma once

// Nesting of timelines on one clock: run -> step -> operation.
//
//   time of the step timeline = time of the run - start of the step
//   start of a step           = start of its stretch + n * period
//
// symbol  | meaning                                                        | unit | origin
// --------|----------------------------------------------------------------|------|---------
// level   | a store with its own clock, and where it occurs on the clock   | -    | adapters
//         | of the level above                                             |      |
// stretch | time of the outer level in which the inner one repeats         | ns   | adapters
// period  | distance of the repetitions                                    | ns   | adapters
// number  | of a repetition, counted from `first_number`                   | -    | adapters
//
// Absolute time is that of level 0. One timeline stands for all repetitions: every training step is
// drawn as the step that was simulated. What is left of a stretch that is no whole number of
// periods is shown as a repetition that is cut off.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/timeline/store/store.hpp"

namespace orrery::timeline {

struct Stretch {
  TimeRange range;
  std::int64_t first_number = 0;
};

struct Occurrence {
  TimeRange range;  // on the clock of the outer level
  std::int64_t number = 0;
};

class Repetition {
 public:
  Repetition() = default;

  // Stretches are sorted and do not overlap; period >= 1.
  Repetition(std::vector<Stretch> stretches, std::int64_t period);

  [[nodiscard]] bool empty() const { return stretches_.empty(); }

  [[nodiscard]] std::int64_t period() const { return period_; }

  [[nodiscard]] std::optional<Occurrence> at(std::int64_t time) const;

  // Nearest to a moment: the one at it, else the nearest end.
  [[nodiscard]] std::optional<Occurrence> nearest(std::int64_t time) const;

  // Those that overlap a range, in order; at most `most`.
  [[nodiscard]] std::vector<Occurrence> within(TimeRange range, std::size_t most) const;

 private:
  [[nodiscard]] Occurrence in_stretch(const Stretch& stretch, std::int64_t time) const;

  std::vector<Stretch> stretches_;
  std::int64_t period_ = 1;
};

struct Level {
  std::string name;  // "run", "step", "operations"
  std::string unit;  // what one occurrence is called: "step"; empty: there is only one
  std::shared_ptr<const Store> store;
  Repetition repetition;  // on the clock of the level above; empty for level 0
  std::string note;       // what the timeline shows, for people
  // Windows up to this long show it; absent: those up to one repetition.
  std::optional<std::int64_t> longest_window = {};
  // Seconds since 1970 at the begin of level 0, where the run has a date.
  std::optional<std::int64_t> unix_start = {};
};

// How long a window is in which a level comes up.
[[nodiscard]] inline std::int64_t longest_window(const Level& level) {
  return level.longest_window.value_or(level.repetition.period());
}

// Level 0 is the outermost; each further one occurs in the one before.
using Levels = std::vector<Level>;

}  // namespace orrery::timeline
