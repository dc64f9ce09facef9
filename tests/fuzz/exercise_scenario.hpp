#pragma once

// Exercises the scenario reader with any text: runs load_text() on it and aborts (ORRERY_CHECK)
// when a promise of load.hpp is broken. Shared by the libFuzzer target and by the test that replays
// its corpus.

#include <string_view>

namespace orrery::scenario {

void exercise(std::string_view text);

}  // namespace orrery::scenario
