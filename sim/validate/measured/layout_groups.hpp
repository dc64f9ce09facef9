#pragma once

// Would predictions have chosen the layout that was measured to be the fastest? Groups of measured
// layouts of one question (`side_by_side`): same stack, model, cluster, batch, precision, software.
//
//   regret      = measured(chosen) / measured(fastest) - 1; chosen: least predicted time of those
//                 whose predicted peak leaves what the plan leaves free (workbench.hpp), of all
//                 where none does
//   correlation = Spearman's of predicted and measured times, ties at their mean rank
//   by rule     = the regret of least split, then least recomputed, then the largest micro-batch
//
// symbol      | meaning                                                     | unit | origin
// ------------|-------------------------------------------------------------|------|---------
// measured    | mean of the readings of one layout                          | s    | data set
// predicted   | step time of the row as a scenario                          | s    | step/
// split       | GPUs of a replica, ranks that share experts, sharding       | -    | data set
//
// Layouts are told apart by plan::differences. A group has two layouts at least. Rows that
// row_remarks.yaml calls suspicious are left out: what they say of a layout is doubtful.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/plan/layout_errors.hpp"
#include "sim/answer/plan/space/layout_features.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/validate/validation.hpp"

namespace orrery::validate {

struct MeasuredLayout {
  std::string id;  // of its first row
  scenario::Scenario scenario;
  double predicted = 0.0;
  std::vector<double> readings;
  bool roomy = true;  // the peak may be above its prediction by the stack's error and fits

  [[nodiscard]] double measured() const;
};

struct LayoutGroup {
  std::string stack;
  std::vector<MeasuredLayout> layouts;
};

struct GroupVerdict {
  std::size_t chosen = 0;
  std::size_t fastest = 0;
  std::size_t by_rule = 0;
  double regret = 0.0;
  double rule_regret = 0.0;
  std::optional<double> correlation = {};  // of three layouts and more
};

// Of the measured-runs data sets among the files, in order. Nothing after an error; rows without a
// prediction are left out.
[[nodiscard]] std::optional<std::vector<LayoutGroup>> layout_groups(
    const std::vector<std::filesystem::path>& files, const ValidateOptions& options,
    Diagnostics& diagnostics);

[[nodiscard]] GroupVerdict judge(const LayoutGroup& group);

// Spearman's, of as many values each; at least two that differ.
[[nodiscard]] double rank_correlation(const std::vector<double>& one,
                                      const std::vector<double>& other);

// layout_errors.hpp has the formula.
[[nodiscard]] plan::LayoutErrors layout_errors(const std::vector<LayoutGroup>& groups,
                                               const std::vector<std::filesystem::path>& files);

// A table by stack, and every group whose choice was not the fastest.
[[nodiscard]] std::string to_markdown(const std::vector<LayoutGroup>& groups,
                                      const plan::LayoutErrors& errors);

// The plan beside layouts that a team tuned and published. Each is searched as its own scenario,
// with what its stack offers.
//
//   gap = predicted(published) / predicted(plan's best) - 1, 0 or less: the plan found none faster
//
// symbol    | meaning                                                     | unit | origin
// ----------|-------------------------------------------------------------|------|---------------
// published | the layout of the row                                       | s    | data set, step/
// best      | the fastest of the space that leaves the plan's headroom    | s    | plan/search.hpp
//
// Tuned rows are named in row_remarks.yaml beside the data set, `tuned: [ids]`.

struct TunedLayout {
  std::string id;
  double measured = 0.0;   // s
  double published = 0.0;  // predicted
  double best = 0.0;
  bool roomy = true;              // the published layout leaves the plan's headroom
  plan::FeatureSet differs = {};  // best against published
  std::string words;              // of the best

  [[nodiscard]] double gap() const { return published / best - 1.0; }
};

// In the order of the files. Nothing after an error; rows whose layout no candidate says are left
// out.
[[nodiscard]] std::optional<std::vector<TunedLayout>> tuned_layouts(
    const std::vector<std::filesystem::path>& files, const ValidateOptions& options,
    Diagnostics& diagnostics);

[[nodiscard]] std::string to_markdown(const std::vector<TunedLayout>& layouts);

}  // namespace orrery::validate
