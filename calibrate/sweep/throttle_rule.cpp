#include "calibrate/sweep/throttle_rule.hpp"

#include "kernels/nvml/nvml.hpp"

namespace orrery::calibrate {

bool is_held_back(std::optional<std::uint64_t> reasons,
                  std::optional<double> clock,
                  std::optional<double> most_clock,
                  Regime regime,
                  const ThrottleRule& rule) {
  if (reasons && kernels::is_braked(*reasons)) {
    return true;
  }
  const double share = regime == Regime::burst ? rule.burst_share : rule.sustained_share;
  return clock && most_clock && *clock < share * *most_clock;
}

}  // namespace orrery::calibrate
