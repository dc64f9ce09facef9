#include "sim/step/fabric/fluid_flows.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace orrery::fabric {

FluidFlows::FluidFlows(std::span<const BytesPerSecond> capacities, SolveWatch watch)
    : solver_(capacities, watch), carried_(capacities.size(), 0.0) {}

FlowId FluidFlows::start(std::span<const Hop> hops, Bytes bytes, BytesPerSecond bound) {
  const FlowId flow = solver_.add(hops, bound);
  if (flows_.size() <= flow.index()) {
    flows_.resize(flow.index() + 1);
  }
  const double size = in_bytes(bytes);
  flows_[flow.index()] = {.bytes = size, .left = size, .rate = 0.0, .last = now_, .living = true};
  if (size <= 0.0) {
    ends_.set(flow, now_);
  }
  return flow;
}

void FluidFlows::cancel(FlowId flow) {
  const Progress& progress = flows_[flow.index()];
  take_off(flow, progress.bytes - left_now(progress));
}

void FluidFlows::set_capacity(LinkId link, BytesPerSecond capacity) {
  solver_.set_capacity(link, capacity);
}

double FluidFlows::left_now(const Progress& flow) const {
  return std::max(flow.left - flow.rate * in_seconds(to_seconds(now_ - flow.last)), 0.0);
}

// Rates since the last event were those before it, whatever has been started or ended since.
void FluidFlows::settle() {
  for (const FlowId id : solver_.solve()) {
    changed_.push_back(id);
    Progress& flow = flows_[id.index()];
    flow.left = left_now(flow);
    flow.last = now_;
    flow.rate = in_bytes_per_second(solver_.rate(id));
    if (flow.left <= 0.0) {
      ends_.set(id, now_);
    } else if (flow.rate > 0.0) {
      const SimTime lasts = to_sim_time(seconds(flow.left / flow.rate));
      ends_.set(id, lasts < kForever - now_ ? now_ + lasts : kForever);
    } else {
      ends_.erase(id);
    }
  }
  const std::span<const FlowId> elsewhere = solver_.held_elsewhere();
  changed_.insert(changed_.end(), elsewhere.begin(), elsewhere.end());
}

SimTime FluidFlows::next_end() {
  settle();
  return ends_.empty() ? kForever : ends_.top().time;
}

std::span<const FlowId> FluidFlows::advance_to(SimTime time) {
  ORRERY_CHECK(time >= now_ && time <= next_end(),
               "flows at {} ns cannot go on to {} ns: the next ends at {} ns", now_.ns, time.ns,
               next_end().ns);
  if (time > now_) {
    changed_.clear();
  }
  now_ = time;
  ended_.clear();
  while (!ends_.empty() && ends_.top().time == time) {
    const FlowId flow = ends_.top().flow;
    ended_.push_back(flow);
    take_off(flow, flows_[flow.index()].bytes);
  }
  return ended_;
}

void FluidFlows::take_off(FlowId flow, double sent) {
  for (const Hop& hop : solver_.hops(flow)) {
    carried_[hop.link.index()] += hop.weight * sent;
  }
  flows_[flow.index()].living = false;
  ends_.erase(flow);
  solver_.remove(flow);
}

BytesPerSecond FluidFlows::rate(FlowId flow) {
  settle();
  return solver_.rate(flow);
}

LinkId FluidFlows::bottleneck(FlowId flow) {
  settle();
  return solver_.bottleneck(flow);
}

Bytes FluidFlows::left(FlowId flow) {
  settle();
  return bytes(left_now(flows_[flow.index()]));
}

Bytes FluidFlows::carried(LinkId link) {
  settle();
  double sum = carried_[link.index()];
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (flows_[i].living) {
      for (const Hop& hop : solver_.hops({static_cast<std::int32_t>(i)})) {
        sum += hop.link == link ? hop.weight * (flows_[i].bytes - left_now(flows_[i])) : 0.0;
      }
    }
  }
  return bytes(sum);
}

}  // namespace orrery::fabric
