#include "sim/cost/fair_share.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::cost {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kExactFlows = 64;
constexpr double kNegligible = 1e-9;  // of the bytes of a flow, and tails of distributions

// Progressive filling: the tightest link gives each of its flows the same share, which is final;
// the other links keep what is left. Bytes per second as plain numbers.
class Filling {
 public:
  Filling(std::span<const Flow> flows,
          const std::vector<bool>& active,
          std::span<const BytesPerSecond> capacity)
      : flows_(flows), rates_(flows.size(), 0.0), frozen_(flows.size()) {
    double most = 0.0;
    for (const BytesPerSecond link : capacity) {
      left_.push_back(in_bytes_per_second(link));
      most = std::max(most, left_.back());
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      frozen_[i] = !active[i] || flows[i].links.empty();
      rates_[i] = active[i] && flows[i].links.empty() ? most : 0.0;
    }
  }

  std::vector<double> run() && {
    while (std::find(frozen_.begin(), frozen_.end(), false) != frozen_.end()) {
      const Tightest link = tightest(users());
      for (std::size_t i = 0; i < flows_.size(); ++i) {
        if (!frozen_[i] && uses(flows_[i], link.index)) {
          freeze(i, link.share);
        }
      }
    }
    return std::move(rates_);
  }

 private:
  struct Tightest {
    std::size_t index = 0;
    double share = kNever;
  };

  static bool uses(const Flow& flow, std::size_t link) {
    return std::find(flow.links.begin(), flow.links.end(), link) != flow.links.end();
  }

  // Flows of each link that still wait for their rate.
  [[nodiscard]] std::vector<double> users() const {
    std::vector<double> users(left_.size(), 0.0);
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      for (const std::size_t link : flows_[i].links) {
        users[link] += frozen_[i] ? 0.0 : 1.0;
      }
    }
    return users;
  }

  [[nodiscard]] Tightest tightest(const std::vector<double>& users) const {
    Tightest found;
    for (std::size_t link = 0; link < left_.size(); ++link) {
      if (users[link] > 0.0 && left_[link] / users[link] < found.share) {
        found = {link, left_[link] / users[link]};
      }
    }
    return found;
  }

  void freeze(std::size_t flow, double share) {
    frozen_[flow] = true;
    rates_[flow] = share;
    for (const std::size_t link : flows_[flow].links) {
      left_[link] = std::max(left_[link] - share, 0.0);
    }
  }

  std::span<const Flow> flows_;
  std::vector<double> rates_;
  std::vector<bool> frozen_;
  std::vector<double> left_;  // of each link's capacity
};

// rates[i] of the flows with active[i].
std::vector<double> fill(std::span<const Flow> flows,
                         const std::vector<bool>& active,
                         std::span<const BytesPerSecond> capacity) {
  return Filling(flows, active, capacity).run();
}

void check_links(std::span<const Flow> flows, std::span<const BytesPerSecond> capacity) {
  for (const Flow& flow : flows) {
    for (const std::size_t link : flow.links) {
      ORRERY_CHECK(link < capacity.size(), "link {} of {} links", link, capacity.size());
    }
  }
}

// One link more: of the flows not yet placed each lies on it with probability `here`, and at most
// `most` may. `ways`: probability weights of k flows on the links before.
std::vector<double> place_on_link(const std::vector<double>& ways, std::size_t most, double here) {
  const std::size_t flows = ways.size() - 1;
  const double stay = 1.0 - here;
  std::vector<double> next(ways.size(), 0.0);
  for (std::size_t placed = 0; placed <= flows; ++placed) {
    const std::size_t rest = flows - placed;
    if (stay <= 0.0) {  // the last link takes all that is left
      next[flows] += rest <= most ? ways[placed] : 0.0;
      continue;
    }
    double chance = std::pow(stay, static_cast<double>(rest));
    for (std::size_t k = 0; k <= std::min(most, rest); ++k) {
      next[placed + k] += ways[placed] * chance;
      chance *= here / stay * static_cast<double>(rest - k) / static_cast<double>(k + 1);
    }
  }
  return next;
}

// Probability that no link gets more than `most` of the flows: F!/L^F times the coefficient of x^F
// in (sum of x^i/i! up to most)^L, built link by link with the factors spread to stay in range.
double no_more_than(std::size_t most, std::size_t flows, std::size_t links) {
  std::vector<double> ways(flows + 1, 0.0);
  ways[0] = 1.0;
  for (std::size_t link = 0; link < links; ++link) {
    ways = place_on_link(ways, most, 1.0 / static_cast<double>(links - link));
  }
  return ways[flows];
}

// The same for independent Poisson loads.
double poisson_no_more_than(std::size_t most, double mean, double links) {
  double term = std::exp(-mean);
  double below = term;
  for (std::size_t k = 1; k <= most; ++k) {
    term *= mean / static_cast<double>(k);
    below += term;
  }
  return std::pow(std::min(below, 1.0), links);
}

// Flows from event to event: a start or an end, where the rates change.
class Flowing {
 public:
  Flowing(std::span<const Flow> flows, std::span<const BytesPerSecond> capacity)
      : flows_(flows), capacity_(capacity), done_(flows.size(), false), ends_(flows.size()) {
    for (const Flow& flow : flows) {
      left_.push_back(in_bytes(flow.bytes));
    }
  }

  std::vector<Seconds> run() && {
    while (finished_ < flows_.size()) {
      std::vector<bool> active(flows_.size(), false);
      for (std::size_t i = 0; i < flows_.size(); ++i) {
        active[i] = !done_[i] && in_seconds(flows_[i].start) <= now_;
      }
      const std::vector<double> rates = fill(flows_, active, capacity_);
      const double next = next_event(active, rates);
      ORRERY_CHECK(next < kNever, "a flow over a link without capacity never ends");
      advance(active, rates, next);
    }
    return std::move(ends_);
  }

 private:
  [[nodiscard]] double next_event(const std::vector<bool>& active,
                                  const std::vector<double>& rates) const {
    double next = kNever;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (active[i] && rates[i] > 0.0) {
        next = std::min(next, now_ + left_[i] / rates[i]);
      } else if (active[i] && left_[i] <= 0.0) {
        next = now_;
      } else if (!active[i] && !done_[i]) {
        next = std::min(next, in_seconds(flows_[i].start));
      }
    }
    return next;
  }

  void advance(const std::vector<bool>& active, const std::vector<double>& rates, double next) {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (!active[i]) {
        continue;
      }
      left_[i] -= rates[i] * (next - now_);
      if (left_[i] <= kNegligible * std::max(in_bytes(flows_[i].bytes), 1.0)) {
        done_[i] = true;
        ends_[i] = seconds(next);
        ++finished_;
      }
    }
    now_ = next;
  }

  std::span<const Flow> flows_;
  std::span<const BytesPerSecond> capacity_;
  std::vector<double> left_;  // bytes
  std::vector<bool> done_;
  std::vector<Seconds> ends_;
  std::size_t finished_ = 0;
  double now_ = 0.0;
};

}  // namespace

std::vector<BytesPerSecond> max_min_rates(std::span<const Flow> flows,
                                          std::span<const BytesPerSecond> capacity) {
  check_links(flows, capacity);
  std::vector<BytesPerSecond> rates;
  for (const double rate : fill(flows, std::vector<bool>(flows.size(), true), capacity)) {
    rates.push_back(bytes_per_second(rate));
  }
  return rates;
}

std::vector<Seconds> flow_ends(std::span<const Flow> flows,
                               std::span<const BytesPerSecond> capacity) {
  check_links(flows, capacity);
  return Flowing(flows, capacity).run();
}

double stretch_beside(Seconds own, Seconds others) {
  return own > Seconds{} ? 1.0 + std::min(others, own) / own : 1.0;
}

double expected_worst_load(std::size_t flows, std::size_t links) {
  ORRERY_CHECK(links > 0, "flows need at least one link");
  const double mean = static_cast<double>(flows) / static_cast<double>(links);
  double expected = 0.0;
  for (std::size_t most = 0; most < flows; ++most) {
    const double below = flows <= kExactFlows
                             ? no_more_than(most, flows, links)
                             : poisson_no_more_than(most, mean, static_cast<double>(links));
    expected += 1.0 - below;
    if (1.0 - below < kNegligible) {
      break;
    }
  }
  return expected;
}

}  // namespace orrery::cost
