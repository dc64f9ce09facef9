#pragma once

// How long is one step of this model, laid out like this, on this hardware and software?
//
//   1. cost every operation of every chunk (cost/), by category of the step ledger
//   2. generate the pipeline schedule and its step graph (schedule/): structure without seconds
//   3. give the tasks their durations, replay the graph in one linear pass (engine/)
//   4. stretch compute that shares the GPU with overlapped communication, replay again
//   5. book every GPU-nanosecond to one category; sum must equal gpus * step time
//
// Input is a resolved layout (all divisibility rules hold). The result is deterministic. A schedule
// that the layout cannot run is reported as a StepRefusal: an answer for the user, with the rule.

#include <string>
#include <variant>

#include "sim/cost/cost_model.hpp"
#include "sim/layout/layout_spec.hpp"
#include "sim/model/model_spec.hpp"
#include "sim/step/step_result.hpp"
#include "sim/step/step_spec.hpp"

namespace orrery::step {

struct StepProblem {
  std::string key;      // scenario key that decides, e.g. "layout.virtual_stages"
  std::string message;  // the rule with its numbers
  std::string allowed;
};

struct StepInput {
  model::ModelSpec model;
  layout::Layout layout;
  layout::ClusterShape cluster;
  StepSpec spec;
};

struct StepOptions {
  bool timeline = true;    // keep the slices
  bool ticks = false;      // slices in ticks of layers (unit_times.hpp) in place of simulated time
  bool operations = true;  // keep the account by operation
};

[[nodiscard]] std::variant<StepResult, StepProblem> simulate_step(const StepInput& input,
                                                                  const cost::CostModel& costs,
                                                                  const StepOptions& options = {});

}  // namespace orrery::step
