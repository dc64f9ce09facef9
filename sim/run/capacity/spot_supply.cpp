#include "sim/run/capacity/spot_supply.hpp"

#include <algorithm>
#include <optional>

#include "sim/base/check.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

namespace {

std::size_t after(const SpotTrace& trace, std::size_t row) {
  return row + 1 < trace.rows.size() ? row + 1 : 0;
}

}  // namespace

TraceWalk::TraceWalk(const SpotTrace& trace, SimTime offset) : trace_(&trace), next_(kForever) {
  const SimTime phase{offset.ns % trace.length.ns};
  const auto above =
      std::upper_bound(trace.rows.begin(), trace.rows.end(), phase,
                       [](SimTime time, const SpotRow& row) { return time < row.from; });
  row_ = static_cast<std::size_t>(above - trace.rows.begin()) - 1;
  if (trace.rows.size() > 1) {
    next_ = end_of(trace, row_) - phase;
  }
}

std::int64_t TraceWalk::available() const { return trace_->rows[row_].available; }

std::int64_t TraceWalk::available_next() const {
  return trace_->rows[after(*trace_, row_)].available;
}

std::optional<DollarsPerSecond> TraceWalk::price() const { return trace_->rows[row_].price; }

void TraceWalk::step() {
  row_ = after(*trace_, row_);
  next_ += end_of(*trace_, row_) - trace_->rows[row_].from;
}

SimTime trace_offset(const PlannedSpot& spot, std::uint64_t seed, std::uint32_t trial) {
  if (!spot.random_start || spot.traces.empty()) {
    return {};
  }
  RandomStream stream(seed, trial, Purpose::spot, 0);
  std::int64_t longest = 0;
  for (const SpotTrace& trace : spot.traces) {
    longest = std::max(longest, trace.length.ns);
  }
  return {static_cast<std::int64_t>(stream.uniform_int(static_cast<std::uint64_t>(longest)))};
}

SpotSupply::SpotSupply(const std::optional<PlannedSpot>& plan, std::uint64_t seed)
    : plan_(plan),
      seed_(seed),
      preemptions_(seed, 0, Purpose::spot, 1),
      returns_(seed, 0, Purpose::spot, 2) {}

void SpotSupply::reset(std::uint32_t trial) {
  held_ = away_nodes_ = 0;
  zone_ = 0;
  next_ = preemption_ = noticed_ = kForever;
  announced_.clear();
  away_.clear();
  walks_.clear();
  if (!plan_) {
    return;
  }
  preemptions_ = RandomStream(seed_, trial, Purpose::spot, 1);
  returns_ = RandomStream(seed_, trial, Purpose::spot, 2);
  hazard_at_ = SimTime{};
  hazard_ = in_seconds(preemptions_.exponential(seconds(1.0)));
  const SimTime offset = trace_offset(*plan_, seed_, trial);
  for (const SpotTrace& trace : plan_->traces) {
    walks_.emplace_back(trace, offset);
  }
  if (!walks_.empty()) {
    zone_ = static_cast<std::int32_t>(best_zone());
  }
  find_next(SimTime{});
}

// The zone with the most nodes on offer; the present one of equals, then the first.
std::size_t SpotSupply::best_zone() const {
  auto best = static_cast<std::size_t>(zone_);
  for (std::size_t i = 0; i < walks_.size(); ++i) {
    if (in_zone(i) > in_zone(best)) {
      best = i;
    }
  }
  return best;
}

SimTime SpotSupply::departure_after(SimTime time) const {
  if (!walks_.empty()) {
    return noticed_ > time ? noticed_ : kForever;
  }
  const auto next =
      std::upper_bound(announced_.begin(), announced_.end(), time,
                       [](SimTime after, const Loss& loss) { return after < loss.at; });
  return next == announced_.end() ? kForever : next->at;
}

std::int64_t SpotSupply::obtainable() const {
  if (!plan_) {
    return 0;
  }
  return std::max(held_, walks_.empty() ? plan_->nodes - away_nodes_ : in_zone(best_zone()));
}

SpotSupply::Grant SpotSupply::request(SimTime now, std::int64_t wanted) {
  Grant grant{held_, false};
  if (!plan_ || wanted <= held_) {
    return grant;
  }
  if (walks_.empty()) {
    grant.held = std::max(held_, std::min(wanted, plan_->nodes - away_nodes_));
  } else {
    const auto here = static_cast<std::size_t>(zone_);
    const std::size_t best = best_zone();
    if (in_zone(here) < wanted && in_zone(best) > in_zone(here)) {
      zone_ = static_cast<std::int32_t>(best);
      grant.moved = held_ > 0 || now > SimTime{};
      noticed_ = kForever;
    }
    grant.held = std::min(wanted, in_zone(static_cast<std::size_t>(zone_)));
  }
  set_held(now, grant.held);
  return grant;
}

void SpotSupply::hand_back(SimTime now, std::int64_t nodes) {
  ORRERY_CHECK(nodes <= held_, "{} of {} spot nodes were handed back", nodes, held_);
  set_held(now, held_ - nodes);
}

void SpotSupply::set_held(SimTime now, std::int64_t held) {
  if (plan_->mtbp && held != held_) {
    const double rate =
        static_cast<double>(held_) / (in_seconds(*plan_->mtbp) * static_cast<double>(plan_->burst));
    hazard_ = std::max(0.0, hazard_ - rate * in_seconds(to_seconds(now - hazard_at_)));
    hazard_at_ = now;
    held_ = held;
    schedule_preemption(now);
  }
  held_ = held;
  find_next(now);
}

// When the hazard that is left will be used up by the nodes held now.
void SpotSupply::schedule_preemption(SimTime now) {
  preemption_ = kForever;
  if (held_ > 0) {
    const double per_hazard =
        in_seconds(*plan_->mtbp) * static_cast<double>(plan_->burst) / static_cast<double>(held_);
    preemption_ = now + bounded_time(seconds(hazard_ * per_hazard));
  }
}

void SpotSupply::find_next(SimTime now) {
  next_ = preemption_;
  if (!announced_.empty()) {
    next_ = std::min(next_, announced_.front().at);
  }
  if (!away_.empty()) {
    next_ = std::min(next_, away_.front().at);
  }
  for (const TraceWalk& walk : walks_) {
    next_ = std::min(next_, walk.next());
  }
  if (!walks_.empty() && plan_->notice > SimTime{}) {
    const TraceWalk& here = walks_[static_cast<std::size_t>(zone_)];
    if (here.next() != kForever && here.next() != noticed_ && here.available_next() < held_) {
      next_ = std::min(next_, std::max(now, here.next() - plan_->notice));
    }
  }
}

SpotSupply::Event SpotSupply::take(SimTime now) {
  ORRERY_CHECK(next_ == now, "an event of the spot supply at {} ns was taken at {}", next_.ns,
               now.ns);
  const Event event = walks_.empty() ? take_rate_event(now) : take_trace_event(now);
  find_next(now);
  return event;
}

SpotSupply::Event SpotSupply::take_rate_event(SimTime now) {
  constexpr auto later = [](const Loss& a, const Loss& b) { return a.at > b.at; };
  if (!announced_.empty() && announced_.front().at <= now) {
    const std::int64_t nodes = announced_.front().nodes;
    announced_.pop_front();
    return lose(now, nodes);
  }
  if (!away_.empty() && away_.front().at <= now) {
    std::pop_heap(away_.begin(), away_.end(), later);
    const std::int64_t nodes = away_.back().nodes;
    away_.pop_back();
    away_nodes_ -= nodes;
    return {Kind::offer, nodes, now};
  }
  hazard_at_ = now;
  hazard_ = in_seconds(preemptions_.exponential(seconds(1.0)));
  schedule_preemption(now);
  if (plan_->notice > SimTime{}) {
    announced_.push_back({now + plan_->notice, plan_->burst});
    return {Kind::notice, std::min(plan_->burst, held_), announced_.back().at};
  }
  return lose(now, plan_->burst);
}

SpotSupply::Event SpotSupply::lose(SimTime now, std::int64_t nodes) {
  constexpr auto later = [](const Loss& a, const Loss& b) { return a.at > b.at; };
  const std::int64_t lost = std::min(nodes, held_);
  if (lost > 0) {
    away_.push_back({now + bounded_time(sample(plan_->returns, returns_)), lost});
    std::push_heap(away_.begin(), away_.end(), later);
    away_nodes_ += lost;
    set_held(now, held_ - lost);
  }
  return {Kind::loss, lost, now};
}

SpotSupply::Event SpotSupply::take_trace_event(SimTime now) {
  const auto here = static_cast<std::size_t>(zone_);
  if (walks_[here].next() > now && walks_[here].available_next() < held_ &&
      walks_[here].next() - plan_->notice <= now && walks_[here].next() != noticed_) {
    noticed_ = walks_[here].next();
    return {Kind::notice, held_ - walks_[here].available_next(), noticed_};
  }
  const std::int64_t before = obtainable();
  for (std::size_t i = 0; i < walks_.size(); ++i) {
    if (walks_[i].next() > now) {
      continue;
    }
    walks_[i].step();
    if (i == here && in_zone(here) < held_) {
      const std::int64_t lost = held_ - in_zone(here);
      set_held(now, in_zone(here));
      return {Kind::loss, lost, now};
    }
    if (i == here && noticed_ == now) {
      return {Kind::loss, 0, now};  // announced, but those nodes had gone before
    }
    return {obtainable() > std::max(before, held_) ? Kind::offer : Kind::nothing,
            obtainable() - held_, now};
  }
  return {};
}

PerSecond traced_loss_rate(const PlannedSpot& spot) {
  std::optional<PlannedSpot> plan = spot;
  plan->random_start = false;
  plan->notice = SimTime{};
  SimTime length;
  for (const SpotTrace& trace : spot.traces) {
    length = std::max(length, trace.length);
  }
  SpotSupply supply(plan, 0);
  supply.reset(0);
  double losses = 0.0;
  for (SimTime now; now < length; now = supply.next()) {
    if (now == supply.next()) {
      const SpotSupply::Event event = supply.take(now);
      losses += event.kind == SpotSupply::Kind::loss && event.nodes > 0 ? 1.0 : 0.0;
    }
    static_cast<void>(supply.request(now, spot.nodes));
  }
  return length > SimTime{} ? losses / to_seconds(length) : PerSecond{};
}

}  // namespace orrery::run
