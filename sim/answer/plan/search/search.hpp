#pragma once

// The search for the best layouts: every layout of the space is decided, the best few are kept.
//
//   score(step_time)      = step time / global batch
//   score(finish_time)    = the same: steps are as many as tokens need
//   score(cost, per token) = step time / global batch * GPUs * price of a GPU-hour
//   score(energy)         = step time / global batch * GPUs * power limit of a GPU
//   score(fewest_gpus)    = GPUs, then step time / global batch, of those that meet the deadline
//
// A search begins with a first answer (first_answer.hpp), found in a fraction of a second whatever
// happens; one that is stopped gives the best of that and of what it has seen. So it never ends
// with less than one that was stopped earlier, nor with less than the scenario's own layout.
//
// Scores rank estimates of a run without failures; layouts whose scores are close are left to the
// full simulation of the pool. Ties keep the order of the space. The result does not depend on the
// number of threads or processes.

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/answer/plan/search/estimate.hpp"
#include "sim/answer/plan/space/candidate.hpp"
#include "sim/answer/plan/space/space.hpp"
#include "sim/answer/plan/space/workbench.hpp"
#include "sim/answer/sweep/team.hpp"
#include "sim/scenario/plan_spec.hpp"

namespace orrery::plan {

struct Ranked {
  Candidate candidate;
  Estimate estimate;
  double score = 0.0;  // of the objective; lower is better
};

struct SearchCounts {
  double grid = 0.0;           // combinations before any rule
  std::int64_t layouts = 0;    // whose rules hold
  std::int64_t seen = 0;       // of these, with a bound at least: all but after a stop request
  std::int64_t estimated = 0;  // in full: step graph, replay, ledger
  std::int64_t bounded = 0;    // a lower bound of their step time is above the best few; whether
                               // they fit was not asked
  std::int64_t fits = 0;       // of the estimated
  std::int64_t over_memory = 0;
  std::int64_t over_host_memory = 0;
  std::int64_t breaks_rule = 0;  // of the schedule, found when it was made
};

struct SearchResult {
  std::vector<Ranked> best;    // by score; at most SearchOptions::keep
  std::vector<Ranked> front;   // no other is both faster and cheaper; by time per sequence
  std::vector<Ranked> misses;  // too large for memory, would beat best.front(); least short first
  SearchCounts counts;
  bool complete = true;  // false: stopped; best of what was seen
};

struct SearchOptions {
  int threads = 0;         // 0: all cores
  std::int64_t keep = 64;  // best
  std::int64_t misses = 16;
  bool prune = true;  // leave out what cannot be among the best; false: estimate all
  // Processes that share the search: each calls search() with the same question and gets the whole
  // result. None: this one alone.
  sweep::Team* team = nullptr;
  // Dollars per GPU-hour by machine; empty: the same for all.
  std::vector<double> gpu_hour = {};
  // Sequences that the run must see, for deadlines; absent: none.
  std::optional<double> sequences = {};
  std::stop_token stop = {};
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};  // one thread at a time
  std::function<void(const Ranked& best)> found = {};  // each that fits and beats those before it
};

[[nodiscard]] SearchResult search(const Workbench& bench, const Space& space, const PlanSpec& spec,
                                  const SearchOptions& options);

}  // namespace orrery::plan
