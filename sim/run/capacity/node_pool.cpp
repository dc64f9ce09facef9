#include "sim/run/capacity/node_pool.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

RepairShop::RepairShop(const PlannedRepair& plan, std::uint64_t seed)
    : plan_(plan),
      seed_(seed),
      simple_(plan.escalates == 0.0 && !plan.crews && plan.retire == 0.0),
      first_(seed, 0, Purpose::repair, 0),
      manual_(seed, 0, Purpose::repair, 1),
      outcome_(seed, 0, Purpose::repair, 2),
      replacement_(seed, 0, Purpose::repair, 3) {}

void RepairShop::reset(std::uint32_t trial) {
  changes_.clear();
  queue_.clear();
  nodes_ = busy_crews_ = submitted_ = 0;
  first_ = RandomStream(seed_, trial, Purpose::repair, 0);
  manual_ = RandomStream(seed_, trial, Purpose::repair, 1);
  outcome_ = RandomStream(seed_, trial, Purpose::repair, 2);
  replacement_ = RandomStream(seed_, trial, Purpose::repair, 3);
}

void RepairShop::schedule(const Change& change) {
  changes_.push_back(change);
  std::push_heap(changes_.begin(), changes_.end(), later);
}

void RepairShop::submit(SimTime now, std::int32_t strikes, std::int64_t number) {
  ++nodes_;
  Change change;
  change.number = number;
  change.order = submitted_++;
  change.strikes = strikes;
  change.stage = Stage::last;
  const SimTime first = bounded_time(sample(plan_.first, first_));
  bool escalated = false;
  SimTime manual;
  if (!simple_) {
    escalated = outcome_.uniform01() < plan_.escalates;
    change.retired = outcome_.uniform01() < plan_.retire;
    if (escalated) {
      manual = bounded_time(sample(plan_.manual, manual_));
    }
  }
  if (strikes != kGoodNode) {
    const double fails = escalated ? plan_.manual_fails : plan_.first_fails;
    change.strikes = outcome_.uniform01() < fails ? strikes : kGoodNode;
  }
  if (!plan_.crews) {
    change.at = now + first + manual;
    schedule(change);
  } else if (plan_.escalates == 0.0) {
    change.last_stage = first;
    wait_for_crew(now, change);
  } else {
    change.at = now + first;
    change.last_stage = manual;
    change.stage = escalated ? Stage::first : Stage::last;
    schedule(change);
  }
}

// The last stage begins now, or when a crew has become free.
void RepairShop::wait_for_crew(SimTime now, Change change) {
  if (busy_crews_ == *plan_.crews) {
    queue_.push_back(change);
    return;
  }
  ++busy_crews_;
  change.crew = true;
  change.stage = Stage::last;
  change.at = now + change.last_stage;
  schedule(change);
}

bool RepairShop::replace(SimTime now, std::int64_t number) {
  if (!plan_.replacement) {
    return false;
  }
  Change change;
  change.order = submitted_++;
  change.stage = Stage::replacement;
  change.number = number;
  change.at = now + bounded_time(sample(*plan_.replacement, replacement_));
  schedule(change);
  return true;
}

RepairShop::Event RepairShop::take(SimTime now) {
  ORRERY_CHECK(next() == now, "a change of a repair at {} ns was taken at {} ns", next().ns,
               now.ns);
  std::pop_heap(changes_.begin(), changes_.end(), later);
  const Change change = changes_.back();
  changes_.pop_back();
  switch (change.stage) {
    case Stage::first:
      wait_for_crew(now, change);
      return {Outcome::moved_on, kGoodNode};
    case Stage::replacement:
      return {Outcome::replaced, kGoodNode, change.number};
    case Stage::last:
      break;
  }
  return leave(now, change);
}

RepairShop::Event RepairShop::leave(SimTime now, const Change& change) {
  --nodes_;
  if (change.crew) {
    --busy_crews_;
    if (!queue_.empty()) {
      const Change waiting = queue_.front();
      queue_.pop_front();
      wait_for_crew(now, waiting);
    }
  }
  if (change.retired) {
    return {replace(now, change.number) ? Outcome::replaceable : Outcome::retired, kGoodNode};
  }
  return {Outcome::returned, change.strikes, change.number};
}

namespace {

std::int64_t spot_nodes_of(const RunPlan& plan) {
  return plan.capacity.spot ? plan.capacity.spot->nodes : 0;
}

}  // namespace

NodePool::NodePool(const RunPlan& plan)
    : plan_(plan),
      gpus_per_node_(plan.step.gpus_per_node),
      bad_share_(plan.capacity.bad_share),
      spot_nodes_(spot_nodes_of(plan)),
      spares_(plan.capacity.spares.size()),
      repairs_(plan.capacity.repair, plan.simulation.seed),
      spot_(plan.capacity.spot, plan.simulation.seed),
      mix_(plan.simulation.seed, 0, Purpose::node_pool, 0),
      ready_(plan.simulation.seed, 0, Purpose::node_pool, 1) {}

void NodePool::reset(std::uint32_t trial, bool numbered) {
  const std::uint64_t seed = plan_.simulation.seed;
  mix_ = RandomStream(seed, trial, Purpose::node_pool, 0);
  ready_ = RandomStream(seed, trial, Purpose::node_pool, 1);
  repairs_.reset(trial);
  spot_.reset(trial);
  wanted_ = plan_.capacity.first_nodes;
  job_ = {std::max<std::int64_t>(0, wanted_ - spot_nodes_), {}};
  parked_ = {std::max<std::int64_t>(0, plan_.capacity.most_nodes - spot_nodes_ - job_.good), {}};
  for (std::size_t level = 0; level < spares_.size(); ++level) {
    spares_[level] = {plan_.capacity.spares[level].nodes, {}};
  }
  job_spot_ = retired_ = 0;
  since_ = SimTime{};
  const std::vector<std::int64_t> bad =
      bad_share_ > 0.0 ? place_bad_nodes(trial) : std::vector<std::int64_t>{};
  roster_.reset();
  if (numbered) {
    number_nodes(trial, bad);
  }
  if (spot_nodes_ > 0) {
    SimTime ready;
    fill_from_spot(SimTime{}, wanted_, ready);
  }
  find_next();
}

// Each node is bad with the same probability: the distance to the next bad one is geometric. Their
// places among job, levels and parked nodes.
std::vector<std::int64_t> NodePool::place_bad_nodes(std::uint32_t trial) {
  RandomStream stream(plan_.simulation.seed, trial, Purpose::node_pool, 2);
  std::int64_t all = job_.good + parked_.good;
  for (const NodeCrowd& level : spares_) {
    all += level.good;
  }
  const double per_node = bad_share_ < 1.0 ? std::log1p(-bad_share_) : 0.0;
  std::vector<std::int64_t> positions;
  for (std::int64_t position = 0; position < all; ++position) {
    if (bad_share_ < 1.0) {
      const double skipped = std::floor(std::log(stream.uniform01_open_zero()) / per_node);
      if (skipped >= static_cast<double>(all - position)) {
        break;
      }
      position += static_cast<std::int64_t>(skipped);
    }
    positions.push_back(position);
  }
  std::int64_t shift = 0;  // nodes that became bad left the front of the good ones
  for (const std::int64_t position : positions) {
    add_bad_node(position - shift);
    ++shift;
  }
  return positions;
}

void NodePool::number_nodes(std::uint32_t trial, const std::vector<std::int64_t>& bad) {
  std::vector<std::int64_t> counts = {job_.total(), 0};
  for (const NodeCrowd& level : spares_) {
    counts.push_back(level.total());
  }
  counts.push_back(parked_.total());
  roster_.emplace(plan_, trial).begin(counts, spot_nodes_, bad);
}

std::size_t NodePool::place_of(const NodeCrowd& crowd) const {
  if (&crowd == &job_) {
    return NodeRoster::kJob;
  }
  return NodeRoster::kFirstLevel +
         (&crowd == &parked_ ? spares_.size() : static_cast<std::size_t>(&crowd - spares_.data()));
}

void NodePool::add_node(NodeCrowd& to, const Node& node) {
  const bool good = node.strikes == RepairShop::kGoodNode;
  if (good) {
    ++to.good;
  } else {
    to.bad.push_back(node.strikes);
  }
  if (roster_) {
    roster_->put(place_of(to), node.number, !good);
  }
}

// The good node at `position` of job, levels and parked nodes, in this order, becomes bad.
void NodePool::add_bad_node(std::int64_t position) {
  const auto turn = [&](NodeCrowd& crowd) {
    if (position < crowd.good) {
      --crowd.good;
      crowd.bad.push_back(0);
      return true;
    }
    position -= crowd.good;
    return false;
  };
  if (turn(job_)) {
    return;
  }
  for (NodeCrowd& level : spares_) {
    if (turn(level)) {
      return;
    }
  }
  (void)turn(parked_);
}

// Takes one node out, any of them with the same probability.
NodePool::Node NodePool::draw_node(NodeCrowd& from) {
  bool bad = !from.bad.empty();
  if (bad && from.good > 0) {
    bad = mix_.uniform_int(static_cast<std::uint64_t>(from.total())) < from.bad.size();
  }
  if (!bad) {
    --from.good;
    return {.number = roster_ ? roster_->take(place_of(from)) : -1};
  }
  const std::size_t which = from.bad.size() > 1 ? mix_.uniform_int(from.bad.size()) : 0;
  std::swap(from.bad[which], from.bad.back());
  const std::int32_t strikes = from.bad.back();
  from.bad.pop_back();
  return {strikes, roster_ ? roster_->take_bad(place_of(from), which) : -1};
}

std::int64_t NodePool::ready_nodes() const {
  std::int64_t nodes = spot_.obtainable() - spot_.held();
  for (const NodeCrowd& level : spares_) {
    nodes += level.total();
  }
  return nodes;
}

NodeMix NodePool::spare_nodes() const {
  NodeMix mix;
  for (const NodeCrowd& level : spares_) {
    mix.good += level.good;
    mix.bad += static_cast<std::int64_t>(level.bad.size());
  }
  return mix;
}

std::int64_t NodePool::held_spares() const {
  std::int64_t nodes = 0;
  for (std::size_t level = 0; level < spares_.size(); ++level) {
    if (plan_.capacity.spares[level].held) {
      nodes += spares_[level].total();
    }
  }
  return nodes;
}

std::int64_t NodePool::allocated_nodes() const {
  return job_nodes() + held_spares() + repairs_.nodes();
}

HeldNodes NodePool::held() const {
  return {.fixed = job_nodes() - job_spot_,
          .spot = job_spot_,
          .spare = held_spares(),
          .repair = repairs_.nodes(),
          .zone = spot_.zone()};
}

void NodePool::find_next() { next_ = std::min(repairs_.next(), spot_.next()); }

PoolEvent NodePool::take(SimTime now) {
  ORRERY_CHECK(next_ == now, "an event of the pool at {} ns was taken at {} ns", next_.ns, now.ns);
  const PoolEvent event = repairs_.next() == now ? take_repair(now) : take_spot(now);
  find_next();
  return event;
}

PoolEvent NodePool::take_repair(SimTime now) {
  const RepairShop::Event event = repairs_.take(now);
  switch (event.outcome) {
    case RepairShop::Outcome::moved_on:
      return {PoolEventKind::nothing, 0, now};
    case RepairShop::Outcome::retired:
    case RepairShop::Outcome::replaceable:
      ++retired_;
      return {PoolEventKind::nothing, 0, now};
    case RepairShop::Outcome::replaced:
      --retired_;
      break;
    case RepairShop::Outcome::returned:
      break;
  }
  if (roster_) {
    roster_->come_back(now, event.number);
  }
  join_spares({event.strikes, event.number});
  return {PoolEventKind::returned, 1, now};
}

// The hottest level that is not full; beyond all levels the first one while the job is short of
// nodes, else nobody needs the node.
void NodePool::join_spares(const Node& node) {
  for (std::size_t level = 0; level < spares_.size(); ++level) {
    if (spares_[level].total() < plan_.capacity.spares[level].nodes) {
      add_node(spares_[level], node);
      return;
    }
  }
  add_node(job_nodes() < wanted_ && !spares_.empty() ? spares_.front() : parked_, node);
}

PoolEvent NodePool::take_spot(SimTime now) {
  const SpotSupply::Event event = spot_.take(now);
  switch (event.kind) {
    case SpotSupply::Kind::notice:
      return {PoolEventKind::notice, event.nodes, event.at};
    case SpotSupply::Kind::loss:
      job_.good -= event.nodes;
      job_spot_ -= event.nodes;
      if (roster_) {
        roster_->preempt(now, event.nodes);
      }
      return {PoolEventKind::preempted, event.nodes, now};
    case SpotSupply::Kind::offer:
      return {PoolEventKind::available, event.nodes, now};
    case SpotSupply::Kind::nothing:
      break;
  }
  return {PoolEventKind::nothing, 0, now};
}

void NodePool::lose(SimTime now, std::int64_t nodes, std::int64_t bad) {
  ORRERY_CHECK(nodes >= 0 && nodes <= job_nodes(), "{} nodes leave a job of {} nodes", nodes,
               job_nodes());
  bad = std::clamp(bad, std::max<std::int64_t>(0, nodes - job_.good),
                   std::min(nodes, static_cast<std::int64_t>(job_.bad.size())));
  std::int64_t handed_back = 0;
  for (std::int64_t i = bad; i < nodes; ++i) {
    if (job_spot_ > handed_back && mix_.uniform_int(static_cast<std::uint64_t>(job_.good)) <
                                       static_cast<std::uint64_t>(job_spot_ - handed_back)) {
      ++handed_back;
      if (roster_) {
        (void)roster_->lose(true);
      }
    } else {
      repairs_.submit(now, RepairShop::kGoodNode, roster_ ? roster_->lose(false) : -1);
    }
    --job_.good;
  }
  if (handed_back > 0) {
    job_spot_ -= handed_back;
    spot_.hand_back(now, handed_back);
  }
  for (std::int64_t i = 0; i < bad; ++i) {
    const std::size_t which = job_.bad.size() > 1 ? mix_.uniform_int(job_.bad.size()) : 0;
    std::swap(job_.bad[which], job_.bad.back());
    const std::int32_t strikes = job_.bad.back() + 1;
    job_.bad.pop_back();
    const std::int64_t number = roster_ ? roster_->lose_bad(which) : -1;
    const std::optional<std::int64_t>& most = plan_.capacity.repair.remove_after;
    if (most && strikes >= *most) {
      ++retired_;
      (void)repairs_.replace(now, number);
    } else {
      repairs_.submit(now, strikes, number);
    }
  }
  if (roster_) {
    roster_->end_loss();
  }
  find_next();
}

SimTime NodePool::fill(SimTime now, std::int64_t wanted) {
  SimTime ready;
  while (wanted_ < wanted && parked_.total() > 0) {  // a larger phase begins
    add_node(job_, draw_node(parked_));
    ++wanted_;
  }
  wanted_ = wanted;
  // Spares first stand in for nodes that nobody can take away, then for missing spot nodes.
  for (const bool instead_of_spot : {false, true}) {
    const std::int64_t spot = instead_of_spot ? job_spot_ : std::min(spot_nodes_, wanted);
    std::int64_t missing = wanted - spot - (job_nodes() - job_spot_);
    for (std::size_t level = 0; level < spares_.size() && missing > 0; ++level) {
      const std::int64_t moved = std::min(missing, spares_[level].total());
      take_spares(level, moved, ready);
      missing -= moved;
    }
    if (spot_nodes_ == 0) {
      break;
    }
    if (!instead_of_spot) {
      fill_from_spot(now, wanted, ready);
    }
  }
  find_next();
  return ready;
}

void NodePool::take_spares(std::size_t level, std::int64_t count, SimTime& ready) {
  NodeCrowd& from = spares_[level];
  for (std::int64_t i = 0; i < count; ++i) {
    add_node(job_, draw_node(from));
    const SimTime needs = bounded_time(sample(plan_.capacity.spares[level].ready, ready_));
    ready = std::max(ready, needs);
  }
}

void NodePool::fill_from_spot(SimTime now, std::int64_t wanted, SimTime& ready) {
  const std::int64_t fixed = job_nodes() - job_spot_;
  const SpotSupply::Grant grant =
      spot_.request(now, std::min(spot_nodes_, std::max(job_spot_, wanted - fixed)));
  if (grant.held == job_spot_ && !grant.moved) {
    return;
  }
  job_.good += grant.held - job_spot_;
  job_spot_ = grant.held;
  if (roster_) {
    roster_->hold_spot(job_spot_);
  }
  const PlannedSpot& spot = *plan_.capacity.spot;
  ready = std::max(ready, bounded_time(sample(grant.moved ? spot.migration : spot.ready, ready_)));
}

void NodePool::release(SimTime now, std::int64_t nodes) {
  ORRERY_CHECK(nodes <= job_nodes(), "{} of {} nodes of the job released", nodes, job_nodes());
  wanted_ = job_nodes() - nodes;
  const std::int64_t spot = std::min(nodes, job_spot_);
  if (spot > 0) {
    spot_.hand_back(now, spot);
    job_spot_ -= spot;
    job_.good -= spot;
    if (roster_) {
      roster_->hold_spot(job_spot_);
    }
  }
  for (std::int64_t i = spot; i < nodes; ++i) {
    // Spot nodes are good: they must not be drawn with the others.
    job_.good -= job_spot_;
    const Node node = draw_node(job_);
    job_.good += job_spot_;
    join_spares(node);
  }
  find_next();
}

void NodePool::settle(SimTime now, RunLedger& ledger) {
  const SimTime length = now - since_;
  ledger.book(RunCategory::spare_idle, held_spares() * gpus_per_node_, length);
  ledger.book(RunCategory::repair, repairs_.nodes() * gpus_per_node_, length);
  since_ = now;
}

}  // namespace orrery::run
