#pragma once

// Dumps a Scenario: every field of every spec as one line "field = value", so that a test can say
// which fields a key changes. Places and the digest are left out: they follow the text.

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace orrery::scenario {

[[nodiscard]] std::vector<std::string> dump(const Scenario& scenario);

// The lines of `after` that `before` does not hold, joined by "; ". Where no line differs, those of
// the keys as their rows print them: `key = value`.
[[nodiscard]] std::string difference(const Scenario& before, const Scenario& after);

}  // namespace orrery::scenario
