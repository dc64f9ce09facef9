#pragma once

// What the tasks and messages of a step put on the network, and when within the task. Used inside
// step/ only.
//
//   task      = pieces one after another, each `before` and then a flow, and a fixed time `behind`
//   exposed   = alone - lead;   sum of (before + exposed) + behind == time of the task, in whole ns
//   lead      = hidden share of the piece: its flow starts so long before `before` is over, and the
//               piece ends when both have ended
//
// symbol  | meaning                                                           | unit | origin
// --------|-------------------------------------------------------------------|------|------------
// before  | work, latencies, launches, communication that crosses no NIC      | ns   | stage costs
// alone   | time of the flow on links of its own, rounded                     | ns   | network_use
// hidden  | 1 - exposed time of the ledger category / time of its collectives | 1    | stage costs
// path    | which links the flow loads                                        | -    | layout
//
// The collectives of a pass stand at equal distances; those of a data-parallel task and the flow of
// a message stand where they are. So the ledger's own times say how much of a collective hides,
// whatever hides it: GEMMs, attention, shared experts or the other pass of a combined step.
// Tensors copied between stages, parameter broadcasts and outer steps stay fixed times.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/step/simulate/replay/task_times.hpp"
#include "sim/step/simulate/shared_links/step_network.hpp"

namespace orrery::step {

// Flows with equal paths load the same links.
struct NetworkPath {
  cost::NetworkPattern pattern = cost::NetworkPattern::ring;
  std::int32_t device = 0;  // of a message: the sender
  std::int32_t to = 0;      // of a message: the receiver
  layout::GroupKind group = layout::GroupKind::data_context;
  std::int64_t ranks = 0;  // of the parts into which the group is cut; 0: it is not
  bool data = false;       // of a collective of data, in which all replicas meet

  friend bool operator==(const NetworkPath&, const NetworkPath&) = default;
};

struct NetworkPiece {
  SimTime before;
  SimTime lead;
  SimTime alone;
  double bytes = 0.0;
  std::uint32_t path = 0;
};

struct TaskNetwork {
  std::vector<NetworkPiece> pieces;
  SimTime behind;
};

// `costs` are those of the unshared network, for each type of GPU.
struct NetworkWorkInput {
  const StepInput& input;
  const cost::CostModel& costs;
  const std::vector<std::vector<int>>& buckets;
  const schedule::StepGraph& graph;
  const StageCosts& stages;
  const TaskTimes& times;
};

struct NetworkWork {
  std::vector<NetworkPath> paths;
  std::vector<TaskNetwork> of_class;    // by class of tasks; without pieces: one fixed time
  std::vector<TaskNetwork> of_message;  // by delay index of the graph
};

[[nodiscard]] NetworkWork find_network_work(const NetworkWorkInput& of);

[[nodiscard]] constexpr Traffic traffic_of(const schedule::StepTask& task) {
  return task.stream == schedule::Stream::data_parallel_comm ? Traffic::data
         : task.kind == schedule::TaskKind::send_receive     ? Traffic::messages
                                                             : Traffic::passes;
}

// One flow of a task before it is placed.
struct Wire {
  std::uint32_t path = 0;
  double bytes = 0.0;
  Seconds alone = {};
  double exposed = 1.0;  // share of it that the task waits for
  double before = 1.0;   // its claim on the fixed time of the task, as `behind` below
};

// Fits wires into a task of `total`. Where they take longer, they run as much faster.
[[nodiscard]] TaskNetwork place_wires(SimTime total, std::span<const Wire> wires, double behind);

}  // namespace orrery::step
