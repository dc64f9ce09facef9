#include "sim/step/cost/fair_share.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/check.hpp"

namespace orrery::cost {

namespace {

constexpr std::size_t kExactFlows = 64;
constexpr double kNegligible = 1e-9;  // tail of a distribution

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

}  // namespace

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
