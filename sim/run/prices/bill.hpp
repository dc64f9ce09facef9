#pragma once

// The bill of a run: dollars by category of cost, and energy and carbon.
//
// category    | dollars for
// ------------|----------------------------------------------------------------------------
// nodes       | nodes of the job: rented, reserved and used, spot, or written off when owned
// spares      | spares that stood ready
// repair      | nodes out for repair
// reservation | reserved nodes that were not held, and the rest of a commitment after the end
// energy      | energy, where it has a price of its own
// storage     | data set and checkpoints
// egress      | data that left the provider
// operators   | people who dealt with failures

#include <array>
#include <cstddef>
#include <string_view>

#include "sim/base/units.hpp"

namespace orrery::run {

enum class CostCategory {
  nodes,
  spares,
  repair,
  reservation,
  energy,
  storage,
  egress,
  operators,
  count_
};

inline constexpr std::size_t kCostCategoryCount = static_cast<std::size_t>(CostCategory::count_);

inline constexpr std::array<std::string_view, kCostCategoryCount> kCostCategoryNames = {
    "nodes", "spares", "repair", "reservation", "energy", "storage", "egress", "operators"};

struct Bill {
  std::array<Dollars, kCostCategoryCount> dollars{};
  double busy_kilowatt_hours = 0.0;  // of the site
  double idle_kilowatt_hours = 0.0;
  double carbon_kilograms = 0.0;

  [[nodiscard]] Dollars& of(CostCategory category) {
    return dollars[static_cast<std::size_t>(category)];
  }

  [[nodiscard]] Dollars of(CostCategory category) const {
    return dollars[static_cast<std::size_t>(category)];
  }

  [[nodiscard]] Dollars total() const {
    Dollars sum;
    for (const Dollars part : dollars) {
      sum += part;
    }
    return sum;
  }

  Bill& operator+=(const Bill& other) {
    for (std::size_t i = 0; i < kCostCategoryCount; ++i) {
      dollars[i] += other.dollars[i];
    }
    busy_kilowatt_hours += other.busy_kilowatt_hours;
    idle_kilowatt_hours += other.idle_kilowatt_hours;
    carbon_kilograms += other.carbon_kilograms;
    return *this;
  }

  friend bool operator==(const Bill&, const Bill&) = default;
};

}  // namespace orrery::run
