#include "sim/step/fabric/progressive_filling.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.hpp"

namespace orrery::fabric {

namespace {

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
    return std::any_of(flows_[flow].hops.begin(), flows_[flow].hops.end(),
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

}  // namespace

std::vector<BytesPerSecond> progressive_filling(std::span<const BytesPerSecond> capacities,
                                                std::span<const FlowPath> flows) {
  for (const FlowPath& flow : flows) {
    for (const Hop& hop : flow.hops) {
      ORRERY_CHECK(hop.link.index() < capacities.size() && hop.weight > 0.0,
                   "link {} of {} with weight {}", hop.link.value, capacities.size(), hop.weight);
    }
  }
  return Filling(capacities, flows).run();
}

}  // namespace orrery::fabric
