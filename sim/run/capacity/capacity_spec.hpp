#pragma once

// The capacity that a scenario states: nodes beside those the job runs on, spot nodes and repairs.
//
//   nodes of the run = cluster.nodes + spares + warm + cold;  every node is in exactly one place:
//   the job, a level of spares, repair, or retired
//
// Which nodes are bad (lemons) and how much more often they fail is stated under `failures.lemons`.
//
// What the scenario leaves out about the length of a repair is what its preset of failures says
// (RepairLaw in failure_spec.hpp).
//
// Assumptions: idle spares do not fail. A repair that works makes a bad node good; a repair never
// makes a good node bad. Repairs are independent of one another but for the crews. A spot node that
// fails is handed back instead of being repaired.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"
#include "sim/run/theory/time_law.hpp"

namespace orrery::run {

// A recorded trace of the spot nodes that could be had in a zone over time, and of their price.
//
//   available(t) = available of the last row at or before t;  a trace repeats after its length

struct SpotRow {
  SimTime from;
  std::int64_t available = 0;             // nodes that can be held at the same time
  std::optional<DollarsPerSecond> price;  // of one GPU

  friend bool operator==(const SpotRow&, const SpotRow&) = default;
};

struct SpotTrace {
  std::string name;
  std::vector<SpotRow> rows;  // neighbours differ; the first begins at 0
  SimTime length;             // time of the last row, whose other fields are not looked at

  friend bool operator==(const SpotTrace&, const SpotTrace&) = default;
};

// When row `row` ends: the next one begins, or the trace is over.
[[nodiscard]] inline SimTime end_of(const SpotTrace& trace, std::size_t row) {
  return row + 1 < trace.rows.size() ? trace.rows[row + 1].from : trace.length;
}

struct SpareSpec {
  std::int64_t nodes = 0;
  Duration ready = fixed(Seconds{});  // from asking for one until it can be placed
  bool held = true;                   // allocated (and billed) while it waits
};

struct ManualRepairSpec {
  double escalates = 1.0;  // probability that it follows the first stage
  Duration time = fixed(Seconds{});
  double fails = 0.0;
};

struct RepairSpec {
  double fails = 0.0;  // probability that the first stage leaves the defect of a bad node
  std::optional<ManualRepairSpec> manual;
  std::optional<std::int64_t> crews;    // nodes in the last stage at a time; absent: nobody queues
  double retire = 0.0;                  // probability that the node is taken out for good
  std::optional<Duration> replacement;  // until a new node takes a retired one's place; else never
};

enum class Growth { at_checkpoint, at_once, never };

// Sequences of one step, when every replica takes as many micro-batches as the others.
struct BatchRange {
  std::int64_t min = 1;
  std::optional<std::int64_t> max;

  [[nodiscard]] bool holds(std::int64_t batch) const {
    return batch >= min && (!max || batch <= *max);
  }
};

// Fewer data-parallel replicas instead of waiting for nodes.
struct ElasticSpec {
  std::int64_t min_nodes = 1;  // the job does not go on with fewer
  Growth grow = Growth::at_checkpoint;
  std::optional<BatchRange> batch = {};  // absent: shares may be unequal, and the batch stays
};

// Where spot nodes come from when their supply is recorded.
struct SpotZoneSpec {
  std::string name;
  std::string path;                // of a CSV file
  std::optional<SpotTrace> trace;  // what it holds
};

enum class TraceStart { random, beginning };

struct SpotSpec {
  double share = 1.0;                   // of cluster.nodes, rounded to whole nodes
  std::optional<PerSecond> rate;        // preemptions of one node
  std::int64_t burst = 1;               // nodes that go together
  Duration returns = fixed(Seconds{});  // with a rate: until a preempted node can be had again
  std::vector<SpotZoneSpec> zones;      // with traces: the job is in one of them at a time
  TraceStart start = TraceStart::random;
  Seconds notice;                         // between the warning and the loss of the node
  Duration migration = fixed(Seconds{});  // from one zone to another, beside the recovery
  Duration ready = fixed(Seconds{});      // from asking for a spot node until it can be placed
};

struct CapacitySpec {
  std::int64_t spares = 0;  // hot: held, in the job at once
  SpareSpec warm;
  SpareSpec cold = {.held = false};
  std::optional<Duration>
      repair_time;  // of the first stage; absent: that of the failures, with its manual one
  RepairSpec repair;
  std::optional<ElasticSpec> elastic;
  std::optional<SpotSpec> spot;
};

}  // namespace orrery::run
