#pragma once

// Exercises the evaluation of any scenario that the reader accepts: evaluates it with few trials
// and aborts (ORRERY_CHECK) when the answer breaks a promise: ledgers that sum up exactly, shares
// between 0 and 1, no NaN, a page without control sequences for the terminal. Scenarios that ask
// for more work than a test can do are skipped.

#include <string_view>

namespace orrery::fuzz {

// Whether it was evaluated.
bool exercise_evaluation(std::string_view text);

}  // namespace orrery::fuzz
