#pragma once

// Max-min fair rates by progressive filling over all flows: the plain algorithm with which the
// local solver (sim/step/fabric/rate_solver.hpp) is compared.
//
//   raise all rates together until a link is full or a flow at its bound; freeze; go on
//   share(l) = (C(l) - sum of w r over the frozen) / (sum of w over the others)
//
// symbol | meaning                       | unit   | origin
// -------|-------------------------------|--------|-------
// C(l)   | what link l carries           | byte/s | caller
// w      | weight of a flow on l         | -      | caller
// r      | rate of a flow                | byte/s | computed
//
// Complexity O(rounds x (links + flows) + hops), rounds <= links + flows. Source: Bertsekas and
// Gallager, Data Networks, chapter 6.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/step/fabric/flow.hpp"

namespace orrery::fabric {

class Filling {
 public:
  Filling(std::span<const BytesPerSecond> capacities, std::span<const FlowPath> flows)
      : flows_(flows),
        rates_(flows.size()),
        open_(flows.size(), true),
        weight_(capacities.size()),
        users_(capacities.size()) {
    for (const BytesPerSecond capacity : capacities) {
      left_.push_back(in_bytes_per_second(capacity));
    }
    for (const FlowPath& flow : flows) {
      for (const Hop& hop : flow.hops) {
        weight_[hop.link.index()] += hop.weight;
        ++users_[hop.link.index()];
      }
    }
  }

  std::vector<BytesPerSecond> run() && {
    for (std::size_t still_open = flows_.size(); still_open > 0;) {
      const double share = least_share();
      const std::size_t before = still_open;
      const std::vector<bool> full = links_at(share);
      for (std::size_t i = 0; i < flows_.size(); ++i) {
        if (open_[i] && (bound(i) <= share || crosses(i, full))) {
          freeze(i, std::min(bound(i), share));
          --still_open;
        }
      }
      ORRERY_CHECK(still_open < before, "a flow needs a link or a bound");
    }
    return std::move(rates_);
  }

 private:
  [[nodiscard]] double bound(std::size_t flow) const {
    return in_bytes_per_second(flows_[flow].bound);
  }

  [[nodiscard]] double share_of(std::size_t link) const {
    return std::max(left_[link], 0.0) / weight_[link];
  }

  [[nodiscard]] double least_share() const {
    double share = in_bytes_per_second(kUnbounded);
    for (std::size_t link = 0; link < left_.size(); ++link) {
      share = users_[link] > 0 ? std::min(share, share_of(link)) : share;
    }
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      share = open_[i] ? std::min(share, bound(i)) : share;
    }
    return share;
  }

  [[nodiscard]] std::vector<bool> links_at(double share) const {
    std::vector<bool> full(left_.size(), false);
    for (std::size_t link = 0; link < left_.size(); ++link) {
      full[link] = users_[link] > 0 && share_of(link) <= share;
    }
    return full;
  }

  [[nodiscard]] bool crosses(std::size_t flow, const std::vector<bool>& full) const {
    return std::ranges::any_of(flows_[flow].hops,
                               [&full](const Hop& hop) { return full[hop.link.index()]; });
  }

  void freeze(std::size_t flow, double rate) {
    open_[flow] = false;
    rates_[flow] = bytes_per_second(rate);
    for (const Hop& hop : flows_[flow].hops) {
      left_[hop.link.index()] -= hop.weight * rate;
      weight_[hop.link.index()] -= hop.weight;
      --users_[hop.link.index()];
    }
  }

  std::span<const FlowPath> flows_;
  std::vector<BytesPerSecond> rates_;
  std::vector<bool> open_;
  std::vector<double> left_;    // of each link, byte/s
  std::vector<double> weight_;  // of the open flows on each link
  std::vector<std::size_t> users_;
};

// One rate per flow. A flow without links has its bound.
inline std::vector<BytesPerSecond> progressive_filling(std::span<const BytesPerSecond> capacities,
                                                       std::span<const FlowPath> flows) {
  for (const FlowPath& flow : flows) {
    for (const Hop& hop : flow.hops) {
      ORRERY_CHECK(hop.link.index() < capacities.size() && hop.weight > 0.0,
                   "link {} of {} with weight {}", hop.link.value, capacities.size(), hop.weight);
    }
  }
  return Filling(capacities, flows).run();
}

// A SolveWatch that aborts where the local solve differs from progressive filling over all flows.
inline void compare_with_full_solve(std::span<const BytesPerSecond> capacities,
                                    std::span<const FlowPath> flows,
                                    std::span<const BytesPerSecond> rates) {
  constexpr double kMostDifferent = 1e-9;
  const std::vector<BytesPerSecond> full = progressive_filling(capacities, flows);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double wanted = in_bytes_per_second(full[i]);
    const double found = in_bytes_per_second(rates[i]);
    ORRERY_CHECK(std::abs(found - wanted) <= kMostDifferent * wanted,
                 "the local solve gives {} byte/s where the full one gives {}", found, wanted);
  }
}

}  // namespace orrery::fabric
