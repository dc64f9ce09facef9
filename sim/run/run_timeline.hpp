#pragma once

// The timeline of one trial: its intervals, for drawing and for checking the ledger.
//
// Intervals of the job tile the wall time without gap or overlap; failures are marks between them.
// Training that a later failure took is relabelled lost_training, training that was thrown away on
// purpose discarded_training.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"

namespace orrery::run {

enum class RunActivity : std::uint8_t {
  training,
  lost_training,
  checkpoint,
  evaluation,
  planned_maintenance,
  unitemised,
  detection,
  diagnosis,
  waiting_for_capacity,
  scheduling,
  communicator_init,
  load,
  warm_up,
  failure,
  discarded_training,
  rework,
};

inline constexpr std::size_t kRunActivityCount = 16;

[[nodiscard]] std::string_view to_string(RunActivity activity);

struct RunInterval {
  SimTime begin;                             // start of the interval
  SimTime end;                               // its end; a failure has begin == end
  RunActivity kind = RunActivity::training;  // what the job did
  std::int32_t cause = -1;  // index into RunPlan::causes for failures and recoveries

  friend bool operator==(const RunInterval&, const RunInterval&) = default;
};

// Who holds which nodes, at which price. Holdings tile the wall time; they end where nodes come or
// go and where a price changes. The integral of `rate` is what nodes, spares, repair and
// reservation cost in the bill, a commitment beyond the end of the run apart.
struct Holding {
  SimTime begin;
  SimTime end;
  std::int64_t job = 0;  // of them on spot: `spot`
  std::int64_t spot = 0;
  std::int64_t spares = 0;  // that are paid for while they wait
  std::int64_t repair = 0;
  DollarsPerSecond rate = {};

  friend bool operator==(const Holding&, const Holding&) = default;
};

// A failure hits a node. Nodes are numbered as NodeRoster says.
struct NodeHit {
  SimTime at;
  std::int32_t cause = 0;  // index into RunPlan::causes
  std::int64_t node = 0;
  bool leaves = false;          // the job, when the failure has been diagnosed
  std::int64_t successor = -1;  // the node that takes its place; -1: none did
  SimTime back = kForever;      // from repair, or replaced

  friend bool operator==(const NodeHit&, const NodeHit&) = default;
};

class RunTimeline {
 public:
  void add(RunInterval interval) { intervals_.push_back(interval); }

  // Relabels the latest `lost` of training time as `kind`.
  void mark_lost(SimTime lost, RunActivity kind);

  void hold(const Holding& holding) { holdings_.push_back(holding); }

  // In order of time and cause; of nodes 0 ... `nodes` - 1.
  void record_nodes(std::vector<NodeHit> hits, std::int64_t nodes) {
    hits_ = std::move(hits);
    nodes_ = nodes;
  }

  void clear() { *this = {}; }

  [[nodiscard]] const std::vector<RunInterval>& intervals() const { return intervals_; }

  [[nodiscard]] const std::vector<Holding>& holdings() const { return holdings_; }

  [[nodiscard]] const std::vector<NodeHit>& hits() const { return hits_; }

  // Of the job, of its spares and of later phases, on spot.
  [[nodiscard]] std::int64_t nodes() const { return nodes_; }

 private:
  std::vector<RunInterval> intervals_;
  std::vector<Holding> holdings_;
  std::vector<NodeHit> hits_;
  std::int64_t nodes_ = 0;
};

}  // namespace orrery::run
