#include "sim/step/fabric/rate_solver.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "sim/base/check.hpp"

namespace orrery::fabric {

namespace {

constexpr double kRounding = 1e-13;  // of a rate or a load
constexpr double kNew = -1.0;        // the rate of a flow that has none yet

bool above(double value, double limit) { return value > limit * (1.0 + kRounding); }

}  // namespace

RateSolver::RateSolver(std::span<const BytesPerSecond> capacities, SolveWatch watch)
    : links_(capacities.size()), watch_(watch) {
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    links_[i].capacity = in_bytes_per_second(capacities[i]);
  }
}

FlowId RateSolver::add(std::span<const Hop> hops, BytesPerSecond bound) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.emplace_back();
    before_.emplace_back();
    open_.push_back(0);
    hops_.emplace_back();
    places_.emplace_back();
  }
  const std::uint32_t flow = free_.back();
  free_.pop_back();
  std::vector<Hop>& own = hops_[flow];
  own.assign(hops.begin(), hops.end());
  std::ranges::sort(own, {}, &Hop::link);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    ORRERY_CHECK(own[i].link.index() < links_.size() && own[i].weight > 0.0,
                 "link {} of {} with weight {}", own[i].link.value, links_.size(), own[i].weight);
    if (kept > 0 && own[kept - 1].link == own[i].link) {
      own[kept - 1].weight += own[i].weight;
    } else {
      own[kept++] = own[i];
    }
  }
  own.resize(kept);
  flows_[flow].bound = in_bytes_per_second(bound);
  ORRERY_CHECK(kept > 0 || bound < kUnbounded, "a flow needs a link or a bound");
  flows_[flow].rate = kNew;
  flows_[flow].bottleneck = kNoLink.value;
  attach(flow);
  started_.push_back(flow);
  return {static_cast<std::int32_t>(flow)};
}

void RateSolver::remove(FlowId flow) {
  const auto id = static_cast<std::uint32_t>(flow.value);
  if (flows_[id].rate == kNew) {
    started_.erase(std::ranges::find(started_, id));
  } else {
    for (const Hop& hop : hops_[id]) {
      seeds_.push_back(hop.link.value);
    }
  }
  detach(id);
  hops_[id].clear();
  free_.push_back(id);
}

void RateSolver::set_capacity(LinkId link, BytesPerSecond capacity) {
  ORRERY_CHECK(capacity >= BytesPerSecond{}, "a link carries nothing or more");
  links_[link.index()].capacity = in_bytes_per_second(capacity);
  seeds_.push_back(link.value);
}

void RateSolver::attach(std::uint32_t flow) {
  places_[flow].clear();
  for (std::uint32_t i = 0; i < hops_[flow].size(); ++i) {
    const Hop& hop = hops_[flow][i];
    std::vector<User>& users = links_[hop.link.index()].users;
    places_[flow].push_back(static_cast<std::uint32_t>(users.size()));
    users.push_back({.weight = hop.weight, .flow = flow, .hop = i});
  }
}

void RateSolver::detach(std::uint32_t flow) {
  for (std::size_t i = 0; i < hops_[flow].size(); ++i) {
    std::vector<User>& users = links_[hops_[flow][i].link.index()].users;
    const std::uint32_t place = places_[flow][i];
    users[place] = users.back();
    places_[users[place].flow][users[place].hop] = place;
    users.pop_back();
  }
}

void RateSolver::touch(std::int32_t link) {
  Link& touched = links_[static_cast<std::size_t>(link)];
  if (touched.touched != solve_) {
    touched.touched = solve_;
    touched_.push_back(link);
  }
}

void RateSolver::join(std::uint32_t flow) {
  flows_[flow].joined = solve_;
  before_[flow] = {flows_[flow].rate, flows_[flow].bottleneck};
  region_.push_back(flow);
  for (const Hop& hop : hops_[flow]) {
    touch(hop.link.value);
  }
}

std::span<const FlowId> RateSolver::solve() {
  changed_.clear();
  held_elsewhere_.clear();
  if (settled()) {
    return changed_;
  }
  ++solve_;
  ORRERY_CHECK(solve_ > 0, "too many solves");
  region_.clear();
  touched_.clear();
  for (const std::uint32_t flow : started_) {
    join(flow);
  }
  for (const std::int32_t link : seeds_) {
    touch(link);
  }
  join_held();
  do {
    fill();
  } while (grow());
  started_.clear();
  seeds_.clear();
  collect_changes();
  if (watch_ != nullptr) {
    show_solution();
  }
  return changed_;
}

// Those whose bottleneck has changed hands join at once: the first filling nearly always moves
// them, and who joins needlessly gets the rate it had, to rounding.
void RateSolver::join_held() {
  const std::size_t links = touched_.size();
  for (std::size_t i = 0; i < links; ++i) {
    const std::int32_t id = touched_[i];
    for (const User& user : links_[static_cast<std::size_t>(id)].users) {
      const Flow& flow = flows_[user.flow];
      if (flow.bottleneck == id && flow.joined != solve_) {
        join(user.flow);
      }
    }
  }
}

// What the links of the region leave to its flows.
void RateSolver::open_region() {
  shares_.clear();
  bounded_.clear();
  open_flows_ = region_.size();
  for (const std::uint32_t flow : region_) {
    open_[flow] = 1;
    if (std::isfinite(flows_[flow].bound)) {
      bounded_.emplace_back(flows_[flow].bound, flow);
    }
  }
  std::ranges::sort(bounded_);
  for (const std::int32_t id : touched_) {
    Link& link = links_[static_cast<std::size_t>(id)];
    double outside = 0.0;
    link.open_weight = 0.0;
    link.open = 0;
    for (const User& user : link.users) {
      const bool inside = flows_[user.flow].joined == solve_;
      outside += inside ? 0.0 : user.weight * flows_[user.flow].rate;
      link.open_weight += inside ? user.weight : 0.0;
      link.open += inside ? 1 : 0;
    }
    link.left = std::max(link.capacity - outside, 0.0);
    if (link.open > 0) {
      shares_.emplace_back(link.left / link.open_weight, id);
    }
  }
  std::make_heap(shares_.begin(), shares_.end(), std::greater<>());
}

// Shares only rise while flows are frozen, so a link's place in the heap is right or too early, and
// it is put back when its turn comes.
void RateSolver::fill() {
  open_region();
  std::size_t next_bounded = 0;
  while (open_flows_ > 0 && !shares_.empty()) {
    const auto [stored, id] = shares_.front();
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>());
    shares_.pop_back();
    Link& link = links_[static_cast<std::size_t>(id)];
    freeze_bounded(next_bounded, stored);
    if (link.open == 0) {
      continue;
    }
    const double share = link.left / link.open_weight;
    if (share > stored) {
      shares_.emplace_back(share, id);
      std::push_heap(shares_.begin(), shares_.end(), std::greater<>());
      continue;
    }
    for (const User& user : link.users) {
      if (flows_[user.flow].joined == solve_ && open_[user.flow] != 0) {
        freeze(user.flow, share, id);
      }
    }
  }
  freeze_bounded(next_bounded, in_bytes_per_second(kUnbounded));
}

void RateSolver::freeze_bounded(std::size_t& next, double share) {
  for (; next < bounded_.size() && bounded_[next].first <= share; ++next) {
    const auto [bound, flow] = bounded_[next];
    if (open_[flow] != 0) {
      freeze(flow, bound, kNoLink.value);
    }
  }
}

void RateSolver::freeze(std::uint32_t flow, double rate, std::int32_t bottleneck) {
  --open_flows_;
  open_[flow] = 0;
  flows_[flow].rate = rate;
  flows_[flow].bottleneck = bottleneck;
  for (const Hop& hop : hops_[flow]) {
    Link& link = links_[hop.link.index()];
    link.left = std::max(link.left - hop.weight * rate, 0.0);
    link.open_weight -= hop.weight;
    --link.open;
  }
}

bool RateSolver::grow() {
  const std::size_t links = touched_.size();
  bool grew = false;
  for (std::size_t i = 0; i < links; ++i) {
    grew = grow_at(touched_[i]) || grew;
  }
  return grew;
}

// The three cases of the header. Flows that join here keep the rate they had until the next
// filling, so the sums of this round stay those of before.
bool RateSolver::grow_at(std::int32_t id) {
  const Link& link = links_[static_cast<std::size_t>(id)];
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double load = 0.0;
  double fastest = -1.0;  // of the region
  double held = kNone;    // the least rate of the region that is bottlenecked here
  double fastest_outside = -1.0;
  double held_outside = kNone;
  for (const User& user : link.users) {
    const double rate = flows_[user.flow].rate;
    const bool inside = flows_[user.flow].joined == solve_;
    load += user.weight * rate;
    double& most = inside ? fastest : fastest_outside;
    most = std::max(most, rate);
    if (flows_[user.flow].bottleneck == id) {
      double& least = inside ? held : held_outside;
      least = std::min(least, rate);
    }
  }
  const bool overloaded = above(load, link.capacity);
  const bool full = !above(link.capacity, load);
  if (!overloaded && !above(fastest_outside, held) && (full || held_outside == kNone) &&
      !above(fastest, held_outside)) {
    return false;
  }
  bool grew = false;
  for (const User& user : link.users) {
    const double rate = flows_[user.flow].rate;
    const bool lost = flows_[user.flow].bottleneck == id && (!full || above(fastest, rate));
    if (flows_[user.flow].joined != solve_ && (overloaded || lost || above(rate, held))) {
      join(user.flow);
      grew = true;
    }
  }
  return grew;
}

void RateSolver::collect_changes() {
  for (const std::uint32_t flow : region_) {
    const auto& [rate, bottleneck] = before_[flow];
    if (flows_[flow].rate != rate) {
      changed_.push_back({static_cast<std::int32_t>(flow)});
    } else if (flows_[flow].bottleneck != bottleneck) {
      held_elsewhere_.push_back({static_cast<std::int32_t>(flow)});
    }
  }
}

void RateSolver::show_solution() const {
  std::vector<BytesPerSecond> capacities;
  for (const Link& link : links_) {
    capacities.push_back(bytes_per_second(link.capacity));
  }
  std::vector<FlowPath> flows;
  std::vector<BytesPerSecond> rates;
  for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
    if (std::ranges::find(free_, flow) == free_.end()) {
      flows.push_back({.hops = hops_[flow], .bound = bytes_per_second(flows_[flow].bound)});
      rates.push_back(bytes_per_second(flows_[flow].rate));
    }
  }
  watch_(capacities, flows, rates);
}

}  // namespace orrery::fabric
