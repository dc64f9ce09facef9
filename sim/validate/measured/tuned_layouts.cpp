#include "sim/validate/measured/tuned_layouts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/plan/pool.hpp"
#include "sim/answer/plan/search/search.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/base/percent.hpp"
#include "sim/validate/measured/measured_runs.hpp"
#include "sim/validate/rows/remarks.hpp"

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
      const bool tuned =
          std::find(remarks.tuned.begin(), remarks.tuned.end(), run.id) != remarks.tuned.end();
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
  std::sort(gaps.begin(), gaps.end());
  return fmt::format(
      "\nThe plan beside {} published layouts that a team tuned, step times in s; (full): leaves\n"
      "less memory free than a plan does. Median gap {}.\n\n{}",
      layouts.size(), signed_percent_cell(gaps[gaps.size() / 2]), to_markdown(table));
}

}  // namespace orrery::validate
