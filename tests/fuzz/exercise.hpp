#pragma once

// Exercises the YAML reader with any text: runs parse(), the mapping reader and every scalar parser
// on it and aborts (ORRERY_CHECK) when a promise of their headers is broken. Shared by the
// libFuzzer target and by the test that replays its corpus.

#include <string_view>

namespace orrery::yaml {

void exercise(std::string_view text);

}  // namespace orrery::yaml
