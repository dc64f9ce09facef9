#pragma once

// Cross-validation of a fit: rows are left out together, fitted without, and predicted.
//
// A fold is one model (a model with fewer layers is the same model), one kind of GPU, one source
// (the id up to its first hyphen) or one number of GPUs. Rows of a fold take no part in its fit,
// and neither does a start that they have shaped: the fit starts from `centre` and is pulled there.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/fit/stack_fit.hpp"

namespace orrery::fit {

[[nodiscard]] inline bool named(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

enum class LeaveOut { none, model, gpu, source, count };

struct Fold {
  std::string name;
  Rows train;
  Rows test;
};

struct FoldScore {
  std::string name;
  validate::Statistics score;
};

struct CrossValidation {
  LeaveOut kind = LeaveOut::none;
  std::vector<FoldScore> folds;
  validate::Statistics all;
  std::vector<double> predicted;  // in the order of the rows, each from the fit without it
};

// "model", "gpu", "id-prefix", "count", "none"
[[nodiscard]] std::string_view to_string(LeaveOut kind);

// In the order of the rows' first appearance; every row is in exactly one test.
[[nodiscard]] std::vector<Fold> make_folds(const Rows& rows, LeaveOut kind);

// `start` holds the switches of the stack, `centre` the coefficients that the fits start from.
// Rows in `scored_only` (suspicious ones, say) are scored but in no fit.
[[nodiscard]] CrossValidation cross_validate(const Rows& rows,
                                             const Rows& scored_only,
                                             LeaveOut kind,
                                             const hardware::SoftwareProfile& start,
                                             const hardware::SoftwareProfile& centre,
                                             const FitSettings& settings);

// `start` with the values that `centre` has for the keys.
[[nodiscard]] hardware::SoftwareProfile with_values_of(const hardware::SoftwareProfile& start,
                                                       const hardware::SoftwareProfile& centre,
                                                       const std::vector<const FitKey*>& keys);

[[nodiscard]] validate::Statistics statistics(const Rows& rows,
                                              const std::vector<double>& predicted);

}  // namespace orrery::fit
