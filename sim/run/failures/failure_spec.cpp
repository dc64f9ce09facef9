#include "sim/run/failures/failure_spec.hpp"

#include <array>

namespace orrery::run {

std::string_view to_string(FailureCategory category) {
  constexpr std::array<std::string_view, kFailureCategoryCount> kNames = {
      "gpu", "network", "host", "maintenance", "software", "dependency", "unknown"};
  return kNames[static_cast<std::size_t>(category)];
}

std::string_view to_string(FailureScope scope) {
  constexpr std::array<std::string_view, kFailureScopeCount> kNames = {
      "gpu", "node", "rack", "switch", "power_domain", "storage", "job"};
  return kNames[static_cast<std::size_t>(scope)];
}

bool takes_node_by_default(FailureCategory category) {
  using enum FailureCategory;
  return category == gpu || category == network || category == host || category == maintenance;
}

FailureCause failure_cause(std::string_view name, FailureCategory category, double weight) {
  FailureCause cause;
  cause.name = name;
  cause.category = category;
  cause.weight = weight;
  return cause;
}

// A reset or reboot and its tests: 5 to 30 min (assumed; Delta, arXiv 2503.11901, reckons with 5
// min for a fast recovery). Unicron (arXiv 2401.00134) counts 73 % of errors as transient, cured by
// a restart. Hands: lognormal, as Schroeder and Gibson (DSN 2006) find repairs, with a median of 8
// h and a mean of 25 h: one in fourteen takes more than three days, the wait for a part. A
// technician swaps a part in hours, and an exchange takes 3 to 14 working days by a vendor's note:
// the two moments are assumed from that.
RepairLaw field_repair() {
  constexpr double kTransient = 0.73;
  return {.first = UniformDuration{minutes(5.0), minutes(30.0)},
          .by_hand = 1.0 - kTransient,
          .manual = lognormal_with_mean(hours(8.0), hours(25.0))};
}

}  // namespace orrery::run
