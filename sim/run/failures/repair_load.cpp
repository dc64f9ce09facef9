#include "sim/run/failures/repair_load.hpp"

namespace orrery::run {

RepairLoad repair_load(const RunPlan& plan) {
  if (!plan.mtbf) {
    return {};
  }
  double taken = 0.0;  // nodes per failure of the job
  double before = 0.0;
  for (const PlannedCause& cause : plan.causes) {
    taken += (cause.cumulative - before) * static_cast<double>(cause.takes_nodes);
    before = cause.cumulative;
  }
  if (plan.capacity.spot) {
    taken *=
        1.0 - static_cast<double>(plan.capacity.spot->nodes) / static_cast<double>(plan.step.nodes);
  }
  return nodes_in_repair(taken / *plan.mtbf, mean_repair(plan));
}

Seconds mean_repair(const RunPlan& plan) {
  const PlannedRepair& repair = plan.capacity.repair;
  return mean(repair.first) + repair.escalates * mean(repair.manual);
}

}  // namespace orrery::run
