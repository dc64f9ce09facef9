#include "sim/run/failures/failure_sources.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::run {

namespace {

// Entities of the streams: the merged processes, then each process of its own.
constexpr std::uint32_t kPlain = 0;
constexpr std::uint32_t kModulated = 1;
constexpr std::uint32_t kWho = 2;
constexpr std::uint32_t kFirstOwn = 3;

double to_ns(Seconds time) { return in_seconds(time) / kNano; }

Seconds to_time(double ns) { return seconds(ns * kNano); }

double unit_exponential(RandomStream& stream) { return -std::log1p(-stream.uniform01()); }

// The next of a stream of Exp(1). Up to eight are drawn together, twice as many each time: their
// logarithms do not wait for one another, and a calm trial draws few in vain.
template <typename Process>
double draw_hazard(Process& process) {
  if (process.next_hazard == process.hazards_end) {
    process.hazards_end =
        std::clamp(2 * process.hazards_end, std::size_t{1}, process.hazards.size());
    for (std::size_t i = 0; i < process.hazards_end; ++i) {
      process.hazards[i] = unit_exponential(process.time);
    }
    process.next_hazard = 0;
  }
  return process.hazards[process.next_hazard++];
}

bool is_exponential(const PlannedCause& cause) {
  return std::holds_alternative<ExponentialLaw>(cause.life);
}

// For a heap with the earliest first.
constexpr auto later = [](const auto& a, const auto& b) { return a.at > b.at; };

// `time` from now, at most kLongestTime away; not negative.
SimTime after(SimTime now, double time) {
  return time < kLatest ? SimTime{now.ns + static_cast<std::int64_t>(nearest_even(time))}
                        : kForever;
}

}  // namespace

FailureSources::FailureSources(const RunPlan& plan)
    : plan_(plan),
      warp_(plan.failures.modulation),
      who_(plan.simulation.seed, 0, Purpose::failure_cause, kWho) {
  const FailurePlan& failures = plan.failures;
  const bool random = !failures.log.has_value();
  const auto merged = [&](bool modulated, std::uint32_t entity) {
    const RandomStream none(plan.simulation.seed, 0, Purpose::failure_time, entity);
    return Merged{
        .shares = {}, .modulated = modulated, .entity = entity, .time = none, .choice = none};
  };
  Merged plain = merged(false, kPlain);
  Merged modulated = merged(true, kModulated);
  for (std::size_t i = 0; i < plan.causes.size(); ++i) {
    const PlannedCause& cause = plan.causes[i];
    const auto index = static_cast<std::int32_t>(i);
    if (cause.effect != StrikeEffect::failure || !random) {
      continue;
    }
    if (is_exponential(cause)) {
      add_exponential(index, cause.is_hardware && !warp_.is_constant() ? modulated : plain);
    } else {
      add_population(index);
    }
  }
  for (Merged* process : {&plain, &modulated}) {
    if (std::ranges::any_of(process->shares, [](const Share& share) { return share.rate > 0.0; })) {
      merged_.push_back(std::move(*process));
    }
  }
  for (std::size_t i = 0; i < plan.causes.size(); ++i) {
    if (plan.causes[i].effect != StrikeEffect::failure) {
      Merged own = merged(false, kFirstOwn + static_cast<std::uint32_t>(i));
      add_exponential(static_cast<std::int32_t>(i), own);
      merged_.push_back(std::move(own));
    }
  }
  for (Merged& process : merged_) {
    std::size_t causes = 0;
    for (Share& share : process.shares) {
      for (double& part : share.cumulative) {
        part /= share.rate;
      }
      causes += share.cause.size();
      process.only = share.cause.empty() ? process.only : share.cause.front();
    }
    process.only = causes == 1 ? process.only : -1;
  }
}

// The hazard per unit of exposure joins the sum of its share; zero hazards are left out.
void FailureSources::add_exponential(std::int32_t cause, Merged& merged) const {
  const PlannedCause& planned = plan_.causes[static_cast<std::size_t>(cause)];
  const double factor = planned.effect == StrikeEffect::failure ? plan_.failures.rate_factor : 1.0;
  const bool by_nodes = planned.units_per_node > 0.0;
  const double units = by_nodes ? planned.units_per_node : 1.0;
  const double rate = factor * units / to_ns(mean(planned.life));
  if (!(rate > 0.0)) {
    return;
  }
  Exposure kind = by_nodes ? Exposure::nodes : Exposure::running;
  if (feels_lemons(planned) && plan_.failures.lemons.factor != 1.0) {
    kind = Exposure::weighted_nodes;
  }
  Share& share = merged.shares[static_cast<std::size_t>(kind)];
  share.rate += rate;
  share.cumulative.push_back(share.rate);
  share.cause.push_back(cause);
}

// Units that are no whole number become the next one above, each living longer in proportion.
void FailureSources::add_population(std::int32_t cause) {
  const PlannedCause& planned = plan_.causes[static_cast<std::size_t>(cause)];
  const bool by_nodes = planned.units_per_node > 0.0;
  const double units =
      by_nodes ? planned.units_per_node * static_cast<double>(plan_.failures.full_nodes) : 1.0;
  const double count = std::ceil(units);
  const LifeLaw life = scaled(planned.life, count / units / plan_.failures.rate_factor);
  const bool modulated = planned.is_hardware && !warp_.is_constant();
  const auto same = [&](const Clocks& clocks) {
    return clocks.modulated == modulated && clocks.by_nodes == by_nodes;
  };
  auto group = std::ranges::find_if(clocks_, same);
  if (group == clocks_.end()) {
    const double growth =
        by_nodes
            ? static_cast<double>(std::max(plan_.capacity.most_nodes, plan_.failures.full_nodes)) /
                  static_cast<double>(plan_.failures.full_nodes)
            : 1.0;
    clocks_.push_back({.populations = {},
                       .heap = {},
                       .modulated = modulated,
                       .by_nodes = by_nodes,
                       .horizon = growth * operational(plan_.end, modulated)});
    group = clocks_.end() - 1;
  }
  const std::uint32_t entity = kFirstOwn + static_cast<std::uint32_t>(cause);
  RemainingLife first(life, planned.age);
  const double failing = first.probability(to_time(group->horizon));
  group->populations.push_back(
      {.cause = cause,
       .count = static_cast<std::int64_t>(count),
       .entity = entity,
       .first = std::move(first),
       .renewed = RemainingLife(life, {AgeKind::fresh, Seconds{}}),
       .failing = failing,
       .renewals = RandomStream(plan_.simulation.seed, 0, Purpose::failure_time, entity)});
}

double FailureSources::exposure(Exposure kind) const {
  switch (kind) {
    case Exposure::weighted_nodes:
      return static_cast<double>(job_.good) +
             plan_.failures.lemons.factor * static_cast<double>(job_.bad);
    case Exposure::nodes:
      return static_cast<double>(job_.total());
    case Exposure::running:
      break;
  }
  return running_ ? 1.0 : 0.0;
}

double FailureSources::operational(SimTime now, bool modulated) const {
  return modulated ? warp_.operational(now) : to_ns(now);
}

// When `amount` of operational time has passed since `present`, which is now.
SimTime FailureSources::time_of(SimTime now, bool modulated, double present, double amount) const {
  return modulated ? std::max(now, warp_.time_of(present + amount)) : after(now, amount);
}

void FailureSources::reset(std::uint32_t trial) {
  job_ = {plan_.failures.full_nodes, 0};
  running_ = true;
  logged_ = 0;
  who_ = RandomStream(plan_.simulation.seed, trial, Purpose::failure_cause, kWho);
  for (Merged& process : merged_) {
    start(process, trial);
  }
  for (Clocks& clocks : clocks_) {
    start(clocks, trial);
  }
  find_next();
}

void FailureSources::start(Merged& merged, std::uint32_t trial) {
  const std::uint64_t seed = plan_.simulation.seed;
  merged.time = RandomStream(seed, trial, Purpose::failure_time, merged.entity);
  merged.choice = RandomStream(seed, trial, Purpose::failure_cause, merged.entity);
  merged.next_hazard = merged.hazards_end = 0;
  merged.hazard = draw_hazard(merged);
  merged.warped = 0.0;
  schedule(merged, SimTime{});
}

void FailureSources::start(Clocks& clocks, std::uint32_t trial) {
  const std::uint64_t seed = plan_.simulation.seed;
  clocks.heap.clear();
  clocks.operational = clocks.warped = 0.0;
  for (std::size_t i = 0; i < clocks.populations.size(); ++i) {
    Population& population = clocks.populations[i];
    population.renewals = RandomStream(seed, trial, Purpose::failure_cause, population.entity);
    std::int32_t component = 0;
    first_failures(population, trial, to_time(clocks.horizon), [&](Seconds life) {
      clocks.heap.push_back({to_ns(life), static_cast<std::int32_t>(i), component++});
    });
  }
  std::make_heap(clocks.heap.begin(), clocks.heap.end(), later);
  schedule(clocks, SimTime{});
}

// The components that fail within the horizon, and only those: the least of n uniform draws, the
// next of the n - 1 above it, and so on. What is drawn does not depend on where the run ends.
//
// In a fleet long in use a remaining life has the density S(x) / mean, so x is uniform on [0, mean]
// with probability S(x); else it is longer than the mean.
template <typename Add>
void FailureSources::first_failures(const Population& population, std::uint32_t trial,
                                    Seconds horizon, Add add) const {
  const std::uint64_t seed = plan_.simulation.seed;
  RandomStream stream(seed, trial, Purpose::failure_time, population.entity);
  const RemainingLife& life = population.first;
  const bool stationary = life.is_stationary();
  const Seconds mean = life.mean();
  const bool has_longer = stationary && horizon > mean;
  const double within_mean = has_longer ? life.probability(mean) : 1.0;
  double log_above = 0.0;  // of the share of draws above the present one
  for (std::int64_t left = population.count; left > 0; --left) {
    log_above += std::log(stream.uniform01_open_zero()) / static_cast<double>(left);
    const double u = -std::expm1(log_above);
    if (!stationary) {
      if (u >= population.failing) {
        break;
      }
      add(life.quantile(u));
      continue;
    }
    const Seconds x = u * mean;
    if (x > horizon) {
      break;
    }
    const double choice = stream.uniform01();
    const double survival = life.survival(x);
    if (choice < survival) {
      add(x);
    } else if (has_longer) {
      const double among = (choice - survival) / (1.0 - survival);  // uniform again
      const Seconds longer = life.quantile(within_mean + (1.0 - within_mean) * among);
      if (longer <= horizon) {
        add(longer);
      }
    }
  }
}

// The rate under the present exposure, and the strike that the hazard left makes of it.
void FailureSources::schedule(Merged& merged, SimTime now) {
  merged.rate = 0.0;
  for (std::size_t i = 0; i < kExposures; ++i) {
    if (merged.shares[i].rate > 0.0) {
      merged.rate += merged.shares[i].rate * exposure(static_cast<Exposure>(i));
    }
  }
  merged.at = merged.rate > 0.0
                  ? time_of(now, merged.modulated, merged.warped, merged.hazard / merged.rate)
                  : kForever;
}

void FailureSources::schedule(Clocks& clocks, SimTime now) {
  clocks.speed = clocks.by_nodes ? static_cast<double>(job_.total()) /
                                       static_cast<double>(plan_.failures.full_nodes)
                                 : exposure(Exposure::running);
  clocks.at = kForever;
  if (!clocks.heap.empty() && clocks.speed > 0.0) {
    const double left = std::max(0.0, clocks.heap.front().at - clocks.operational);
    clocks.at = time_of(now, clocks.modulated, clocks.warped, left / clocks.speed);
  }
}

void FailureSources::find_next() {
  next_ = kForever;
  source_ = Source::none;
  const auto consider = [&](SimTime at, Source source, std::size_t index) {
    if (at < next_) {
      next_ = at;
      source_ = source;
      index_ = index;
    }
  };
  for (std::size_t i = 0; i < merged_.size(); ++i) {
    consider(merged_[i].at, Source::merged, i);
  }
  for (std::size_t i = 0; i < clocks_.size(); ++i) {
    consider(clocks_[i].at, Source::clocks, i);
  }
  const auto& log = plan_.failures.log;
  if (log && logged_ < log->size()) {
    consider((*log)[logged_].at, Source::log, logged_);
  }
}

void FailureSources::set_exposure(SimTime now, NodeMix job, bool running) {
  if (job == job_ && running == running_) {
    return;
  }
  job_ = job;
  running_ = running;
  for (Merged& merged : merged_) {
    const double warped = operational(now, merged.modulated);
    merged.hazard = std::max(0.0, merged.hazard - merged.rate * (warped - merged.warped));
    merged.warped = warped;
    schedule(merged, now);
  }
  for (Clocks& clocks : clocks_) {
    const double warped = operational(now, clocks.modulated);
    clocks.operational += clocks.speed * (warped - clocks.warped);
    clocks.warped = warped;
    schedule(clocks, now);
  }
  find_next();
}

Strike FailureSources::take(SimTime now) {
  ORRERY_CHECK(source_ != Source::none && now == next_,
               "a strike taken at {} ns, but the next one is at {} ns", now.ns, next_.ns);
  Strike strike;
  if (source_ == Source::merged) {
    const std::int32_t cause = take_merged(merged_[index_], now);
    strike = strike_of(cause, plan_.causes[static_cast<std::size_t>(cause)].takes_nodes);
  } else if (source_ == Source::clocks) {
    Clocks& clocks = clocks_[index_];
    const Clock failed = take_clock(clocks, now);
    const std::int32_t cause =
        clocks.populations[static_cast<std::size_t>(failed.population)].cause;
    strike = strike_of(cause, plan_.causes[static_cast<std::size_t>(cause)].takes_nodes);
    strike.component = failed.component;
  } else {
    const LoggedStrike& line = (*plan_.failures.log)[logged_++];
    strike = strike_of(line.cause, line.nodes);
    strike.outage = line.outage;
  }
  find_next();
  return strike;
}

// The cause whose part of the hazard holds a uniform draw.
std::int32_t FailureSources::choose(Merged& merged) const {
  double part = merged.choice.uniform01() * merged.rate;
  const Share* share = nullptr;
  for (std::size_t i = 0; i < kExposures; ++i) {
    const double rate = merged.shares[i].rate;
    if (rate > 0.0) {
      const double here = rate * exposure(static_cast<Exposure>(i));
      if (here > 0.0) {
        share = &merged.shares[i];
        if (part < here) {
          part /= here;
          break;
        }
      }
      part -= here;
    }
  }
  const auto found = std::upper_bound(share->cumulative.begin(), share->cumulative.end() - 1, part);
  return share->cause[static_cast<std::size_t>(found - share->cumulative.begin())];
}

// Who strikes now; then the hazard until the next strike.
std::int32_t FailureSources::take_merged(Merged& merged, SimTime now) {
  const std::int32_t cause = merged.only >= 0 ? merged.only : choose(merged);
  merged.hazard = draw_hazard(merged);
  merged.warped = operational(now, merged.modulated);
  schedule(merged, now);
  return cause;
}

// Renews the component that failed; the others keep their clocks.
FailureSources::Clock FailureSources::take_clock(Clocks& clocks, SimTime now) {
  const double warped = operational(now, clocks.modulated);
  clocks.operational += clocks.speed * (warped - clocks.warped);
  clocks.warped = warped;
  std::pop_heap(clocks.heap.begin(), clocks.heap.end(), later);
  const Clock failed = clocks.heap.back();
  clocks.heap.pop_back();
  Population& population = clocks.populations[static_cast<std::size_t>(failed.population)];
  const double life = to_ns(population.renewed.quantile(population.renewals.uniform01()));
  if (failed.at + life <= clocks.horizon) {
    clocks.heap.push_back({failed.at + life, failed.population, failed.component});
    std::push_heap(clocks.heap.begin(), clocks.heap.end(), later);
  }
  schedule(clocks, now);
  return failed;
}

// Which of the job's nodes are hit: lemons in proportion to their hazard where the cause feels
// them, else any.
Strike FailureSources::strike_of(std::int32_t cause, std::int64_t nodes) {
  Strike strike{.cause = cause, .nodes = std::min(nodes, job_.total())};
  NodeMix left = job_;
  const bool feels = feels_lemons(plan_.causes[static_cast<std::size_t>(cause)]);
  for (std::int64_t i = 0; i < strike.nodes && left.bad > 0; ++i) {
    const double weight =
        (i == 0 && feels ? plan_.failures.lemons.factor : 1.0) * static_cast<double>(left.bad);
    const bool bad = who_.uniform01() * (weight + static_cast<double>(left.good)) < weight;
    strike.bad += bad ? 1 : 0;
    (bad ? left.bad : left.good) -= 1;
  }
  return strike;
}

}  // namespace orrery::run
