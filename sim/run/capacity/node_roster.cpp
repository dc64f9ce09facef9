#include "sim/run/capacity/node_roster.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/base/check.hpp"

namespace orrery::run {

NodeRoster::NodeRoster(const RunPlan& plan, std::uint32_t trial)
    : plan_(plan), stream_(plan.simulation.seed, trial, Purpose::node_number) {}

void NodeRoster::begin(const std::vector<std::int64_t>& counts, std::int64_t spot,
                       const std::vector<std::int64_t>& bad) {
  crowds_.resize(counts.size() + 1);
  std::int64_t number = 0;
  for (std::size_t place = 0; place < crowds_.size(); ++place) {
    const std::int64_t count = place < counts.size() ? counts[place] : spot;
    for (std::int64_t i = 0; i < count; ++i, ++number) {
      nodes_.emplace_back();
      join(place, number, std::ranges::binary_search(bad, number));
    }
  }
}

std::int64_t NodeRoster::job_nodes() const {
  const auto of = [this](std::size_t place) {
    return crowds_[place][0].size() + crowds_[place][1].size();
  };
  return static_cast<std::int64_t>(of(kJob) + of(kSpot));
}

void NodeRoster::join(std::size_t place, std::int64_t number, bool bad) {
  Node& node = node_at(number);
  std::vector<std::int64_t>& crowd = crowds_[place][bad ? 1 : 0];
  node.place = place;
  node.bad = bad;
  node.index = crowd.size();
  crowd.push_back(number);
  if (place > kSpot) {
    return;
  }
  if (vacancies_.empty()) {
    vacancies_.push_back({.slot = slots_.size()});
    slots_.push_back(-1);
  }
  const Vacancy vacancy = vacancies_.front();
  vacancies_.pop_front();
  node.slot = vacancy.slot;
  slots_[vacancy.slot] = number;
  if (vacancy.hit != kNoHit) {
    hits_[vacancy.hit].successor = number;
  }
}

// The last one of its crowd takes its index, as in the pool.
std::int64_t NodeRoster::remove(std::size_t place, bool bad, std::size_t index) {
  std::vector<std::int64_t>& crowd = crowds_[place][bad ? 1 : 0];
  const std::int64_t number = crowd[index];
  std::swap(crowd[index], crowd.back());
  node_at(crowd[index]).index = index;
  crowd.pop_back();
  node_at(number).place = kAway;
  if (place <= kSpot) {
    slots_[node_at(number).slot] = -1;
  }
  return number;
}

std::int64_t NodeRoster::take(std::size_t place) {
  const std::int64_t number = remove(place, false, node_at(draw(place)).index);
  if (place <= kSpot) {
    vacancies_.push_back({.slot = node_at(number).slot});
  }
  return number;
}

std::int64_t NodeRoster::take_bad(std::size_t place, std::size_t which) {
  const std::int64_t number = remove(place, true, which);
  if (place <= kSpot) {
    vacancies_.push_back({.slot = node_at(number).slot});
  }
  return number;
}

void NodeRoster::put(std::size_t place, std::int64_t node, bool bad) { join(place, node, bad); }

void NodeRoster::hold_spot(std::int64_t count) {
  const std::size_t free = crowds_.size() - 1;
  while (static_cast<std::int64_t>(crowds_[kSpot][0].size()) < count) {
    join(kSpot, take(free), false);
  }
  while (static_cast<std::int64_t>(crowds_[kSpot][0].size()) > count) {
    join(free, take(kSpot), false);
  }
}

void NodeRoster::come_back(SimTime now, std::int64_t node) {
  if (const std::size_t hit = node_at(node).hit; hit != kNoHit) {
    hits_[hit].back = now;
  }
}

std::int64_t NodeRoster::draw(std::size_t place) {
  const std::vector<std::int64_t>& good = crowds_[place][0];
  ORRERY_CHECK(!good.empty(), "no good node is left in place {}", place);
  return good[stream_.uniform_int(good.size())];
}

// Calls accept() for nodes in the unit of `from`, then for those around it, the nearest first,
// until it returns true.
template <typename Accept>
void NodeRoster::search(std::int64_t from, std::int64_t unit, const Accept& accept) {
  const auto all = static_cast<std::int64_t>(nodes_.size());
  const std::int64_t first = from / unit * unit;
  const std::int64_t end = std::min(first + unit, all);
  for (std::int64_t number = first; number < end; ++number) {
    if (accept(number)) {
      return;
    }
  }
  for (std::int64_t away = 0; first - away > 0 || end + away < all; ++away) {
    if ((end + away < all && accept(end + away)) ||
        (first - away > 0 && accept(first - away - 1))) {
      return;
    }
  }
}

// The node that stands in where a component failed that has a place; -1 for others.
std::int64_t NodeRoster::standing_in(const Strike& strike) {
  const PlannedCause& cause = cause_of(strike);
  if (strike.component < 0 || !(cause.units_per_node > 0.0)) {
    return -1;
  }
  const auto [known, is_new] = units_.try_emplace({strike.cause, strike.component}, 0);
  if (is_new) {
    const double units =
        std::ceil(cause.units_per_node * static_cast<double>(plan_.failures.full_nodes));
    do {
      known->second =
          static_cast<std::int64_t>(stream_.uniform_int(static_cast<std::uint64_t>(units)));
    } while (!units_taken_.insert({strike.cause, known->second}).second);
  }
  const auto slot =
      static_cast<std::size_t>(static_cast<double>(known->second) / cause.units_per_node);
  return slot < slots_.size() ? slots_[slot] : -1;
}

// A good node of the job, fixed or on spot.
std::int64_t NodeRoster::choose(const Pending& struck, std::size_t place) {
  const auto fits = [&](std::int64_t number) {
    return node_at(number).place == place && !node_at(number).bad;
  };
  if (struck.first < 0) {
    const std::int64_t component = standing_in(struck.strike);
    return component >= 0 && fits(component) ? component : draw(place);
  }
  std::int64_t chosen = -1;
  search(struck.first, std::max<std::int64_t>(cause_of(struck.strike).hit_nodes, 1),
         [&](std::int64_t number) {
           chosen = fits(number) ? number : -1;
           return chosen >= 0;
         });
  return chosen >= 0 ? chosen : draw(place);
}

// Lemons as often as their hazard says.
std::int64_t NodeRoster::draw_staying(const Strike& strike) {
  if (const std::int64_t component = standing_in(strike); component >= 0) {
    return component;
  }
  const std::vector<std::int64_t>& bad = crowds_[kJob][1];
  const auto good = static_cast<double>(crowds_[kJob][0].size() + crowds_[kSpot][0].size());
  const double factor = feels_lemons(cause_of(strike)) ? plan_.failures.lemons.factor : 1.0;
  const double weight = factor * static_cast<double>(bad.size());
  if (!bad.empty() && stream_.uniform01() * (weight + good) < weight) {
    return bad[stream_.uniform_int(bad.size())];
  }
  const auto fixed = crowds_[kJob][0].size();
  const auto which = stream_.uniform_int(static_cast<std::uint64_t>(good));
  return which < fixed ? crowds_[kJob][0][which] : crowds_[kSpot][0][which - fixed];
}

void NodeRoster::hit_staying(SimTime at, const Strike& strike, std::int64_t count) {
  count = std::min(count, job_nodes());
  if (count <= 0) {
    return;
  }
  const std::int64_t first = draw_staying(strike);
  search(first, std::max<std::int64_t>(cause_of(strike).hit_nodes, 1), [&](std::int64_t number) {
    if (is_in_job(number)) {
      note(at, strike.cause, number, false);
      --count;
    }
    return count == 0;
  });
}

void NodeRoster::note(SimTime at, std::int32_t cause, std::int64_t number, bool leaves) {
  node_at(number).hit = leaves ? hits_.size() : node_at(number).hit;
  hits_.push_back({.at = at, .cause = cause, .node = number, .leaves = leaves});
}

void NodeRoster::strike(SimTime now, Strike strike, std::int64_t taken) {
  if (taken > 0) {
    strike.nodes = taken;
    strike.bad = std::min(strike.bad, taken);
    pending_.push_back({.at = now, .strike = strike});
  } else if (strike.nodes == 0) {
    hit_staying(now, strike, cause_of(strike).hit_nodes);
  }
}

// The first strike that still has a node of this kind to take, else one of the other kind.
NodeRoster::Pending* NodeRoster::pending(bool bad) {
  const auto left = [](const Pending& one, bool of_bad) {
    return of_bad ? one.strike.bad : one.strike.nodes - one.strike.bad;
  };
  for (const bool kind : {bad, !bad}) {
    for (Pending& one : pending_) {
      if (left(one, kind) > 0) {
        --one.strike.nodes;
        one.strike.bad -= kind ? 1 : 0;
        return &one;
      }
    }
  }
  return nullptr;
}

void NodeRoster::leave(std::int64_t number, std::size_t slot, Pending* struck) {
  std::size_t hit = kNoHit;
  if (struck != nullptr) {
    hit = hits_.size();
    struck->first = struck->first < 0 ? number : struck->first;
    note(struck->at, struck->strike.cause, number, true);
  }
  vacancies_.push_back({.slot = slot, .hit = hit});
}

std::int64_t NodeRoster::lose(bool spot) {
  const std::size_t place = spot ? kSpot : kJob;
  Pending* struck = pending(false);
  const std::int64_t number = struck != nullptr ? choose(*struck, place) : draw(place);
  remove(place, false, node_at(number).index);
  leave(number, node_at(number).slot, struck);
  if (spot) {
    join(crowds_.size() - 1, number, false);
  }
  return number;
}

std::int64_t NodeRoster::lose_bad(std::size_t which) {
  const std::int64_t number = remove(kJob, true, which);
  leave(number, node_at(number).slot, pending(true));
  return number;
}

void NodeRoster::end_loss() {
  for (const Pending& one : pending_) {
    hit_staying(one.at, one.strike, one.strike.nodes);
  }
  pending_.clear();
}

void NodeRoster::preempt(SimTime now, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t number = remove(kSpot, false, node_at(draw(kSpot)).index);
    Pending struck{.at = now, .strike = {.cause = plan_.capacity.spot->cause}};
    leave(number, node_at(number).slot, &struck);
    join(crowds_.size() - 1, number, false);
  }
}

void NodeRoster::finish(RunTimeline& timeline) {
  end_loss();
  std::ranges::sort(hits_, {},
                    [](const NodeHit& hit) { return std::tuple(hit.at, hit.cause, hit.node); });
  timeline.record_nodes(std::move(hits_), static_cast<std::int64_t>(nodes_.size()));
}

}  // namespace orrery::run
