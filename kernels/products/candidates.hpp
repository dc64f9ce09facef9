#pragma once

// Which of a library's candidates for a call is the fastest, and which does not run at all?
//
//   time of a candidate = median over rounds; a round times each candidate once, so that a clock
//                         that moves meanwhile moves all of them
//
// A candidate that the library offers and that fails when it runs loses only itself. Only a device
// that answers no more ends the search.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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

struct CandidateTimes {
  std::vector<std::optional<double>> seconds;  // absent: it does not run
  std::optional<std::size_t> fastest;          // absent: none runs
};

// `seconds_of` times one call of a candidate.
[[nodiscard]] CandidateTimes time_candidates(std::size_t candidates,
                                             std::size_t rounds,
                                             const std::function<double(std::size_t)>& seconds_of,
                                             const Usable& usable);

}  // namespace orrery::kernels
