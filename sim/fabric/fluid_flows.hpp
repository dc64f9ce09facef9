#pragma once

// Fluid simulation of flows: when each sends its last byte as others come and go and links change.
//
//   left(t) = left(last) - rate (t - last);   end = last + left / rate, to the nearest nanosecond
//
// symbol | meaning                                        | unit   | origin
// -------|------------------------------------------------|--------|------------------------
// rate   | max-min fair, the same from solve to solve     | byte/s | rate_solver.hpp
// last   | when the rate changed last                     | ns     | computed
// left   | what the flow had still to send at that time   | byte   | computed
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

#include <span>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/fabric/end_heap.hpp"
#include "sim/fabric/flow.hpp"
#include "sim/fabric/rate_solver.hpp"

namespace orrery::fabric {

class FluidFlows {
 public:
  explicit FluidFlows(std::span<const BytesPerSecond> capacities,
                      Comparison comparison = Comparison::none);

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

  [[nodiscard]] SimTime now() const {
    return now_;
  }

  [[nodiscard]] BytesPerSecond rate(FlowId flow);
  [[nodiscard]] LinkId bottleneck(FlowId flow);
  [[nodiscard]] Bytes left(FlowId flow);

  // Bytes over a link, those of living flows as far as they have come.
  [[nodiscard]] Bytes carried(LinkId link);

 private:
  struct Progress {
    double bytes = 0.0;
    double left = 0.0;
    double rate = 0.0;
    SimTime last;
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
  SimTime now_;
};

}  // namespace orrery::fabric
