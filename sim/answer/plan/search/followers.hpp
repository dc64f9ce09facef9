#pragma once

// What follows when somebody turns one key of a layout that then breaks a rule or does not fit.
//
// Candidates change at most two of context, pipeline and expert parallelism, virtual stages,
// micro-batch and recomputation, each to half, twice or the next method; layout.data follows by
// itself. Never the global batch, the model, the number of GPUs or the key that was turned. Each is
// estimated; the fastest that fits comes first. Two changes must gain kWorthTwo over the best one.

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "sim/answer/plan/search/step_estimator.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::plan {

inline constexpr double kWorthTwo = 0.02;  // of the step time

struct Followers {
  std::vector<scenario::KeyValue> changes;  // without the key that was turned
  SimTime step_time = {};
};

struct TurnedKey {
  bool stands_alone = false;         // a layout as it is: nothing has to follow
  std::vector<Followers> followers;  // the best ones first; empty: none of these helps
};

// After a stop request the best so far.
[[nodiscard]] TurnedKey turn_key(const scenario::ScenarioTemplate& base,
                                 const scenario::KeyValue& turned, StepEstimator& estimator,
                                 const std::optional<hardware::ProfileSearch>& search,
                                 const std::stop_token& stop = {});

// Of a number that nothing goes with: the nearest one that something does, among its neighbours and
// the powers of two around it. Nothing for other values, or where there is none.
[[nodiscard]] std::optional<std::int64_t> nearest_value(const scenario::ScenarioTemplate& base,
                                                        const scenario::KeyValue& turned);

}  // namespace orrery::plan
