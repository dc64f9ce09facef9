#pragma once

// The numbers of the nodes in a trial that is recorded: which of them fails, and who takes its
// place.
//
//   0, 1, ...: nodes of the job at its start, spares by level, nodes of later phases, spot nodes
//   unit of node i = floor(i / nodes of a unit), for racks, switches and power domains
//
// The pool counts nodes; the roster follows each of its moves and draws from a stream of its own.
// So a trial has the same result whether it is recorded or not.
//
// Assumptions
// - Every node of the job that is as good as another is hit with the same probability.
// - A cause that strikes a whole unit hits the job's nodes in one unit; where it takes more than
//   those, the ones with the nearest numbers. How many of them are lemons is the strike's to say.
// - A component whose life remembers has a place in the job: it fails there again, in the node that
//   stands in at that time.
// - A number is a place in the hall: a machine that replaces a retired one has its number, and a
//   spot node that of one that left.
//
// Complexity: O(1) per move, O(nodes of a unit) per strike; a unit of which the job has nothing
// left is searched around.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/failures/failure_sources.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_timeline.hpp"

namespace orrery::run {

class NodeRoster {
 public:
  // Where nodes are: in the job, in the job on spot, in each level of spares, parked.
  static constexpr std::size_t kJob = 0;
  static constexpr std::size_t kSpot = 1;
  static constexpr std::size_t kFirstLevel = 2;

  // Keeps a reference to the plan.
  NodeRoster(const RunPlan& plan, std::uint32_t trial);

  // The nodes of each place at the start, and how many spot nodes there can be; those with the
  // numbers `bad`, ascending, are lemons.
  void begin(const std::vector<std::int64_t>& counts, std::int64_t spot,
             const std::vector<std::int64_t>& bad);

  // A cause strikes now. Of the nodes that it hits, `taken` leave with the next loss of the pool,
  // `strike.bad` of them lemons; where it takes none, its nodes are hit and stay.
  void strike(SimTime now, Strike strike, std::int64_t taken);

  // A node that was struck leaves the job: any good one, fixed or on spot, or a lemon by its index.
  std::int64_t lose(bool spot);
  std::int64_t lose_bad(std::size_t which);
  void end_loss();

  // `count` nodes on spot are taken away.
  void preempt(SimTime now, std::int64_t count);

  // The job has so many nodes on spot, without a strike.
  void hold_spot(std::int64_t count);

  // A node leaves a place: any good one, or a lemon by its index.
  std::int64_t take(std::size_t place);
  std::int64_t take_bad(std::size_t place, std::size_t which);

  // A node comes; in the job it stands in for the one that has been missing for longest.
  void put(std::size_t place, std::int64_t node, bool bad);

  // From repair, or its replacement has arrived.
  void come_back(SimTime now, std::int64_t node);

  // Strikes whose nodes have not left yet are assigned to nodes that stay.
  void finish(RunTimeline& timeline);

 private:
  static constexpr std::size_t kAway = static_cast<std::size_t>(-1);
  static constexpr std::size_t kNoHit = static_cast<std::size_t>(-1);

  struct Node {
    std::size_t place = kAway;
    bool bad = false;
    std::size_t index = 0;  // in its crowd
    std::size_t slot = 0;   // of the job, while it is there
    std::size_t hit = kNoHit;
  };

  // A strike whose nodes leave with the next loss.
  struct Pending {
    SimTime at;
    Strike strike;
    std::int64_t first = -1;  // node that it was found to hit
  };

  struct Vacancy {
    std::size_t slot = 0;
    std::size_t hit = kNoHit;
  };

  using Crowd = std::array<std::vector<std::int64_t>, 2>;  // good, bad

  [[nodiscard]] const PlannedCause& cause_of(const Strike& strike) const {
    return plan_.causes[static_cast<std::size_t>(strike.cause)];
  }

  [[nodiscard]] Node& node_at(std::int64_t number) {
    return nodes_[static_cast<std::size_t>(number)];
  }

  [[nodiscard]] bool is_in_job(std::int64_t number) { return node_at(number).place <= kSpot; }

  [[nodiscard]] std::int64_t job_nodes() const;
  void join(std::size_t place, std::int64_t number, bool bad);
  std::int64_t remove(std::size_t place, bool bad, std::size_t index);
  [[nodiscard]] Pending* pending(bool bad);
  void leave(std::int64_t number, std::size_t slot, Pending* struck);
  [[nodiscard]] std::int64_t choose(const Pending& struck, std::size_t place);
  [[nodiscard]] std::int64_t standing_in(const Strike& strike);
  [[nodiscard]] std::int64_t draw(std::size_t place);
  [[nodiscard]] std::int64_t draw_staying(const Strike& strike);
  void hit_staying(SimTime at, const Strike& strike, std::int64_t count);
  void note(SimTime at, std::int32_t cause, std::int64_t number, bool leaves);
  template <typename Accept>
  void search(std::int64_t from, std::int64_t unit, const Accept& accept);

  const RunPlan& plan_;
  RandomStream stream_;
  std::vector<Node> nodes_;
  std::vector<Crowd> crowds_;  // by place, the last one: spot nodes that the job does not hold
  std::vector<std::int64_t> slots_;
  std::deque<Vacancy> vacancies_;
  std::vector<Pending> pending_;
  std::vector<NodeHit> hits_;
  std::map<std::pair<std::int32_t, std::int64_t>, std::int64_t> units_;  // of components
  std::set<std::pair<std::int32_t, std::int64_t>> units_taken_;
};

}  // namespace orrery::run
