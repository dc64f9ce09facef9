#pragma once

// Traces for tests: a small one by hand with every part, and random ones.

#include <cstdint>

#include "sim/answer/report/export/trace.hpp"

namespace orrery::report::testing {

// Two processes; a pass with an operation inside it, a message, a pass that waits for it; a mark, a
// counter of bytes and one of dollars, one flow through three slices; a thread below a thread.
[[nodiscard]] Trace small_trace();

// `slices` on each of `threads` threads one after another, some of them enclosing others, and a
// flow from every tenth slice to the one after it.
[[nodiscard]] Trace random_trace(std::uint64_t seed, int threads, int slices);

}  // namespace orrery::report::testing
