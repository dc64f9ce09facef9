#pragma once

// Incremental max-min fairness: the rates of all flows after some started or ended or a link
// changed, solved again only where the change reaches.
//
//   every flow is at its bound or has a bottleneck: a full link on which no flow is faster
//
// That certificate holds for one assignment of rates only, the max-min fair one. A solve fills the
// flows of a region on the links they cross, what other flows have on these links taken off, and
// adds each flow outside that lost its certificate or harms another's:
//
//   link | flow s outside with rate v joins the region when
//   -----|-----------------------------------------------------------------------------------
//   l    | l carries more than its capacity
//   l    | l is its bottleneck, and l is no longer full or a flow of the region is faster on l
//   l    | a flow of the region has its bottleneck at l, and v is above that flow's rate
//
// until none does. Flows that share no such link keep rate and bottleneck, bit for bit. What counts
// as full or faster is judged to 1e-13 of the value, far above the rounding of a sum.
//
// Changes are gathered; solve() deals with all of them at once. Order: flows as they joined,
// links by share and then by id, so that one history of calls gives the same bits anywhere.
//
// Complexity per solve: O(users of the touched links + rounds log links), a few flows whatever the
// size of the fabric; 16 bytes per flow and hop, twice.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/step/fabric/flow.hpp"

namespace orrery::fabric {

// Sees all living flows and their rates after each solve: for tests, which solve them anew.
using SolveWatch = void (*)(std::span<const BytesPerSecond> capacities,
                            std::span<const FlowPath> flows, std::span<const BytesPerSecond> rates);

class RateSolver {
 public:
  explicit RateSolver(std::span<const BytesPerSecond> capacities, SolveWatch watch = nullptr);

  // The id of a removed flow is given again. Rates are those of the last solve().
  FlowId add(std::span<const Hop> hops, BytesPerSecond bound = kUnbounded);
  void remove(FlowId flow);
  void set_capacity(LinkId link, BytesPerSecond capacity);

  // The flows whose rates changed, and all that are new.
  std::span<const FlowId> solve();

  // Those of the last solve that another link holds back now, at the same rate.
  [[nodiscard]] std::span<const FlowId> held_elsewhere() const { return held_elsewhere_; }

  [[nodiscard]] bool settled() const { return started_.empty() && seeds_.empty(); }

  [[nodiscard]] BytesPerSecond rate(FlowId flow) const {
    return bytes_per_second(flows_[flow.index()].rate);
  }

  // The full link that holds the flow back; kNoLink at its bound.
  [[nodiscard]] LinkId bottleneck(FlowId flow) const { return {flows_[flow.index()].bottleneck}; }

  // Hops of a living flow, by link, each link once.
  [[nodiscard]] std::span<const Hop> hops(FlowId flow) const { return hops_[flow.index()]; }

  [[nodiscard]] BytesPerSecond capacity(LinkId link) const {
    return bytes_per_second(links_[link.index()].capacity);
  }

  [[nodiscard]] std::size_t links() const { return links_.size(); }

 private:
  struct User {
    double weight = 0.0;
    std::uint32_t flow = 0;
    std::uint32_t hop = 0;  // of that flow
  };

  // What every look at a link reads of each user, side by side.
  struct Flow {
    double rate = 0.0;
    double bound = 0.0;
    std::int32_t bottleneck = kNoLink.value;
    std::uint32_t joined = 0;  // the solve that it joined last
  };

  struct Link {
    double capacity = 0.0;
    double left = 0.0;         // while filling: for the open flows of the region
    double open_weight = 0.0;  // of these
    std::uint32_t open = 0;
    std::uint32_t touched = 0;  // the solve that touched it last
    std::vector<User> users;
  };

  void attach(std::uint32_t flow);
  void detach(std::uint32_t flow);
  void touch(std::int32_t link);
  void join(std::uint32_t flow);
  void join_held();
  void fill();
  void open_region();
  void freeze(std::uint32_t flow, double rate, std::int32_t bottleneck);
  void freeze_bounded(std::size_t& next, double share);
  bool grow();
  bool grow_at(std::int32_t link);
  void collect_changes();
  void show_solution() const;

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<std::pair<double, std::int32_t>> before_;  // rate and bottleneck when a flow joined
  std::vector<std::uint8_t> open_;
  std::vector<std::vector<Hop>> hops_;
  std::vector<std::vector<std::uint32_t>> places_;  // among the users of each hop's link
  std::vector<std::uint32_t> free_;

  std::vector<std::uint32_t> started_;  // since the last solve
  std::vector<std::int32_t> seeds_;     // links that changed since
  std::uint32_t solve_ = 0;
  std::vector<std::uint32_t> region_;
  std::vector<std::int32_t> touched_;
  std::size_t open_flows_ = 0;                             // of the region, while filling
  std::vector<std::pair<double, std::uint32_t>> bounded_;  // (bound, flow) of the region
  std::vector<std::pair<double, std::int32_t>> shares_;    // heap of (share, link)
  std::vector<FlowId> changed_;
  std::vector<FlowId> held_elsewhere_;
  SolveWatch watch_;
};

}  // namespace orrery::fabric
