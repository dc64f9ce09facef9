#include "sim/validate/measured/layout_groups.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/plan/pool.hpp"
#include "sim/answer/plan/search/search.hpp"
#include "sim/answer/plan/space/workbench.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/base/parallel.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/quantile.hpp"
#include "sim/validate/measured/measured_runs.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

namespace {

namespace fs = std::filesystem;

double seconds_of(const plan::Estimate& estimate) {
  return in_seconds(to_seconds(estimate.step_time));
}

// The row as the scenario of a plan; its candidate may be none of those that a plan can say.
std::optional<TunedLayout> search_row(const MeasuredRun& run, const hardware::ProfileSearch& search,
                                      int threads, Diagnostics& diagnostics) {
  const plan::PlanSpec spec;
  const auto bench = plan::make_workbench(run.run.scenario, spec, search, diagnostics);
  const auto space = bench ? plan::make_space(*bench, spec, diagnostics) : std::nullopt;
  const auto own = bench ? plan::candidate_of(bench->base, *bench) : std::nullopt;
  if (!space || !own) {
    return std::nullopt;
  }
  const plan::Estimate published = plan::Estimator(*bench).estimate(*own);
  const plan::SearchResult found =
      plan::search(*bench, *space, spec, {.threads = threads, .keep = 1, .misses = 0});
  if (found.best.empty() || published.verdict == plan::Verdict::breaks_rule) {
    return std::nullopt;
  }
  const plan::Ranked& best = found.best.front();
  scenario::Scenario chosen = bench->base;
  plan::apply(best.candidate, *bench, chosen);
  return TunedLayout{.id = run.id,
                     .measured = in_seconds(*run.step_time),
                     .published = seconds_of(published),
                     .best = seconds_of(best.estimate),
                     .roomy = published.verdict == plan::Verdict::fits,
                     .differs = plan::differences(bench->base, chosen),
                     .words = plan::words_of(best.candidate, *bench)};
}

namespace fs = std::filesystem;

struct LayoutWork {
  std::string question;
  std::string stack;
  MeasuredLayout layout;
  ReadyRun run;
};

void predict(LayoutWork& work) {
  const auto outcome = simulate_run(work.run, {.timeline = false, .operations = false});
  if (const auto* run = std::get_if<SimulatedRun>(&outcome)) {
    work.layout.predicted = in_seconds(to_seconds(run->step.step_time));
    const step::Feasibility& fit = run->step.feasibility;
    const cost::CostModel& costs = run->resolved.costs;
    work.layout.roomy =
        fit.fits && fit.headroom >= plan::usual_headroom(costs.gpu(), costs.software());
  }
}

// Rows that were measured alone have no layout beside theirs.
std::vector<LayoutWork> work_of(const fs::path& file, std::vector<MeasuredRun> runs,
                                const Remarks& remarks) {
  std::vector<LayoutWork> work;
  for (MeasuredRun& run : runs) {
    if (!run.step_time || run.side_by_side.empty() || remarks.suspicious.contains(run.id)) {
      continue;
    }
    work.push_back({file.string() + ": " + run.side_by_side,
                    run.group,
                    {.id = run.id,
                     .scenario = run.run.scenario,
                     .predicted = 0.0,
                     .readings = {in_seconds(*run.step_time)},
                     .roomy = true},
                    std::move(run.run)});
  }
  return work;
}

// A reading of a layout that is known is one more of it.
void add_layout(MeasuredLayout layout, LayoutGroup& group) {
  const auto known = std::ranges::find_if(group.layouts, [&layout](const auto& other) {
    return plan::differences(layout.scenario, other.scenario).none();
  });
  if (known == group.layouts.end()) {
    group.layouts.push_back(std::move(layout));
  } else {
    known->readings.push_back(layout.readings.front());
  }
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order,
                    [&values](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) {
      ++end;
    }
    for (std::size_t k = i; k < end; ++k) {
      result[order[k]] = 0.5 * (static_cast<double>(i) + static_cast<double>(end) - 1.0);
    }
    i = end;
  }
  return result;
}

int amount(const step::RecomputeSpec& spec) {
  switch (spec.policy) {
    case model::Recompute::none:
      return 0;
    case model::Recompute::full:
      return spec.layers ? 2 : 3;
    default:
      return 1;
  }
}

auto split(const scenario::Scenario& scenario) {
  const layout::LayoutSpec& layout = scenario.layout;
  return std::tuple(layout.tensor * layout.context * layout.pipeline, layout.expert,
                    layout.sharding, amount(scenario.step.recompute), -scenario.batch.micro);
}

struct WeightedError {
  double error;
  double weight;
};

// Below it lies the share of the weights.
double weighted_quantile(std::vector<WeightedError> errors, double share) {
  std::ranges::sort(errors, {}, &WeightedError::error);
  double all = 0.0;
  for (const WeightedError& one : errors) {
    all += one.weight;
  }
  double sum = 0.0;
  for (const WeightedError& one : errors) {
    sum += one.weight;
    if (sum >= share * all) {
      return one.error;
    }
  }
  return 0.0;
}

double log_error(const MeasuredLayout& layout) {
  return std::log(layout.predicted / layout.measured());
}

}  // namespace

std::optional<std::vector<TunedLayout>> tuned_layouts(const std::vector<fs::path>& files,
                                                      const ValidateOptions& options,
                                                      Diagnostics& diagnostics) {
  std::vector<TunedLayout> layouts;
  for (const fs::path& file : files) {
    Remarks remarks;
    const auto document = yaml::parse_file(file, data_limits(), diagnostics);
    if (!document) {
      return std::nullopt;
    }
    if (is_older_form(*document, diagnostics) || !holds_measured_runs(*document)) {
      continue;
    }
    read_remarks_beside(file, remarks, diagnostics);
    const hardware::ProfileSearch search = evaluate::profile_search(file, options.profiles);
    ProfileShelf profiles(search);
    for (const MeasuredRun& run :
         read_measured_runs(*document, file, options.unstated, profiles, diagnostics)) {
      const bool tuned = std::ranges::find(remarks.tuned, run.id) != remarks.tuned.end();
      auto one = tuned && run.step_time ? search_row(run, search, options.threads, diagnostics)
                                        : std::nullopt;
      if (one) {
        layouts.push_back(*std::move(one));
      }
    }
  }
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(layouts));
}

std::string to_markdown(const std::vector<TunedLayout>& layouts) {
  if (layouts.empty()) {
    return {};
  }
  std::vector<double> gaps;
  report::Table table =
      report::table_of({"run", "measured", "predicted", "plan", "gap", "the plan's", "differ in"});
  for (const TunedLayout& one : layouts) {
    gaps.push_back(one.gap());
    table.add(one.id, fmt::format("{:.2f}", one.measured),
              fmt::format("{:.2f}{}", one.published, one.roomy ? "" : " (full)"),
              fmt::format("{:.2f}", one.best), signed_percent_cell(one.gap()), one.words,
              plan::words_of(one.differs));
  }
  std::ranges::sort(gaps);
  return fmt::format(
      "\nThe plan beside {} published layouts that a team tuned, step times in s; (full): leaves\n"
      "less memory free than a plan does. Median gap {}.\n\n{}",
      layouts.size(), signed_percent_cell(gaps[gaps.size() / 2]), to_markdown(table));
}

double MeasuredLayout::measured() const {
  return std::accumulate(readings.begin(), readings.end(), 0.0) /
         static_cast<double>(readings.size());
}

std::optional<std::vector<LayoutGroup>> layout_groups(const std::vector<fs::path>& files,
                                                      const ValidateOptions& options,
                                                      Diagnostics& diagnostics) {
  std::vector<std::pair<std::string, LayoutGroup>> groups;
  std::map<std::string, std::size_t> known;
  for (const fs::path& file : files) {
    const auto document = yaml::parse_file(file, data_limits(), diagnostics);
    if (!document) {
      return std::nullopt;
    }
    Remarks remarks;
    read_remarks_beside(file, remarks, diagnostics);
    if (is_older_form(*document, diagnostics) || !holds_measured_runs(*document)) {
      continue;
    }
    ProfileShelf profiles(evaluate::profile_search(file, options.profiles));
    std::vector<LayoutWork> work =
        work_of(file, read_measured_runs(*document, file, options.unstated, profiles, diagnostics),
                remarks);
    parallel_for(static_cast<std::int64_t>(work.size()), {.threads = options.threads},
                 [&work](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     predict(work[static_cast<std::size_t>(i)]);
                   }
                 });
    for (LayoutWork& one : work) {
      if (one.layout.predicted > 0.0) {
        const auto [at, fresh] = known.emplace(one.question, groups.size());
        if (fresh) {
          groups.push_back({one.question, {one.stack, {}}});
        }
        add_layout(std::move(one.layout), groups[at->second].second);
      }
    }
  }
  std::vector<LayoutGroup> several;
  for (auto& [question, group] : groups) {
    if (group.layouts.size() > 1) {
      several.push_back(std::move(group));
    }
  }
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(several));
}

double rank_correlation(const std::vector<double>& one, const std::vector<double>& other) {
  const std::vector<double> a = ranks(one);
  const std::vector<double> b = ranks(other);
  const double mean = 0.5 * (static_cast<double>(a.size()) - 1.0);
  double ab = 0.0;
  double aa = 0.0;
  double bb = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return ab / std::sqrt(aa * bb);
}

GroupVerdict judge(const LayoutGroup& group) {
  const std::vector<MeasuredLayout>& all = group.layouts;
  const auto least = [&all](const auto& figure) {
    const auto found = std::ranges::min_element(
        all, [&figure](const auto& a, const auto& b) { return figure(a) < figure(b); });
    return static_cast<std::size_t>(found - all.begin());
  };
  GroupVerdict verdict;
  verdict.chosen =
      least([](const MeasuredLayout& one) { return std::pair(!one.roomy, one.predicted); });
  verdict.fastest = least([](const MeasuredLayout& one) { return one.measured(); });
  verdict.by_rule = least([](const MeasuredLayout& one) { return split(one.scenario); });
  const double best = all[verdict.fastest].measured();
  verdict.regret = all[verdict.chosen].measured() / best - 1.0;
  verdict.rule_regret = all[verdict.by_rule].measured() / best - 1.0;
  if (all.size() > 2) {
    std::vector<double> predicted;
    std::vector<double> measured;
    for (const MeasuredLayout& one : all) {
      predicted.push_back(one.predicted);
      measured.push_back(one.measured());
    }
    verdict.correlation = rank_correlation(predicted, measured);
  }
  return verdict;
}

plan::LayoutErrors layout_errors(const std::vector<LayoutGroup>& groups,
                                 const std::vector<fs::path>& files) {
  plan::LayoutErrors errors;
  std::array<std::vector<WeightedError>, plan::kFeatures> pairs;
  for (const fs::path& file : files) {
    errors.source += (errors.source.empty() ? "" : " ") + file.generic_string();
  }
  for (const LayoutGroup& group : groups) {
    const std::vector<MeasuredLayout>& all = group.layouts;
    ++errors.groups;
    errors.layouts += static_cast<std::int64_t>(all.size());
    plan::FeatureSet seen;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = i + 1; k < all.size(); ++k) {
        const plan::FeatureSet features = plan::differences(all[i].scenario, all[k].scenario);
        const double error = std::abs(log_error(all[i]) - log_error(all[k]));
        for (std::size_t f = 0; f < plan::kFeatures; ++f) {
          if (features.test(f)) {
            pairs[f].push_back({error, 2.0 / static_cast<double>(all.size())});
          }
        }
        seen |= features;
      }
    }
    for (std::size_t f = 0; f < plan::kFeatures; ++f) {
      errors.of[f].groups += seen.test(f) ? 1 : 0;
    }
  }
  for (std::size_t f = 0; f < plan::kFeatures; ++f) {
    errors.of[f].pairs = static_cast<std::int64_t>(pairs[f].size());
    errors.of[f].error = weighted_quantile(std::move(pairs[f]), plan::kErrorShare);
  }
  return errors;
}

}  // namespace orrery::validate
