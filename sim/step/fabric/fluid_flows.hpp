#pragma once

// Fluid simulation of flows: when each sends its last byte as others come and go and links change.
//
//   left(t) = left(last) - rate (t - last);   end = last + left / rate, to the nearest nanosecond
//
// Time stops until advance_to(). Everything that happens at one nanosecond - ends, starts, changes
// of links - is one solve, made when the next end is asked for. A flow's bytes are conserved:
// rounding moves its end by at most half a nanosecond and never what it sent. Max-min fairness is
// an upper bound on what a congested network delivers; docs/fabric.md names what is left out.
//
// Example:
//   for (SimTime end = flows.next_end(); end != kForever; end = flows.next_end()) {
//     for (const FlowId flow : flows.advance_to(end)) { ... start what waited for it ... }
//   }

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/step/fabric/flow.hpp"
#include "sim/step/fabric/rate_solver.hpp"

namespace orrery::fabric {

// A priority queue of the ends of flows, with one entry per flow whose time can be changed.
//
// A 4-ary implicit heap ordered by (time, flow), with the place of every flow beside it. Engine's
// EventQueue cannot move an entry, and nearly every solve moves some.
//
// Complexity: set and erase O(log4 n), top O(1).

class EndHeap {
 public:
  struct End {
    SimTime time;
    FlowId flow;

    friend constexpr auto operator<=>(const End& a, const End& b) = default;
  };

  [[nodiscard]] bool empty() const { return ends_.empty(); }

  [[nodiscard]] const End& top() const { return ends_.front(); }

  void set(FlowId flow, SimTime time) {
    if (places_.size() <= flow.index()) {
      places_.resize(flow.index() + 1, kAbsent);
    }
    std::size_t place = places_[flow.index()];
    if (place == kAbsent) {
      place = ends_.size();
      ends_.emplace_back();
    }
    move(place, {time, flow});
  }

  void erase(FlowId flow) {
    if (places_.size() <= flow.index() || places_[flow.index()] == kAbsent) {
      return;
    }
    const std::size_t place = places_[flow.index()];
    places_[flow.index()] = kAbsent;
    const End last = ends_.back();
    ends_.pop_back();
    if (place < ends_.size()) {
      move(place, last);
    }
  }

 private:
  static constexpr std::size_t kArity = 4;
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  void put(std::size_t place, const End& end) {
    ends_[place] = end;
    places_[end.flow.index()] = static_cast<std::uint32_t>(place);
  }

  // Writes `end` where it belongs, given that only `place` is free.
  void move(std::size_t place, const End& end) {
    while (place > 0 && end < ends_[(place - 1) / kArity]) {
      put(place, ends_[(place - 1) / kArity]);
      place = (place - 1) / kArity;
    }
    for (std::size_t child = kArity * place + 1; child < ends_.size(); child = kArity * place + 1) {
      std::size_t least = child;
      for (std::size_t i = child + 1; i < child + kArity && i < ends_.size(); ++i) {
        least = ends_[i] < ends_[least] ? i : least;
      }
      if (!(ends_[least] < end)) {
        break;
      }
      put(place, ends_[least]);
      place = least;
    }
    put(place, end);
  }

  std::vector<End> ends_;
  std::vector<std::uint32_t> places_;
};

class FluidFlows {
 public:
  explicit FluidFlows(std::span<const BytesPerSecond> capacities, SolveWatch watch = nullptr);

  // From now on. Without bytes it ends at once, but not before the next advance_to().
  FlowId start(std::span<const Hop> hops, Bytes bytes, BytesPerSecond bound = kUnbounded);

  // Takes a flow off before its end; what it has sent stays counted.
  void cancel(FlowId flow);

  void set_capacity(LinkId link, BytesPerSecond capacity);

  // kForever when no flow is left, or none that moves.
  [[nodiscard]] SimTime next_end();

  // Lets the flows run until `time`, at most next_end(); the flows that end there, by id. Their
  // ids are given again by the next start().
  std::span<const FlowId> advance_to(SimTime time);

  [[nodiscard]] SimTime now() const { return now_; }

  [[nodiscard]] BytesPerSecond rate(FlowId flow);
  [[nodiscard]] LinkId bottleneck(FlowId flow);
  [[nodiscard]] Bytes left(FlowId flow);

  // The flows whose rates or bottlenecks have changed at this time, some of them over.
  [[nodiscard]] std::span<const FlowId> changed() {
    settle();
    return changed_;
  }

  // Bytes over a link, those of living flows as far as they have come.
  [[nodiscard]] Bytes carried(LinkId link);

 private:
  struct Progress {
    double bytes = 0.0;
    double left = 0.0;  // what the flow had still to send at that time
    double rate = 0.0;  // max-min fair, the same from solve to solve
    SimTime last;       // when the rate changed last
    bool living = false;
  };

  void settle();
  void take_off(FlowId flow, double sent);
  [[nodiscard]] double left_now(const Progress& flow) const;

  RateSolver solver_;
  std::vector<Progress> flows_;
  std::vector<double> carried_;  // per link, by the flows that are over
  EndHeap ends_;
  std::vector<FlowId> ended_;
  std::vector<FlowId> changed_;
  SimTime now_;
};

}  // namespace orrery::fabric
