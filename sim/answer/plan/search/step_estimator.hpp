#pragma once

// The step of a scenario as `orrery run` predicts it, for repeated calls with other layouts.
//
// The answer of the estimator of plans (estimate.hpp): profiles, costs and what layouts share stay
// from one call to the next. Scenarios that it does not know (several GPU types, a stated step
// time) are errors, as they are for plans. One object per thread.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/answer/plan/search/estimate.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::plan {

class StepEstimator {
 public:
  StepEstimator();
  ~StepEstimator();

  // Of `scenario`, which `changes` made of one and the same file. Nothing, and an error, where the
  // layout or the step breaks a rule; rules of the run are not asked. Layouts that do not fit in
  // memory have an estimate.
  [[nodiscard]] std::optional<Estimate> estimate(
      const scenario::Scenario& scenario, std::span<const scenario::KeyValue> changes,
      const std::optional<hardware::ProfileSearch>& search, Diagnostics& diagnostics);

 private:
  struct Known;

  std::shared_ptr<step::StepSimulator> simulator_;       // of all that is known
  std::map<std::string, std::unique_ptr<Known>> known_;  // by all that is not the layout
};

}  // namespace orrery::plan
