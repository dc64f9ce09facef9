#pragma once

// From the traces of a small job to the step of a larger one: what the model gets wrong here it is
// taken to get wrong there by the same factor, category by category.
//
//   there, projected = sum over rows of predicted(there) f,  f = measured(here) / predicted(here)
//
// symbol | meaning                                                       | unit | origin
// -------|---------------------------------------------------------------|------|-----------
// row    | categories as compare_measured.hpp puts them together         | s    | both steps
// f      | 1 where a row is less than kLeast of the step in either column here | 1 | computed
//
// What has no row of its own here (messages of a pipeline that was not there) rests on the model
// alone, and its share is said.

#include <string>
#include <vector>

#include "sim/answer/evaluate/compare/compare_measured.hpp"

namespace orrery::evaluate {

struct ProjectedRow {
  std::string_view key;
  std::string_view label;
  Seconds predicted;  // there
  double factor = 1.0;
  bool measured = false;  // the factor comes from the traces

  [[nodiscard]] Seconds projected() const { return predicted * factor; }
};

struct Projection {
  std::vector<ProjectedRow> rows;
  Seconds predicted;
  Seconds projected;
  double by_model = 0.0;  // share of the projected step whose rows have no measurement
  std::int64_t gpus = 0;
  bool feasible = true;
  double tokens_per_second = 0.0;
};

[[nodiscard]] Projection project_measured(const MeasuredComparison& here,
                                          const report::Evaluation& there);

[[nodiscard]] std::string projection_text(const Projection& projection,
                                          const std::vector<std::string>& changes);

}  // namespace orrery::evaluate
