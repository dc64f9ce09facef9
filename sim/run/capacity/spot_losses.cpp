#include "sim/run/capacity/spot_losses.hpp"

#include <algorithm>
#include <optional>

#include "sim/run/capacity/spot_supply.hpp"

namespace orrery::run {

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
