#pragma once

// Picks the fastest of a library's candidates for a call, skipping those that fail to run.
//
//   time of a candidate = median over rounds; a round times each candidate once, so that a clock
//                         that moves meanwhile moves all of them
//
// symbol | meaning                                                             | unit | origin
// -------|---------------------------------------------------------------------|------|--------
// rounds | 9                                                                   | 1    | a choice
// most   | 1 s: the calls of all candidates together; after that there is no   | s    | a choice
//        | other call. The largest products take 50 ms each                    |      |
//
// The first call of a candidate loads its kernel, and does not count. A candidate that the library
// offers and that fails when it runs loses only itself; one that the time did not reach is unknown,
// and the library gives its best ones first. Only a device that stops answering ends it.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::kernels {

// Whether the device still answers.
using Usable = std::function<bool()>;

// Why it failed; nothing when it went well. What fails is Unsupported or Error(device); the error
// is thrown on when the device answers no more, any other always.
[[nodiscard]] std::optional<std::string> trouble_of(const std::function<void()>& attempt,
                                                    const Usable& usable);

// The first candidate that runs, 0 for the library's own choice. Throws what the last one threw
// when none does.
[[nodiscard]] std::size_t first_that_runs(std::size_t candidates,
                                          const std::function<void(std::size_t)>& run,
                                          const Usable& usable);

struct SearchRule {
  std::size_t rounds = 9;
  Seconds most = seconds(1.0);
};

struct CandidateTimes {
  std::vector<std::optional<double>> seconds;  // absent: it does not run, or nobody knows
  std::optional<std::size_t> fastest;          // of those that were timed; absent: there are none
};

// `seconds_of` times one call of a candidate.
[[nodiscard]] CandidateTimes time_candidates(std::size_t candidates,
                                             const SearchRule& rule,
                                             const std::function<double(std::size_t)>& seconds_of,
                                             const Usable& usable);

}  // namespace orrery::kernels
