#pragma once

// A plan with nothing but nodes, for tests of the pool and the bill. Test helper.
//
// symbol | meaning             | unit  | origin
// -------|---------------------|-------|-------
// nodes  | of the job          | nodes | test
// hot    | spares              | nodes | test

#include <cstdint>

#include "sim/run/run_plan.hpp"

namespace orrery::run {

inline SimTime at(double hour) { return to_sim_time(hours(hour)); }

inline RunPlan plan_of_nodes(std::int64_t nodes, std::int64_t hot, Duration repair) {
  RunPlan plan;
  plan.step.nodes = nodes;
  plan.step.gpus_per_node = 8;
  plan.step.gpus = 8 * nodes;
  plan.capacity.first_nodes = plan.capacity.most_nodes = nodes;
  plan.capacity.spares.push_back({"hot", hot, fixed(Seconds{}), true});
  plan.capacity.repair.first = repair;
  return plan;
}

}  // namespace orrery::run
