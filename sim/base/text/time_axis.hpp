#pragma once

// Labels for moments and durations on the time axis,
// at round distances from weeks to nanoseconds.
//
//   distance = least of the round distances with (end - begin) / distance <= most labels
//
// Round: 1, 2, 5 x 10^k ns up to 1 s; 1, 2, 5, 10, 15, 30 s and min; 1, 2, 3, 6, 12 h;
// 1, 2, 7, 14, 28 d.
// A label has at most six digits. Where that is not enough for the distance, labels are offsets
// ("+120 us") from a round base shown once. Where the calendar time of the origin is known,
// labels of seconds and above are dates and times of day in UTC.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

// "1.234 ms", "3.09 h", "12 ns"; up to four significant digits, exact for integers of a unit.
[[nodiscard]] std::string duration_text(std::int64_t ns);

struct TimeTick {
  std::int64_t time = 0;
  std::string label;
};

// When it is: "2024-03-05T14:03Z" where the seconds since 1970 at 0 are known, else how long after.
[[nodiscard]] std::string moment_text(std::int64_t ns, std::optional<std::int64_t> unix_start);

struct TimeTicks {
  std::vector<TimeTick> ticks;
  std::int64_t distance = 1;
  std::string base;  // "from 3 d 4 h", "2024-03-05 UTC"; empty: labels are whole times
};

// At most `most` labels from `begin` to `end`; times are counted from `zero`, at which so many
// seconds have passed since 1970 where that is known.
[[nodiscard]] TimeTicks ticks_of(std::int64_t begin, std::int64_t end, std::int64_t zero, int most,
                                 std::optional<std::int64_t> unix_start = {});

}  // namespace orrery
