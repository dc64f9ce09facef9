#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "sim/answer/report/table.hpp"
#include "sim/base/percent.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/validate/measured/layout_groups.hpp"

namespace orrery::validate {

namespace {

constexpr double kWorthNaming = 0.02;  // regret

// One stack, or all.
struct Tally {
  std::size_t groups = 0;
  std::size_t layouts = 0;
  std::size_t right = 0;
  std::vector<double> correlations = {};
  double regret = 0.0;
  double worst = 0.0;
  double rule_regret = 0.0;

  void add(const LayoutGroup& group, const GroupVerdict& verdict) {
    ++groups;
    layouts += group.layouts.size();
    right += verdict.regret == 0.0 ? 1 : 0;
    regret += verdict.regret;
    worst = std::max(worst, verdict.regret);
    rule_regret += verdict.rule_regret;
    if (verdict.correlation) {
      correlations.push_back(*verdict.correlation);
    }
  }

  void add_to(report::Table& table, const std::string& name) const {
    double correlation = 0.0;
    for (const double one : correlations) {
      correlation += one / static_cast<double>(correlations.size());
    }
    table.add(name, groups, layouts, right,
              correlations.empty() ? std::string("-") : fmt::format("{:.2f}", correlation),
              percent_cell(regret / static_cast<double>(groups)), percent_cell(worst),
              percent_cell(rule_regret / static_cast<double>(groups)));
  }
};

std::string words_of(const MeasuredLayout& layout) {
  const scenario::Scenario& scenario = layout.scenario;
  const layout::LayoutSpec& degrees = scenario.layout;
  std::string words = fmt::format("TP {} PP {}", degrees.tensor, degrees.pipeline);
  if (degrees.virtual_stages > 1) {
    words += fmt::format(" x {}", degrees.virtual_stages);
  }
  if (degrees.context > 1) {
    words += fmt::format(" CP {}", degrees.context);
  }
  if (degrees.expert > 1) {
    words += fmt::format(" EP {}", degrees.expert);
  }
  return fmt::format("{} micro {} {}{} ({:.2f} s, predicted {:.2f})", words, scenario.batch.micro,
                     name_of(degrees.sharding),
                     degrees.shard_group ? fmt::format(" of {}", *degrees.shard_group) : "",
                     layout.measured(), layout.predicted);
}

std::string misses(const std::vector<LayoutGroup>& groups) {
  report::Table table = report::table_of({"fastest", "regret", "chosen", "fastest", "differ in"});
  for (const LayoutGroup& group : groups) {
    const GroupVerdict verdict = judge(group);
    if (verdict.regret < kWorthNaming) {
      continue;
    }
    const MeasuredLayout& chosen = group.layouts[verdict.chosen];
    const MeasuredLayout& fastest = group.layouts[verdict.fastest];
    table.add(fastest.id, percent_cell(verdict.regret), words_of(chosen), words_of(fastest),
              plan::words_of(plan::differences(chosen.scenario, fastest.scenario)));
  }
  return table.rows.empty()
             ? std::string()
             : "\nGroups whose choice is 2 % or more behind the fastest:\n\n" + to_markdown(table);
}

// Of the larger groups, where the layout that was measured to be the fastest is predicted to stand.
std::string standings(const std::vector<LayoutGroup>& groups) {
  constexpr std::size_t kMany = 4;
  report::Table table = report::table_of({"fastest", "layouts", "predicted rank", "correlation"});
  for (const LayoutGroup& group : groups) {
    if (group.layouts.size() < kMany) {
      continue;
    }
    const GroupVerdict verdict = judge(group);
    const MeasuredLayout& fastest = group.layouts[verdict.fastest];
    const auto better = std::ranges::count_if(
        group.layouts,
        [&fastest](const MeasuredLayout& other) { return other.predicted < fastest.predicted; });
    table.add(fastest.id, group.layouts.size(), better + 1,
              verdict.correlation ? fmt::format("{:.2f}", *verdict.correlation) : "-");
  }
  return table.rows.empty() ? std::string()
                            : "\nWhere the fastest of groups of four layouts or more is predicted "
                              "to stand:\n\n" +
                                  to_markdown(table);
}

std::string error_table(const plan::LayoutErrors& errors) {
  report::Table table = report::table_of({"differ in", "pairs", "groups", "error"});
  const std::string text = fmt::format(
      "\nThe predicted difference of two layouts of a group against the measured one, by what "
      "they\n"
      "differ in (whatever else differs too): {:.0f} % of the pairs are within the error.\n\n",
      kPercent * plan::kErrorShare);
  for (std::size_t f = 0; f < plan::kFeatures; ++f) {
    const plan::FeatureError& one = errors.of[f];
    if (one.pairs > 0) {
      table.add(plan::kFeatureNames[f], one.pairs, one.groups, percent_cell(one.error));
    }
  }
  return text + to_markdown(table);
}

}  // namespace

std::string to_markdown(const std::vector<LayoutGroup>& groups, const plan::LayoutErrors& errors) {
  std::map<std::string, Tally> by_stack;
  std::vector<std::string> order;
  Tally all;
  for (const LayoutGroup& group : groups) {
    const GroupVerdict verdict = judge(group);
    if (!by_stack.contains(group.stack)) {
      order.push_back(group.stack);
    }
    by_stack[group.stack].add(group, verdict);
    all.add(group, verdict);
  }
  report::Table table = report::table_of({"stack", "groups", "layouts", "fastest chosen",
                                          "rank correlation", "regret", "worst", "by rule"});
  for (const std::string& stack : order) {
    by_stack[stack].add_to(table, stack);
  }
  if (!groups.empty()) {
    all.add_to(table, "all");
  }
  return to_markdown(table) + misses(groups) + standings(groups) + error_table(errors);
}

}  // namespace orrery::validate
