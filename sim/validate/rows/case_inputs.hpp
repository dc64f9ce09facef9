#pragma once

// What does a check of whole-runs/1 state? Numbers by stem, with the unit
// that the name of the key carries.
//
//   delta_min: 5, delta_s: 300 and delta: 5min are the same time under the stem `delta`
//
// name ends in                                 | read as
// ---------------------------------------------|------------------------------------------------
// _ns _us _ms _s _min _h _d (also spelled out) | a time
// per_1000_node_days, per_1000_servers_day ...  | failures of one node per time
// per_node_day, per_server_day                 | the same
//
// Stems are compared without regard to case.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

// Names under which cases state the same thing, as an argument only: it views what it is made from.
class Stems {
 public:
  Stems(std::initializer_list<std::string_view> names) : names_(names.begin(), names.size()) {}

  template <std::size_t N>
  Stems(const std::array<std::string_view, N>& names) : names_(names) {}

  [[nodiscard]] auto begin() const {
    return names_.begin();
  }

  [[nodiscard]] auto end() const {
    return names_.end();
  }

 private:
  std::span<const std::string_view> names_;
};

class CaseInputs {
 public:
  explicit CaseInputs(const DataRow& row) : row_(row) {}

  // Bare numbers; the first stem that the case has.
  [[nodiscard]] std::optional<double> number(Stems stems) const;
  [[nodiscard]] std::optional<Seconds> time(Stems stems) const;
  [[nodiscard]] std::optional<PerSecond> node_rate() const;
  [[nodiscard]] std::optional<double> nodes() const;  // stated, or GPUs / GPUs per node

  [[nodiscard]] const DataRow& row() const {
    return row_;
  }

 private:
  DataRow row_;
};

}  // namespace orrery::validate
