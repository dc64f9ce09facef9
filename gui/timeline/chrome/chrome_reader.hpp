#pragma once

// Reads a file of Chrome trace events, as PyTorch (Kineto), Perfetto and `orrery export` write
// them, piece by piece into a store.
//
// event (ph)  | becomes
// ------------|--------------------------------------------------------------------------------
// X           | a slice
// B, E        | a slice; without its end it ends with the trace
// i, I, R     | a mark
// C           | a counter per argument that is a number
// s, t, f     | flows between the innermost slices at their times
// M           | names and order of processes (groups) and threads (rows)
//
// The events are those of sim/answer/trace, from the same reader as `orrery compare`: packed or
// not, exact times, counted here from the first event. A file that is malformed, cut off, too
// large or no
// trace gives one sentence that says where and why; one that cannot be opened throws Error(io).

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/timeline/store/levels.hpp"
#include "sim/answer/trace/gpu_activity.hpp"

namespace orrery::timeline {

struct ReadOptions {
  std::uint64_t most_bytes = std::uint64_t{8} << 30U;
  std::uint64_t most_slices = 50'000'000;
  std::stop_token stop = {};
  Progress progress = {};  // called on the thread that reads; 0 to 1
};

struct ReadResult {
  std::shared_ptr<const Store> store;                 // nothing: see problem and cancelled
  std::shared_ptr<const trace::GpuTrace> activities;  // null: no work of a GPU
  std::string title;
  std::vector<std::string> notes;  // what was left out, one sentence each
  std::string problem;
  bool cancelled = false;
};

[[nodiscard]] ReadResult read_chrome_trace(const std::filesystem::path& path,
                                           const ReadOptions& options);

// A level that shows the trace alone.
[[nodiscard]] Levels levels_of(const ReadResult& trace);

}  // namespace orrery::timeline
