#include "sim/run/capacity/repair_shop.hpp"

#include <algorithm>

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

void RepairShop::submit(SimTime now, std::int32_t strikes) {
  ++nodes_;
  Change change;
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

bool RepairShop::replace(SimTime now) {
  if (!plan_.replacement) {
    return false;
  }
  Change change;
  change.order = submitted_++;
  change.stage = Stage::replacement;
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
      return {Outcome::replaced, kGoodNode};
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
    return {replace(now) ? Outcome::replaceable : Outcome::retired, kGoodNode};
  }
  return {Outcome::returned, change.strikes};
}

}  // namespace orrery::run
