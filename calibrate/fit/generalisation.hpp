#pragma once

// Tests how coefficients generalise to runs that no fit has seen, in one table over all stacks.
//
// column        | the rows are predicted with
// --------------|---------------------------------------------------------------------------------
// shipped       | the profile as it is
// refitted      | a fit to all rows of the profile's stacks
// model out     | fits that have not seen the row's model (stacks with one model: its GPU count)
// GPU out       | fits that have not seen the row's kind of GPU
// stack out     | no fit: the switches of the stack, every coefficient the shared default
//
// shared default = median over the OTHER profiles of the data, on the scale of the coefficient; of
// attention's, over those with the same implementation of attention; of an optional one, over those
// that use it. All fits behind the last three columns start from the shared defaults and are pulled
// there, so nothing of what is left out reaches them. Suspicious rows are scored but in no fit.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/fit/stack_fit.hpp"

namespace orrery::fit {

// Cross-validation of a fit: rows are left out together, fitted without, and predicted.
//
// A fold is one model (a model with fewer layers is the same model), one kind of GPU, one source
// (the id up to its first hyphen) or one number of GPUs. Rows of a fold take no part in its fit,
// and neither does a start that they have shaped: the fit starts from `centre` and is pulled there.

[[nodiscard]] inline bool named(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
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
[[nodiscard]] CrossValidation cross_validate(const Rows& rows, const Rows& scored_only,
                                             LeaveOut kind, const hardware::SoftwareProfile& start,
                                             const hardware::SoftwareProfile& centre,
                                             const FitSettings& settings);

// `start` with the values that `centre` has for the keys.
[[nodiscard]] hardware::SoftwareProfile with_values_of(const hardware::SoftwareProfile& start,
                                                       const hardware::SoftwareProfile& centre,
                                                       const std::vector<const FitKey*>& keys);

[[nodiscard]] validate::Statistics statistics(const Rows& rows,
                                              const std::vector<double>& predicted);

struct StackScore {
  std::string stack;
  std::string profile;
  LeaveOut model_fold = LeaveOut::model;
  validate::Statistics shipped = {};
  std::optional<validate::Statistics> refitted = {};  // absent: too few rows to fit
  std::optional<validate::Statistics> model_out = {};
  std::optional<validate::Statistics> gpu_out = {};  // absent: one kind of GPU
  validate::Statistics stack_out = {};
  std::vector<std::string> at_bounds = {};
};

struct GpuScore {
  std::string gpu;
  std::vector<std::string> stacks;
  validate::Statistics gpu_out = {};
};

// One row under every column; 0 where there is no such fit.
struct RowScore {
  const Observation* row = nullptr;
  double shipped = 0.0;  // s
  double model_out = 0.0;
  double gpu_out = 0.0;
  double stack_out = 0.0;
};

struct Generalisation {
  std::vector<StackScore> stacks;
  std::vector<GpuScore> gpus;
  std::vector<RowScore> rows;
};

// `start` with the medians of `others` for the keys that it uses.
[[nodiscard]] hardware::SoftwareProfile shared_defaults(
    const hardware::SoftwareProfile& start, const std::vector<hardware::SoftwareProfile>& others);

// The profiles of the rows, in the order of their first appearance.
[[nodiscard]] std::vector<hardware::SoftwareProfile> profiles_of(const Observations& observations);

[[nodiscard]] Generalisation generalisation(const Observations& observations,
                                            const FitSettings& settings);

[[nodiscard]] std::string to_markdown(const Generalisation& result);
[[nodiscard]] std::string to_json(const Generalisation& result);

}  // namespace orrery::fit
