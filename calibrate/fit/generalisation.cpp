#include "calibrate/fit/generalisation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "sim/answer/report/table.hpp"
#include "sim/base/check.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/quantile.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/validate/output/write_validation.hpp"

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
    auto fold = std::ranges::find(folds, name, &Fold::name);
    if (fold == folds.end()) {
      folds.push_back({.name = name, .train = {}, .test = {}});
      fold = folds.end() - 1;
    }
    fold->test.push_back(row);
  }
  for (Fold& fold : folds) {
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(fold.train),
                 [&](const Observation* row) { return fold_of(*row, kind) != fold.name; });
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

CrossValidation cross_validate(const Rows& rows, const Rows& scored_only, LeaveOut kind,
                               const hardware::SoftwareProfile& start,
                               const hardware::SoftwareProfile& centre,
                               const FitSettings& settings) {
  const hardware::SoftwareProfile unfitted = with_values_of(start, centre, settings.keys);
  CrossValidation result{.kind = kind, .folds = {}, .all = {}, .predicted = {}};
  result.predicted.resize(rows.size());
  FitSettings quick = settings;
  quick.axis_search = false;
  const auto left_out = [&scored_only](const Observation* row) {
    return std::ranges::find(scored_only, row) != scored_only.end();
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
      const auto at = std::ranges::find(rows, fold.test[i]) - rows.begin();
      result.predicted[static_cast<std::size_t>(at)] = predicted[i];
    }
  }
  result.all = statistics(rows, result.predicted);
  return result;
}

namespace {

using hardware::SoftwareProfile;

constexpr std::size_t kFewestRows = 5;

bool same_attention(const FitKey& key, const SoftwareProfile& a, const SoftwareProfile& b) {
  const bool of_attention = key.key == "attention_efficiency" || key.key == "score_passes" ||
                            key.key == "softmax_fallback_passes";
  return !of_attention || a.attention == b.attention;
}

// One profile with its rows and everything that is predicted for them, in the order of the rows.
struct ProfileRows {
  SoftwareProfile profile;
  Rows rows;
  Rows suspicious;
  LeaveOut model_fold = LeaveOut::model;
  std::vector<double> shipped = {};
  std::vector<double> refitted = {};
  std::vector<double> model_out = {};
  std::vector<double> gpu_out = {};
  std::vector<double> stack_out = {};
  std::vector<std::string> at_bounds = {};
};

std::vector<std::string> names_at_bounds(const StackFit& fit) {
  std::vector<std::string> names;
  for (const FittedCoefficient& coefficient : fit.coefficients) {
    if (coefficient.bound != Bound::none) {
      names.emplace_back(coefficient.key->key);
    }
  }
  return names;
}

void score_fits(ProfileRows& group, const SoftwareProfile& centre, const FitSettings& settings) {
  Rows used;
  std::copy_if(group.rows.begin(), group.rows.end(), std::back_inserter(used),
               [&group](const Observation* row) {
                 return std::ranges::find(group.suspicious, row) == group.suspicious.end();
               });
  const StackFit fit = fit_stack(used, group.profile, centre, settings);
  group.refitted = predict(group.rows, fit.profile, settings.threads);
  group.at_bounds = names_at_bounds(fit);
  if (make_folds(group.rows, LeaveOut::model).size() < 2) {
    group.model_fold = LeaveOut::count;
  }
  const auto left_out = [&](LeaveOut kind) {
    return cross_validate(group.rows, group.suspicious, kind, group.profile, centre, settings)
        .predicted;
  };
  group.model_out = left_out(group.model_fold);
  group.gpu_out = left_out(LeaveOut::gpu);
}

void score(ProfileRows& group, const std::vector<SoftwareProfile>& others,
           const FitSettings& common) {
  const SoftwareProfile centre = shared_defaults(group.profile, others);
  FitSettings settings = common;
  settings.keys = usable_keys(group.profile);
  group.shipped = predict(group.rows, group.profile, settings.threads);
  group.stack_out = predict(group.rows, centre, settings.threads);
  if (group.rows.size() >= kFewestRows) {
    score_fits(group, centre, settings);
  }
}

// Statistics of the rows that `chosen` accepts; nothing when there is no prediction.
template <typename Chosen>
std::optional<validate::Statistics> part(const Rows& rows, const std::vector<double>& predicted,
                                         Chosen chosen) {
  Rows kept;
  std::vector<double> values;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (chosen(*rows[i])) {
      kept.push_back(rows[i]);
      values.push_back(predicted[i]);
    }
  }
  return kept.empty() ? std::nullopt : std::optional(statistics(kept, values));
}

void add_stacks(const ProfileRows& group, Generalisation& result) {
  std::vector<std::string> stacks;
  std::vector<std::string> gpus;
  for (const Observation* row : group.rows) {
    if (!named(stacks, row->stack)) {
      stacks.push_back(row->stack);
    }
    if (!named(gpus, row->gpu)) {
      gpus.push_back(row->gpu);
    }
  }
  for (const std::string& stack : stacks) {
    const auto of_stack = [&stack](const Observation& row) { return row.stack == stack; };
    StackScore score{.stack = stack, .profile = group.profile.name};
    score.model_fold = group.model_fold;
    score.shipped = *part(group.rows, group.shipped, of_stack);
    score.refitted = part(group.rows, group.refitted, of_stack);
    score.model_out = part(group.rows, group.model_out, of_stack);
    if (gpus.size() > 1) {
      score.gpu_out = part(group.rows, group.gpu_out, of_stack);
    }
    score.stack_out = *part(group.rows, group.stack_out, of_stack);
    score.at_bounds = group.at_bounds;
    result.stacks.push_back(std::move(score));
  }
}

// A GPU's rows come from several profiles: each is predicted by the fit of its own.
void add_gpus(const std::vector<ProfileRows>& groups, Generalisation& result) {
  struct OfGpu {
    Rows rows;
    std::vector<double> predicted;
    std::vector<std::string> stacks;
  };

  std::map<std::string, OfGpu> gpus;
  for (const ProfileRows& group : groups) {
    for (std::size_t i = 0; i < group.gpu_out.size(); ++i) {
      OfGpu& gpu = gpus[group.rows[i]->gpu];
      gpu.rows.push_back(group.rows[i]);
      gpu.predicted.push_back(group.gpu_out[i]);
      if (!named(gpu.stacks, group.rows[i]->stack)) {
        gpu.stacks.push_back(group.rows[i]->stack);
      }
    }
  }
  for (const auto& [name, gpu] : gpus) {
    result.gpus.push_back({name, gpu.stacks, statistics(gpu.rows, gpu.predicted)});
  }
}

void add_rows(const ProfileRows& group, Generalisation& result) {
  const auto at = [](const std::vector<double>& values, std::size_t i) {
    return i < values.size() ? values[i] : 0.0;
  };
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    result.rows.push_back({group.rows[i], group.shipped[i], at(group.model_out, i),
                           at(group.gpu_out, i), group.stack_out[i]});
  }
}

// Releases of a stack that share their rates have one vote.
std::vector<SoftwareProfile> one_of_each_family(const std::vector<SoftwareProfile>& profiles) {
  const auto rates = [](const SoftwareProfile& profile) {
    return std::array{profile.gemm_efficiency.value(), profile.memory_efficiency.value(),
                      profile.attention_efficiency.value()};
  };
  std::vector<SoftwareProfile> families;
  for (const SoftwareProfile& profile : profiles) {
    if (std::ranges::none_of(families, [&](const SoftwareProfile& other) {
          return rates(other) == rates(profile);
        })) {
      families.push_back(profile);
    }
  }
  return families;
}

}  // namespace

SoftwareProfile shared_defaults(const SoftwareProfile& start,
                                const std::vector<SoftwareProfile>& others) {
  SoftwareProfile result = start;
  const std::vector<SoftwareProfile> families = one_of_each_family(others);
  for (const FitKey* key : usable_keys(start)) {
    std::vector<double> values;
    for (const SoftwareProfile& other : families) {
      const double value = key->get(other);
      const bool used = !key->neutral || value != *key->neutral;
      if (used && same_attention(*key, start, other)) {
        values.push_back(to_scale(*key, std::clamp(value, key->lower, key->upper)));
      }
    }
    const Source source{SourceKind::assumed, "median of the other stacks"};
    if (!values.empty()) {
      key->set(result, from_scale(*key, median_of(std::move(values))), source);
    } else if (key->neutral) {
      key->set(result, *key->neutral, source);
    }
  }
  return result;
}

std::vector<SoftwareProfile> profiles_of(const Observations& observations) {
  std::vector<SoftwareProfile> profiles;
  for (const Observation& row : observations.rows) {
    const bool known = std::ranges::any_of(
        profiles, [&row](const SoftwareProfile& p) { return p.name == row.software; });
    if (!known) {
      profiles.push_back(*row.run.software);
    }
  }
  return profiles;
}

Generalisation generalisation(const Observations& observations, const FitSettings& settings) {
  const std::vector<SoftwareProfile> profiles = profiles_of(observations);
  std::vector<ProfileRows> groups;
  for (const SoftwareProfile& profile : profiles) {
    ProfileRows group{.profile = profile, .rows = {}, .suspicious = {}};
    for (const Observation& row : observations.rows) {
      if (row.software == profile.name) {
        group.rows.push_back(&row);
      }
    }
    std::copy_if(group.rows.begin(), group.rows.end(), std::back_inserter(group.suspicious),
                 [](const Observation* row) { return !row->suspicious.empty(); });
    std::vector<SoftwareProfile> others = profiles;
    std::erase_if(others, [&profile](const SoftwareProfile& p) { return p.name == profile.name; });
    score(group, others, settings);
    groups.push_back(std::move(group));
  }
  Generalisation result;
  for (const ProfileRows& group : groups) {
    add_stacks(group, result);
    add_rows(group, result);
  }
  add_gpus(groups, result);
  return result;
}

namespace {

using validate::Statistics;

std::string cell(const std::optional<Statistics>& score) {
  return score ? percent_cell(score->mape) : "-";
}

// Mean over the stacks that have the score: every stack weighs the same.
class Mean {
 public:
  void add(const std::optional<Statistics>& score) {
    sum_ += score ? score->mape : 0.0;
    count_ += score ? 1.0 : 0.0;
  }

  [[nodiscard]] std::string text() const {
    return count_ > 0.0 ? fmt::format("**{}**", percent_cell(sum_ / count_)) : "-";
  }

 private:
  double sum_ = 0.0;
  double count_ = 0.0;
};

// A stack with several profiles has a line for each: the profile tells them apart.
const std::string& line_name(const Generalisation& result, const StackScore& stack) {
  const auto lines = std::ranges::count(result.stacks, stack.stack, &StackScore::stack);
  return lines > 1 ? stack.profile : stack.stack;
}

std::string stack_table(const Generalisation& result) {
  report::Table table = report::table_of({"stack", "n", "shipped", "refitted", "model out", "p90",
                                          "bias", "GPU out", "stack out", "at a bound"});
  Mean shipped;
  Mean refitted;
  Mean model_out;
  Mean gpu_out;
  Mean stack_out;
  for (const StackScore& stack : result.stacks) {
    shipped.add(stack.shipped);
    refitted.add(stack.refitted);
    model_out.add(stack.model_out);
    gpu_out.add(stack.gpu_out);
    stack_out.add(stack.stack_out);
    const bool counts = stack.model_out && stack.model_fold == LeaveOut::count;
    table.add(line_name(result, stack), stack.shipped.n, cell(stack.shipped), cell(stack.refitted),
              cell(stack.model_out) + (counts ? " (GPU counts)" : ""),
              stack.model_out ? percent_cell(stack.model_out->p90) : "-",
              stack.model_out ? signed_percent_cell(stack.model_out->bias) : "-",
              cell(stack.gpu_out), cell(stack.stack_out),
              fmt::format("{}", fmt::join(stack.at_bounds, ", ")));
  }
  return to_markdown(table) +
         fmt::format("| **mean over stacks** | | {} | {} | {} | | | {} | {} | |\n", shipped.text(),
                     refitted.text(), model_out.text(), gpu_out.text(), stack_out.text());
}

std::string gpu_table(const Generalisation& result) {
  report::Table table =
      report::table_of({"GPU never fitted", "n", "MAPE", "p90", "bias", "stacks"});
  for (const GpuScore& gpu : result.gpus) {
    table.add(gpu.gpu, gpu.gpu_out.n, percent_cell(gpu.gpu_out.mape), percent_cell(gpu.gpu_out.p90),
              signed_percent_cell(gpu.gpu_out.bias),
              fmt::format("{}", fmt::join(gpu.stacks, ", ")));
  }
  return to_markdown(table);
}

Json score_json(const std::optional<Statistics>& score) {
  return score ? json_of(*score) : Json(nullptr);
}

Json stack_json(const StackScore& stack) {
  return {{"stack", stack.stack},
          {"profile", stack.profile},
          {"model_fold", to_string(stack.model_fold)},
          {"shipped", score_json(stack.shipped)},
          {"refitted", score_json(stack.refitted)},
          {"model_out", score_json(stack.model_out)},
          {"gpu_out", score_json(stack.gpu_out)},
          {"stack_out", score_json(stack.stack_out)},
          {"at_bounds", stack.at_bounds}};
}

Json gpu_json(const GpuScore& gpu) {
  return {{"gpu", gpu.gpu}, {"stacks", gpu.stacks}, {"gpu_out", score_json(gpu.gpu_out)}};
}

Json row_json(const RowScore& score) {
  const Observation& row = *score.row;
  const auto predicted = [](double time) {
    return time > 0.0 ? std::optional(time) : std::nullopt;
  };
  return {{"id", row.id},
          {"stack", row.stack},
          {"profile", row.software},
          {"gpu", row.gpu},
          {"model", row.model},
          {"gpus", row.gpus},
          {"measured", row.measured},
          {"shipped", predicted(score.shipped)},
          {"model_out", predicted(score.model_out)},
          {"gpu_out", predicted(score.gpu_out)},
          {"stack_out", predicted(score.stack_out)}};
}

}  // namespace

std::string to_markdown(const Generalisation& result) {
  return stack_table(result) + "\n" + gpu_table(result);
}

std::string to_json(const Generalisation& result) {
  return json_text({{"schema", "orrery-generalisation/1"},
                    {"stacks", json_list(result.stacks, stack_json)},
                    {"gpus", json_list(result.gpus, gpu_json)},
                    {"rows", json_list(result.rows, row_json)}});
}

}  // namespace orrery::fit
