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

#include <optional>
#include <string>
#include <vector>

#include "calibrate/fit/folds.hpp"

namespace orrery::fit {

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
