#pragma once

// The error of predicted differences between two layouts, from measured pairs.
//
//   d(i, j)  = | ln(predicted i / measured i) - ln(predicted j / measured j) |
//   error(f) = the value below which kErrorShare of d(i, j) lie, over the pairs of one group of
//              measured layouts (same model, cluster, batch, precision, software) that differ in f,
//              whatever else differs
//   error of two plans = the largest error(f) of the features in which they differ; of a feature in
//              which fewer than kFewestPairs measured pairs differ, the largest of all
//
// A group of n layouts has n (n - 1) / 2 pairs that share n errors: each pair weighs 2 / n, a group
// n - 1. The table is a file `plan/layout_errors.yaml` of the profiles, made by
// `orrery validate --layouts --yaml` (docs/plan.md).

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "sim/answer/plan/space/layout_features.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::plan {

inline constexpr double kErrorShare = 0.8;
inline constexpr std::int64_t kFewestPairs = 10;
inline constexpr std::string_view kLayoutErrorsFormat = "orrery-layout-errors/1";

struct FeatureError {
  std::int64_t pairs = 0;
  std::int64_t groups = 0;
  double error = 0.0;  // relative; of no pairs 0
};

struct LayoutErrors {
  std::string source;  // the files of measured layouts
  std::int64_t groups = 0;
  std::int64_t layouts = 0;
  std::array<FeatureError, kFeatures> of{};  // by Feature

  [[nodiscard]] double largest() const;

  // Of two plans that differ in these; 0 where they do not differ.
  [[nodiscard]] double between(const FeatureSet& features) const;
};

// The table of the first profile directory that has one; nothing without one or after an error.
[[nodiscard]] std::optional<LayoutErrors> load_layout_errors(const hardware::ProfileSearch& search,
                                                             Diagnostics& diagnostics);

[[nodiscard]] std::string to_yaml(const LayoutErrors& errors);

}  // namespace orrery::plan
