#pragma once

// The capacity of a trial: nodes, spares, repairs, sizes and spot supply. CapacitySpec resolved
// into whole nodes and nanoseconds. Assumptions: see capacity_spec.hpp.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/run/capacity/capacity_spec.hpp"
#include "sim/run/theory/time_law.hpp"

namespace orrery::run {

// A number of nodes, of which some are bad: lemons, which fail more often until they are repaired.
struct NodeMix {
  std::int64_t good = 0;
  std::int64_t bad = 0;

  [[nodiscard]] std::int64_t total() const { return good + bad; }

  friend bool operator==(const NodeMix&, const NodeMix&) = default;
};

struct PlannedSpares {
  std::string name;  // "hot", "warm", "cold"
  std::int64_t nodes = 0;
  Duration ready;
  bool held = true;
};

struct PlannedRepair {
  Duration first;  // the automatic stage, or the whole repair
  double first_fails = 0.0;
  double escalates = 0.0;
  Duration manual;
  double manual_fails = 0.0;
  std::optional<std::int64_t> crews;
  double retire = 0.0;
  std::optional<Duration> replacement;
  std::optional<std::int64_t> remove_after;  // strikes of a bad node: it is retired then
};

// One size that the job can run at.
struct ElasticSize {
  std::int64_t nodes = 0;
  SimTime step_time;
};

struct PlannedElastic {
  std::int64_t min_nodes = 1;
  Growth grow = Growth::at_checkpoint;
  std::vector<ElasticSize> sizes;  // ascending; the last is the size of the scenario

  // The largest size that `nodes` allow; nullptr below the smallest.
  [[nodiscard]] const ElasticSize* size_for(std::int64_t nodes) const;
};

// Preemptions are failures of the job like others: RunPlan::mtbf counts them.
struct PlannedSpot {
  std::int64_t nodes = 0;       // of the job, at full size
  std::optional<Seconds> mtbp;  // mean time between the preemptions of one node
  std::int64_t burst = 1;
  Duration returns;
  std::vector<SpotTrace> traces;  // one per zone; empty with a rate
  bool random_start = true;
  SimTime notice;
  Duration migration;
  Duration ready;
  std::int32_t cause = -1;  // index into RunPlan::causes of "spot preemption"
};

struct CapacityPlan {
  std::int64_t first_nodes = 1;       // of the job in its first phase
  std::int64_t most_nodes = 1;        // of the job in its largest phase
  double bad_share = 0.0;             // probability that a node is bad at the start
  std::vector<PlannedSpares> spares;  // at least the hot ones
  PlannedRepair repair;
  std::optional<PlannedElastic> elastic;
  std::optional<PlannedSpot> spot;

  // Of all levels.
  [[nodiscard]] std::int64_t spare_nodes() const {
    std::int64_t sum = 0;
    for (const PlannedSpares& level : spares) {
      sum += level.nodes;
    }
    return sum;
  }
};

}  // namespace orrery::run
