#pragma once

// A good layout within a second, before the search proper has begun: what a search says that is
// stopped early. Internal to plan/.
//
//   sample: layouts from all over the space, the most promising of them in full
//   climb:  from the published layout, from the scenario's own, from the best of the sample and
//           from the best one of another shape, one axis at a time as long as it gets better
//
// Better is a lower score; of layouts that do not fit, one that is less short of memory. The result
// depends on the space alone: a search that is stopped later knows this much and more, so that it
// never ends with less.

#include <cstddef>
#include <vector>

#include "sim/answer/plan/search/scoring.hpp"
#include "sim/answer/plan/search/shared_work.hpp"

namespace orrery::plan {

struct Estimated {
  std::size_t index = 0;  // among the candidates
  Ranked ranked;
};

// In the order of the indices; after a stop request without those that were not begun.
[[nodiscard]] std::vector<Estimated> estimate_layouts(std::vector<std::size_t> indices,
                                                      const std::vector<Candidate>& candidates,
                                                      const Scoring& scoring, SharedWork& work);

// All that was estimated, also what does not fit.
[[nodiscard]] std::vector<Estimated> first_answer(const std::vector<Candidate>& candidates,
                                                  const Scoring& scoring, SharedWork& work);

}  // namespace orrery::plan
