#pragma once

// Tasks of a step graph that differ in their micro-batches alone. They consist of the same
// operations, so whoever times, sums or replays a step does it by class: tens to hundreds in place
// of up to hundreds of thousands of tasks.

#include "sim/schedule/step_graph.hpp"

namespace orrery::schedule {

// Fills classes, class_of and class_of_node of a graph from its tasks. O(tasks).
void classify_tasks(StepGraph& graph);

}  // namespace orrery::schedule
