#pragma once

// How many spot nodes can the job hold now, and when does that change? A rate of preemptions, or
// traces of several zones of which the job uses one at a time.
//
//   rate:  one node is preempted at rate 1 / mtbp; an event takes `burst` nodes, so that k nodes
//   see
//          k / (mtbp burst) events per second; each node can be had again after a draw of `returns`
//   trace: the job holds min(wanted, available(t)); a drop below what it holds takes the difference
//
// symbol  | meaning                                                             | unit | origin
// --------|---------------------------------------------------------------------|------|---------
// mtbp    | mean time between preemptions of one node                           | s    | plan
// burst   | nodes that go in one event                                          | -    | plan
// returns | until a preempted node can be had again (with a rate)               | s    | plan
// offset  | place in the trace where a trial begins: drawn, or the begin        | ns   | simulated
// notice  | an announced loss happens this much later                           | ns   | plan
//
// Memoryless with a rate: the hazard accumulated so far is kept when the number of held nodes
// changes (unit-hazard clock), so a change of the job does not disturb the process. Traces of all
// zones begin at the same offset, each modulo its own length, so that they stay aligned.
//
// A zone is left when it cannot supply what is wanted and another one can supply more.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/capacity_plan.hpp"

namespace orrery::run {

// Walks along one trace, as if it repeated for ever.
class TraceWalk {
 public:
  TraceWalk(const SpotTrace& trace, SimTime offset);

  [[nodiscard]] std::int64_t available() const;

  // When the next row begins, in simulated time; kForever for a trace of one row.
  [[nodiscard]] SimTime next() const {
    return next_;
  }

  void step();

  // Price of one GPU of the row, if the trace has prices.
  [[nodiscard]] std::optional<DollarsPerSecond> price() const;

 private:
  void find_next();

  const SpotTrace* trace_;
  std::size_t row_ = 0;
  SimTime row_end_;  // simulated time
  SimTime next_;
};

// Where in its traces a trial begins; the same for everybody who asks.
[[nodiscard]] SimTime trace_offset(const PlannedSpot& spot,
                                   std::uint64_t seed,
                                   std::uint32_t trial);

class SpotSupply {
 public:
  struct Event {
    enum class Kind { nothing, notice, loss, offer } kind = Kind::nothing;
    std::int64_t nodes = 0;
    SimTime at;  // of a notice: when the loss comes
  };

  struct Grant {
    std::int64_t nodes = 0;
    SimTime ready;
    bool moved = false;  // to another zone
  };

  // Keeps a reference to the plan.
  SpotSupply(const std::optional<PlannedSpot>& plan, std::uint64_t seed);

  void reset(std::uint32_t trial);

  // From now on the job holds `held` spot nodes and would like `wanted`.
  void set_held(SimTime now, std::int64_t held);

  [[nodiscard]] SimTime next() const {
    return next_;
  }

  // The event at next(). A loss says how many of the held nodes are gone; set_held follows.
  Event take(SimTime now);

  // A held node has failed and is handed back (rate: it can be had again after `returns`).
  void hand_back(SimTime now, std::int64_t nodes);

  // How many more nodes can be had now, in the present zone or by moving to another.
  [[nodiscard]] std::int64_t available() const;

  [[nodiscard]] std::int32_t zone() const {
    return zone_;
  }

  [[nodiscard]] std::int64_t migrations() const {
    return migrations_;
  }

 private:
  const std::optional<PlannedSpot>& plan_;
  std::uint64_t seed_;
  std::int64_t held_ = 0;
  std::int64_t away_ = 0;  // with a rate: preempted and not to be had yet
  std::int32_t zone_ = 0;
  std::int64_t migrations_ = 0;
  SimTime next_ = kForever;
  std::vector<TraceWalk> walks_;
};

}  // namespace orrery::run
