#pragma once

// The whole sweep: what the journal has, is taken from it; the rest is evaluated by the team.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/answer/sweep/journal.hpp"
#include "sim/answer/sweep/sweep.hpp"
#include "sim/answer/sweep/team.hpp"

namespace orrery::sweep {

struct RunOptions {
  Journal* journal = nullptr;  // none: nothing outlives the program
  int threads = 0;             // of every process of the team; 0: all cores
  std::stop_token stop = {};
  bool for_all = false;  // all processes need the results; else process 0 alone
  // Points done of all, those of the journal included; called by one thread at a time.
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
};

struct SweepOutcome {
  std::vector<PointResult> results;  // by point; as many as are done when it is not complete
  std::int64_t done = 0;
  std::int64_t reused = 0;  // of these, from the journal
  bool complete = false;    // false: a stop request came first
};

// All processes call it; the journal is that of process 0. Throws Error(io), as the journal does.
[[nodiscard]] SweepOutcome run_sweep(const Sweep& sweep, Team& team, const RunOptions& options);

}  // namespace orrery::sweep
