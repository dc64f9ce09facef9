#pragma once

// Scores of estimates by the objective, their front and the best few. Internal to plan/.
//
// The formulas are those of search.hpp. Lower is better; equal scores keep their order.

#include <cstdint>
#include <vector>

#include "sim/answer/plan/search/search.hpp"

namespace orrery::plan {

struct Scoring {
  const Workbench& bench;
  const PlanSpec& spec;
  const SearchOptions& options;

  [[nodiscard]] double seconds_per_sequence(const Ranked& ranked) const;

  // Of the whole job, in dollars or, without prices, GPU-hours.
  [[nodiscard]] double rate(const Candidate& candidate) const;

  [[nodiscard]] double score(const Ranked& ranked) const;
};

[[nodiscard]] inline bool before(const Ranked& a, const Ranked& b) { return a.score < b.score; }

// Best first.
void keep_best(std::vector<Ranked>& list, std::int64_t keep);

// No other is both faster and cheaper.
[[nodiscard]] std::vector<Ranked> pareto_front(const std::vector<Ranked>& fitting,
                                               const Scoring& scoring);

}  // namespace orrery::plan
