#pragma once

// The expected time of a run with checkpoints in several tiers: the closed form that chooses the
// intervals.
//
//   tiers          T(i, k) = D(i, k) / (1 - r(i, k)),  see below
//
// symbol    | meaning                                                          | unit | origin
// ----------|------------------------------------------------------------------|------|-----------
// M         | mean time between failures, exponential                          | s    | failures
// C_i       | training blocked by a save of tier i                             | s    | checkpoint
// R_i       | restart from tier i                                              | s    | recovery
// tau       | training time between two saves                                  | s    | checkpoint
// p_i       | share of failures whose fastest usable copy is that of tier i    | 1    | checkpoint
// T(i, k)   | expected time from a save of tier i to the next one, which is of | s    | computed
//           | tier k >= i                                                      |      |
// D, r      | expected time of one attempt; probability that it is repeated    | s, 1 | computed
//
// Tiers: saves of tier i happen every n_i-th time, n_0 = 1, each n_i divides the next; a save to
// tier i writes the faster ones too. An attempt at a block between two saves of tier i runs its
// n_i / n_(i-1) smaller blocks one after the other; a failure of class i (probability p_i) repeats
// the block, one of a slower class repeats the larger block around it. Failures strike training,
// saves and restarts; one during a restart that needs a slower tier makes it a restart from there.
// Exact for exponential failures and synchronous saves; a save is charged after the last segment.
//
// Sources: Young 1974; Daly, FGCS 22(3) 2006; derivation above and in docs/failures.md, checked by
// simulation.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::run {

struct TierCost {
  std::int64_t every = 1;  // saves between two of this tier; 1 for the fastest, divides the next
  Seconds stall;           // of a save whose slowest tier is this one
  double share = 0.0;      // of failures that come back from this tier
  Seconds restart;         // after them, load included
};

struct TieredRun {
  Seconds useful;               // Ts
  Seconds interval;             // tau: training time between two saves of any tier, > 0
  std::vector<TierCost> tiers;  // fastest first; the shares add up to 1
  Seconds mtbf;                 // M
};

// Infinite when a share of failures comes back from no tier (the shares do not add up to 1).
[[nodiscard]] Seconds tiered_run_time(const TieredRun& run);

// Tw / Ts - 1.
[[nodiscard]] double tiered_waste(const TieredRun& run);

// What one level of a pattern of saves may choose: fixed steps, or free with a lower bound.
struct TierChoice {
  std::int64_t steps = 0;  // 0: free
  std::int64_t least = 1;  // of a free one
};

// Steps between two saves of each tier that waste the least, each a multiple of the one before; a
// fixed tier keeps its steps, rounded to a multiple. Starts from sqrt(2 C_i M / p_i) and descends
// over whole numbers; `tiers[i].every` is not read. A free tier that no failure needs is saved as
// seldom as the next one, the last one as seldom as `most` steps.
[[nodiscard]] std::vector<std::int64_t> best_tier_steps(const TieredRun& run,
                                                        std::span<const TierChoice> choices,
                                                        Seconds step,
                                                        std::int64_t most);

// [k]: probability that no group of `group` of `machines` machines is lost whole when k of them
// fail at random, k = 0 .. most; ends before when the probability has become 0. Machines that do
// not fill a group are kept by another one and count as survivors.
[[nodiscard]] std::vector<double> replica_survivals(std::int64_t machines,
                                                    std::int64_t group,
                                                    std::int64_t most);

}  // namespace orrery::run
