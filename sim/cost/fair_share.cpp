#include "sim/cost/fair_share.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.hpp"

namespace orrery::cost {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kExactFlows = 64;
constexpr double kNegligible = 1e-9;  // of the bytes of a flow, and tails of distributions

// Bytes per second, as plain numbers: rates[i] of the flows with active[i].
std::vector<double> fill(std::span<const Flow> flows,
                         const std::vector<bool>& active,
                         std::span<const BytesPerSecond> capacity) {
  std::vector<double> rates(flows.size(), 0.0);
  std::vector<bool> frozen(flows.size());
  std::vector<double> left;
  double most = 0.0;
  for (const BytesPerSecond link : capacity) {
    left.push_back(in_bytes_per_second(link));
    most = std::max(most, left.back());
  }
  for (std::size_t i = 0; i < flows.size(); ++i) {
    frozen[i] = !active[i] || flows[i].links.empty();
    rates[i] = active[i] && flows[i].links.empty() ? most : 0.0;
  }
  while (std::find(frozen.begin(), frozen.end(), false) != frozen.end()) {
    std::vector<double> users(left.size(), 0.0);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      for (const std::size_t link : flows[i].links) {
        users[link] += frozen[i] ? 0.0 : 1.0;
      }
    }
    std::size_t tightest = 0;
    double share = kNever;
    for (std::size_t link = 0; link < left.size(); ++link) {
      if (users[link] > 0.0 && left[link] / users[link] < share) {
        share = left[link] / users[link];
        tightest = link;
      }
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const auto& links = flows[i].links;
      if (!frozen[i] && std::find(links.begin(), links.end(), tightest) != links.end()) {
        frozen[i] = true;
        rates[i] = share;
        for (const std::size_t link : links) {
          left[link] = std::max(left[link] - share, 0.0);
        }
      }
    }
  }
  return rates;
}

void check_links(std::span<const Flow> flows, std::span<const BytesPerSecond> capacity) {
  for (const Flow& flow : flows) {
    for (const std::size_t link : flow.links) {
      ORRERY_CHECK(link < capacity.size(), "link {} of {} links", link, capacity.size());
    }
  }
}

// Probability that no link gets more than `most` of the flows: F!/L^F times the coefficient of x^F
// in (sum of x^i/i! up to most)^L, built link by link with the factors spread to stay in range.
double no_more_than(std::size_t most, std::size_t flows, std::size_t links) {
  std::vector<double> ways(flows + 1, 0.0);  // probability weights of k flows on the links so far
  ways[0] = 1.0;
  for (std::size_t link = 0; link < links; ++link) {
    const double here = 1.0 / static_cast<double>(links - link);
    std::vector<double> next(flows + 1, 0.0);
    // Of the flows not yet placed, each lies on this link with probability `here`.
    for (std::size_t placed = 0; placed <= flows; ++placed) {
      const std::size_t rest = flows - placed;
      const double stay = 1.0 - here;
      double chance = stay > 0.0 ? std::pow(stay, static_cast<double>(rest)) : 0.0;
      for (std::size_t k = 0; k <= std::min(most, rest); ++k) {
        if (stay > 0.0) {
          next[placed + k] += ways[placed] * chance;
          chance *= here / stay * static_cast<double>(rest - k) / static_cast<double>(k + 1);
        } else if (k == rest) {
          next[placed + k] += ways[placed];
        }
      }
    }
    ways = std::move(next);
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
  std::vector<Seconds> ends(flows.size());
  std::vector<double> left;
  for (const Flow& flow : flows) {
    left.push_back(in_bytes(flow.bytes));
  }
  std::vector<bool> done(flows.size(), false);
  double now = 0.0;
  for (std::size_t finished = 0; finished < flows.size();) {
    std::vector<bool> active(flows.size(), false);
    double next = kNever;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const double start = in_seconds(flows[i].start);
      active[i] = !done[i] && start <= now;
      next = !done[i] && start > now ? std::min(next, start) : next;
    }
    const std::vector<double> rates = fill(flows, active, capacity);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (active[i] && rates[i] > 0.0) {
        next = std::min(next, now + left[i] / rates[i]);
      } else if (active[i] && left[i] <= 0.0) {
        next = now;
      }
    }
    ORRERY_CHECK(next < kNever, "a flow over a link without capacity never ends");
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (active[i]) {
        left[i] -= rates[i] * (next - now);
        if (left[i] <= kNegligible * std::max(in_bytes(flows[i].bytes), 1.0)) {
          done[i] = true;
          ends[i] = seconds(next);
          ++finished;
        }
      }
    }
    now = next;
  }
  return ends;
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
