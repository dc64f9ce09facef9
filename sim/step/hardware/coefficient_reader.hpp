#pragma once

// One coefficient of a profile: a mapping that cannot leave out its source.
//
//   hbm_bandwidth: {value: 3.35TB/s, source: datasheet, citation: "NVIDIA H100 datasheet"}
//
// key      | meaning                                                    | needed
// ---------|------------------------------------------------------------|--------
// value    | the quantity, with its unit                                | always
// source   | measured, published, datasheet or assumed                  | always
// citation | profile id, paper, vendor page; the reason when assumed    | always
// residual | relative error of the fit that gave the value              | fits
// range    | [lo, hi] of the fit's input, in the input's unit           | fits
//
// `given` is not allowed here: only a scenario gives values. Internal to hardware/.

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include "sim/base/provenance.hpp"
#include "sim/base/yaml/reader.hpp"

namespace orrery::hardware {

inline constexpr yaml::Range<double> kShare = {0.0, 1.0, true};  // above 0, at most 1

// What stands beside the value of a coefficient.
struct CoefficientOrigin {
  Source source;
  double residual = 0.0;
  std::optional<ValidRange> range;
};

// The mapping under `key`, or nothing after a diagnostic (missing, or a bare value).
[[nodiscard]] std::optional<yaml::MappingReader> coefficient_mapping(yaml::MappingReader& parent,
                                                                     std::string_view key);

// Source, citation, residual and range; reports unknown keys.
[[nodiscard]] std::optional<CoefficientOrigin> read_origin(yaml::MappingReader& coefficient);

template <typename K>
[[nodiscard]] std::optional<Coefficient<typename K::Type>> read_coefficient(
    yaml::MappingReader& parent, std::string_view key,
    const yaml::Range<typename K::Type>& range = {}) {
  std::optional<yaml::MappingReader> mapping = coefficient_mapping(parent, key);
  if (!mapping) {
    return std::nullopt;
  }
  const std::optional<typename K::Type> value = mapping->require<K>("value", range);
  std::optional<CoefficientOrigin> origin = read_origin(*mapping);
  if (!value || !origin) {
    return std::nullopt;
  }
  return Coefficient<typename K::Type>(*value, std::move(origin->source), origin->residual,
                                       origin->range);
}

// A coefficient of a table, whose range is that of a plain number.
template <typename Q>
[[nodiscard]] std::optional<Coefficient<Q>> read_row(yaml::MappingReader& parent,
                                                     std::string_view key,
                                                     const yaml::Range<double>& range) {
  if constexpr (std::is_same_v<Q, Seconds>) {
    return read_coefficient<yaml::kind::Time>(parent, key);
  } else if constexpr (std::is_same_v<Q, Bytes>) {
    return read_coefficient<yaml::kind::Size>(parent, key);
  } else {
    return read_coefficient<yaml::kind::Number>(parent, key, range);
  }
}

// A coefficient that may be left out.
template <typename K>
[[nodiscard]] std::optional<Coefficient<typename K::Type>> read_optional(
    yaml::MappingReader& parent, std::string_view key,
    const yaml::Range<typename K::Type>& range = {}) {
  return parent.has(key) ? read_coefficient<K>(parent, key, range) : std::nullopt;
}

}  // namespace orrery::hardware
