#include "calibrate/fit/folds.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/base/check.hpp"

namespace orrery::fit {

namespace {

std::string fold_of(const Observation& row, LeaveOut kind) {
  switch (kind) {
    case LeaveOut::model:
      return row.model;
    case LeaveOut::gpu:
      return row.gpu;
    case LeaveOut::source:
      return row.id.substr(0, row.id.find('-'));
    case LeaveOut::count:
      return fmt::format("{} GPUs", row.gpus);
    case LeaveOut::none:
      break;
  }
  return {};
}

}  // namespace

std::string_view to_string(LeaveOut kind) {
  switch (kind) {
    case LeaveOut::model:
      return "model";
    case LeaveOut::gpu:
      return "gpu";
    case LeaveOut::source:
      return "id-prefix";
    case LeaveOut::count:
      return "count";
    case LeaveOut::none:
      break;
  }
  return "none";
}

std::vector<Fold> make_folds(const Rows& rows, LeaveOut kind) {
  std::vector<Fold> folds;
  if (kind == LeaveOut::none) {
    return folds;
  }
  for (const Observation* row : rows) {
    const std::string name = fold_of(*row, kind);
    auto fold = std::find_if(
        folds.begin(), folds.end(), [&name](const Fold& known) { return known.name == name; });
    if (fold == folds.end()) {
      folds.push_back({.name = name, .train = {}, .test = {}});
      fold = folds.end() - 1;
    }
    fold->test.push_back(row);
  }
  for (Fold& fold : folds) {
    std::copy_if(
        rows.begin(), rows.end(), std::back_inserter(fold.train), [&](const Observation* row) {
          return fold_of(*row, kind) != fold.name;
        });
  }
  return folds;
}

hardware::SoftwareProfile with_values_of(const hardware::SoftwareProfile& start,
                                         const hardware::SoftwareProfile& centre,
                                         const std::vector<const FitKey*>& keys) {
  const Source source{SourceKind::assumed, "centre of the fit"};
  hardware::SoftwareProfile result = start;
  for (const FitKey* key : keys) {
    key->set(result, std::clamp(key->get(centre), key->lower, key->upper), source);
  }
  return result;
}

validate::Statistics statistics(const Rows& rows, const std::vector<double>& predicted) {
  ORRERY_CHECK(rows.size() == predicted.size(), "every row has a prediction");
  std::vector<validate::ValidationRow> scores;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    scores.push_back(scored(*rows[i], predicted[i]));
    if (!(predicted[i] > 0.0)) {
      scores.back().skipped = "refused by the simulator";
    }
  }
  std::vector<const validate::ValidationRow*> pointers;
  for (const validate::ValidationRow& row : scores) {
    pointers.push_back(&row);
  }
  return validate::statistics_of(pointers);
}

CrossValidation cross_validate(const Rows& rows,
                               const Rows& scored_only,
                               LeaveOut kind,
                               const hardware::SoftwareProfile& start,
                               const hardware::SoftwareProfile& centre,
                               const FitSettings& settings) {
  const hardware::SoftwareProfile unfitted = with_values_of(start, centre, settings.keys);
  CrossValidation result{.kind = kind, .folds = {}, .all = {}, .predicted = {}};
  result.predicted.resize(rows.size());
  FitSettings quick = settings;
  quick.axis_search = false;
  const auto left_out = [&scored_only](const Observation* row) {
    return std::find(scored_only.begin(), scored_only.end(), row) != scored_only.end();
  };
  for (Fold& fold : make_folds(rows, kind)) {
    std::erase_if(fold.train, left_out);
    hardware::SoftwareProfile profile = unfitted;
    if (!fold.train.empty()) {
      profile = fit_stack(fold.train, unfitted, unfitted, quick).profile;
    }
    const std::vector<double> predicted = predict(fold.test, profile, settings.threads);
    result.folds.push_back({fold.name, statistics(fold.test, predicted)});
    for (std::size_t i = 0; i < fold.test.size(); ++i) {
      const auto at = std::find(rows.begin(), rows.end(), fold.test[i]) - rows.begin();
      result.predicted[static_cast<std::size_t>(at)] = predicted[i];
    }
  }
  result.all = statistics(rows, result.predicted);
  return result;
}

}  // namespace orrery::fit
