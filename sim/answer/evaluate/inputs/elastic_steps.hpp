#pragma once

// Step times of a shrunken job, from the step simulator, once per possible size.
//
//   sizes: nodes of d' = d - 1, d - 2, ... whole data-parallel replicas that fill whole nodes
//   micro-batches of the slowest replica = ceil(global / (micro * d'));  the global batch stays
//   with capacity.elastic.batch: m = global / (micro * d') rounded to a neighbour inside the range,
//     else to the nearer one; batch' = m micro d'; time of a full step = time' * global / batch'
//   step time = simulated(size) * given / simulated(scenario) with a given step time
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|---------
// d, d'  | data-parallel replicas of the scenario, of the shrunk job      | 1    | layout
// global | sequences per optimizer step                                   | -    | scenario
// micro  | sequences per micro-batch                                      | -    | scenario
//
// A size is left out when its layout breaks a rule (experts, shard groups) or does not fit in
// memory: with ZeRO, fewer replicas hold larger shards. Of many sizes all of the largest are
// simulated and every 2 % of the others: the job runs at the largest size below what it has.

#include <vector>

#include "sim/answer/evaluate/evaluate_options.hpp"
#include "sim/answer/evaluate/inputs/phase_steps.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/run/capacity/capacity_plan.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/layout/layout_spec.hpp"

namespace orrery::evaluate {

// Ascending, without the size of the scenario itself; empty without capacity.elastic. Reports
// batches outside capacity.elastic.batch: an error for that of the scenario, else a warning.
[[nodiscard]] std::vector<run::ElasticSize> elastic_sizes(const scenario::Scenario& scenario,
                                                          const layout::Layout& layout,
                                                          const PhaseBase& base,
                                                          const EvaluateOptions& options,
                                                          Diagnostics& diagnostics);

}  // namespace orrery::evaluate
