#pragma once

// Fits the coefficients of one software profile to the measured steps of all its stacks.
//
//   residual of a row = log(predicted / measured); every stack weighs the same
//
// symbol    | meaning                                                            | unit | origin
// ----------|--------------------------------------------------------------------|------|--------
// start     | coefficients before the fit, and those that are not free           | -    | profile
// centre    | where the prior pulls: the start, or the shared defaults           | -    | caller
// error     | one standard deviation of a fitted coefficient, relative on a      | 1    | rows
//           | logarithmic scale, else absolute                                   |      |
// effect    | root mean square change of log(predicted) for one prior deviation  | 1    | rows
//
// A coefficient that the rows cannot identify (deviation above kUnidentified of the prior's) or
// that ends on a bound is reported as such: it is an assumption, not a finding. Nothing is per row.

#include <string>
#include <vector>

#include "calibrate/fit/fit_key.hpp"
#include "calibrate/fit/observations.hpp"

namespace orrery::fit {

inline constexpr double kUnidentified = 0.7;

struct FitSettings {
  std::vector<const FitKey*> keys;
  double prior = 1.0;
  double softness = 0.05;
  int threads = 0;
  bool axis_search = true;
};

enum class Bound { none, lower, upper };

struct FittedCoefficient {
  const FitKey* key;
  double start;
  double fitted;
  double error = 0.0;
  double effect = 0.0;
  Bound bound = Bound::none;
  bool identified = true;
};

struct StackFit {
  hardware::SoftwareProfile profile;
  std::vector<FittedCoefficient> coefficients = {};
  std::vector<double> predicted_before = {};  // s, in the order of the rows
  std::vector<double> predicted = {};
  double objective_before = 0.0;
  double objective = 0.0;
  int points = 0;
};

using Rows = std::vector<const Observation*>;

// Seconds of each row with this profile; 0 where the simulator refuses the row.
[[nodiscard]] std::vector<double> predict(const Rows& rows,
                                          const hardware::SoftwareProfile& profile,
                                          int threads);

// The keys of the table that the profile uses: unfused attention has score passes, fused none, and
// optional coefficients that it leaves out are not touched.
[[nodiscard]] std::vector<const FitKey*> usable_keys(const hardware::SoftwareProfile& profile);

// `rows` is not empty. Fitted values have the source `measured` by "fit".
[[nodiscard]] StackFit fit_stack(const Rows& rows,
                                 const hardware::SoftwareProfile& start,
                                 const hardware::SoftwareProfile& centre,
                                 const FitSettings& settings);

}  // namespace orrery::fit
