#pragma once

// The baseline of a scenario: its answer when last accepted, and whether that has moved since.
//
//   exact metric        moved when |after - before| > allowed
//   metric over trials  moved when |after - before| > allowed + noise; from allowed to
//                       allowed + noise undecided; decide: point leaves the noise out
//   allowed = max(absolute, relative * |before|, 1e-9)
//   noise   = sqrt(half_before^2 + half_after^2)
//
// symbol       | meaning                                              | unit       | origin
// -------------|------------------------------------------------------|------------|-----------
// before,after | values of the registry; the mean where it varies     | base units | both
// relative     | 0.1 % for exact metrics, 0.5 % for those over trials | 1          | baseline
// absolute     | 0, for a date 1 h                                    | base units | baseline
// half         | half of the 95 % confidence interval of the mean     | base units | trials
// relative and absolute are these unless the baseline states others.
//
// The baseline is a file of the user (`orrery-baseline/1`, evaluate/baseline_file.hpp). What it
// holds must be there again: a metric or a scenario that is gone counts as moved, one that is new
// does not. Assumption of the noise: independent trials. The same seed draws the same numbers, so
// that two answers differ by less than that; more trials narrow it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

inline constexpr double kExactTolerance = 0.001;
inline constexpr double kStatisticalTolerance = 0.005;

struct Tolerance {
  double relative = 0.0;
  double absolute = 0.0;  // base units
  bool any = false;       // the metric may be anything

  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

using Tolerances = std::map<std::string, Tolerance, std::less<>>;  // by JSON key

struct BaselineMetric {
  std::string key = {};  // JSON key: unit in the name
  double value = 0.0;
  std::optional<run::Interval> ci95 = {};  // of the mean, where the metric varies
};

struct BaselineScenario {
  std::string file = {};  // from the folder of the baseline
  std::string sha256 = {};
  std::int64_t trials = 0;  // 0: no run
  bool fits = true;
  Tolerances tolerances = {};  // before those of the baseline
  std::vector<BaselineMetric> metrics = {};
};

struct Baseline {
  double exact = kExactTolerance;
  double statistical = kStatisticalTolerance;
  bool decide_point = false;
  Tolerances tolerances = {};
  std::vector<BaselineScenario> scenarios = {};

  [[nodiscard]] const BaselineScenario* find(std::string_view file) const;
};

// The answer as a baseline holds it, without tolerances. Metrics that are no finite number are left
// out.
[[nodiscard]] BaselineScenario baseline_of(const Evaluation& evaluation, std::string file);

enum class ChangeKind { same, chance, moved, gone, added };

struct MetricChange {
  std::string key = {};
  ChangeKind kind = ChangeKind::same;
  std::optional<double> before = {};
  std::optional<double> after = {};
  double allowed = 0.0;  // base units
  double noise = 0.0;    // base units; 0 where nothing varies
  Tolerance tolerance = {};

  [[nodiscard]] bool failed() const {
    return kind == ChangeKind::moved || kind == ChangeKind::gone;
  }
};

struct ScenarioChange {
  bool is_new = false;  // the baseline does not hold it
  bool edited = false;  // the file is not the one that was accepted
  bool fits_changed = false;
  bool fits = true;
  std::vector<MetricChange> metrics = {};

  [[nodiscard]] bool failed() const;
  [[nodiscard]] std::size_t count(ChangeKind kind) const;
};

[[nodiscard]] ScenarioChange compare_with(const Baseline& baseline, const BaselineScenario& now);

// "step_time_s moved from 6.2134 to 6.5021 (+4.65 %), tolerance 0.1 %"
[[nodiscard]] std::string change_text(const MetricChange& change);

// "0.1 %", "0.5 % or 3600", "any"
[[nodiscard]] std::string tolerance_text(const Tolerance& tolerance);

}  // namespace orrery::report
