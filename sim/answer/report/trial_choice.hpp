#pragma once

// Which trial of a run a timeline shows, and which others are worth a look.
//
//   rate = tokens done and kept / wall time of a trial
//
// Of the first run::kComparedTrials trials alone: of those the totals are kept.

#include <cstdint>
#include <string>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

// The number of the trial at this share of them, the slowest first: 0 is the slowest, 0.5 in the
// middle. Of trials alike the lower number; needs a run.
[[nodiscard]] std::uint32_t trial_at(const Evaluation& evaluation, double share);

// "trial 3 of 1,000, slower than 62 of the first 100"; empty without a run.
[[nodiscard]] std::string trial_words(const Evaluation& evaluation);

}  // namespace orrery::report
