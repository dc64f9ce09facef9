#pragma once

// Near misses: layouts that would win if they fitted in memory, and what would make them fit.
//
//   remedy = the fastest layout that fits and differs from the neighbour in one axis only
//
// Axes that follow (data, the shard group of a whole group, the schedule of another number of
// chunks) may differ as well.

#include <cstddef>
#include <stop_token>
#include <vector>

#include "sim/answer/plan/pool.hpp"
#include "sim/answer/plan/result/plan.hpp"
#include "sim/answer/plan/space/space.hpp"

namespace orrery::plan {

// At most `most`, the one that is least short first. `winner` is of the same search. Throws
// Error(interrupted).
[[nodiscard]] std::vector<Neighbour> find_neighbours(const ClusterSearch& cluster,
                                                     const Space& space, const Workbench& bench,
                                                     const Finalist& winner, std::size_t most,
                                                     const std::stop_token& stop);

// What the winner loses with one axis a step aside: of degrees the value below and the one above,
// of words every other one; of each the best layout that differs in nothing else.
[[nodiscard]] std::vector<StepAside> find_steps_aside(const ClusterSearch& cluster,
                                                      const Space& space, const Workbench& bench,
                                                      const Finalist& winner,
                                                      const std::stop_token& stop);

// The axis in which two candidates of one cluster differ, if it is a single one: its trait of
// `other`. Nothing for equal candidates and for those that differ in more.
[[nodiscard]] std::optional<Trait> single_difference(const Candidate& one, const Candidate& other,
                                                     const Workbench& bench);

}  // namespace orrery::plan
