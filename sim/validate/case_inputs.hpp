#pragma once

// What does a case of reliability-cases/1 or whole-runs/1 state? Numbers by stem, with the unit
// that the name of the key carries.
//
//   delta_min: 5, delta_s: 300 and delta: 5min are the same time under the stem `delta`
//
// name ends in                                 | read as
// ---------------------------------------------|------------------------------------------------
// _ns _us _ms _s _min _h _d (also spelled out) | a time
// bytes, _B _kB _MB _GB _TB _PB _MiB _GiB _TiB | a size; with `ps` or `_per_s` behind it a
// bandwidth per_1000_node_days, per_1000_servers_day ... | failures of one node per time
// per_node_day, per_server_day                 | the same
//
// Stems are compared without regard to case. A stem that a rule needs and the case lacks is
// remembered (`missing`), so that the row can say what it would need; the rule then gives up.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/validate/data_row.hpp"

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
  [[nodiscard]] std::optional<Bytes> size(Stems stems) const;
  [[nodiscard]] std::optional<BytesPerSecond> bandwidth(Stems stems) const;
  [[nodiscard]] std::optional<PerSecond> node_rate() const;
  [[nodiscard]] std::optional<double> nodes() const;  // stated, or GPUs / GPUs per node
  [[nodiscard]] std::optional<double> gpus() const;   // stated, or nodes * GPUs per node

  // Numbers of the list under a key whose name contains one of the stems.
  [[nodiscard]] std::vector<double> list(Stems stems) const;
  [[nodiscard]] bool has_list(Stems stems) const;

  // Every number of the case, of lists too.
  [[nodiscard]] std::vector<double> all_numbers() const;

  [[nodiscard]] std::string text(Stems stems) const;

  // As above, but the case needs it: positive, or 0 and `missing` remembers the first stem.
  double need(Stems stems);
  Seconds need_time(Stems stems);
  Seconds need_time_or_zero(Stems stems);  // 0 is a value too
  Bytes need_size(Stems stems);
  PerSecond need_node_rate();
  double need_nodes();
  double need_gpus();

  [[nodiscard]] bool complete() const {
    return missing_.empty();
  }

  [[nodiscard]] const std::vector<std::string>& missing() const {
    return missing_;
  }

  [[nodiscard]] const DataRow& row() const {
    return row_;
  }

 private:
  template <typename T>
  T required(const std::optional<T>& value, bool zero_allowed, std::string_view name);

  DataRow row_;
  std::vector<std::string> missing_;
};

}  // namespace orrery::validate
