#include "calibrate/fit/write_fit.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/percent.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/validate/output/write_validation.hpp"

namespace orrery::fit {

namespace {

using validate::Statistics;

constexpr std::size_t kWorstRows = 12;

std::string_view remark_of(const FittedCoefficient& coefficient) {
  if (coefficient.bound != Bound::none) {
    return coefficient.bound == Bound::lower ? "AT LOWER BOUND" : "AT UPPER BOUND";
  }
  return coefficient.identified ? "" : "not identified by these rows";
}

std::string error_text(const FittedCoefficient& coefficient) {
  if (coefficient.bound != Bound::none) {
    return "-";
  }
  return coefficient.key->scale == Scale::linear ? fmt::format("{:.2g}", coefficient.error)
                                                 : percent_cell(coefficient.error);
}

std::string coefficient_table(const StackFit& fit) {
  std::string text = fmt::format(
      "\n{:<26}{:>10}{:>12}{:>10}{:>9}  \n", "coefficient", "start", "fitted", "+-", "effect");
  for (const FittedCoefficient& coefficient : fit.coefficients) {
    std::string line = fmt::format("{:<26}{:>10}{:>12}{:>10}{:>7.1f} %  {}",
                                   coefficient.key->key,
                                   value_text(*coefficient.key, coefficient.start),
                                   value_text(*coefficient.key, coefficient.fitted),
                                   error_text(coefficient),
                                   kPercent * coefficient.effect,
                                   remark_of(coefficient));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text + "effect: how far one prior deviation of the coefficient moves the steps\n";
}

std::vector<std::size_t> worst_first(const FitReport& report) {
  std::vector<std::size_t> order(report.chosen.rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const auto size = [&report](std::size_t i) {
    return std::abs(scored(*report.chosen.rows[i], report.after[i]).relative_error());
  };
  std::stable_sort(order.begin(), order.end(), [&size](std::size_t a, std::size_t b) {
    return size(a) > size(b);
  });
  return order;
}

std::string worst_table(const FitReport& report) {
  std::string text = "\nworst rows\n";
  const std::vector<std::size_t> order = worst_first(report);
  for (std::size_t i = 0; i < std::min(kWorstRows, order.size()); ++i) {
    const Observation& row = *report.chosen.rows[order[i]];
    text += fmt::format("{:<44}{:>+7.1f} %  (before {:+.1f} %){}\n",
                        row.id.substr(0, 43),
                        kPercent * scored(row, report.after[order[i]]).relative_error(),
                        kPercent * scored(row, report.before[order[i]]).relative_error(),
                        row.suspicious.empty() ? "" : "  suspicious");
  }
  return text;
}

Json coefficient_json(const FittedCoefficient& coefficient) {
  const std::string_view bound = coefficient.bound == Bound::none    ? "none"
                                 : coefficient.bound == Bound::lower ? "lower"
                                                                     : "upper";
  return {{"key", coefficient.key->key},
          {"start", coefficient.start},
          {"fitted", coefficient.fitted},
          {"error", coefficient.error},
          {"effect", coefficient.effect},
          {"bound", bound},
          {"identified", coefficient.identified}};
}

std::string citation_of(const FitReport& report,
                        const FittedCoefficient& coefficient,
                        const std::string& explanation) {
  std::string text = fmt::format("fitted to the {} rows of {} (orrery fit, {}",
                                 report.chosen.used.size(),
                                 fmt::join(report.chosen.stacks, ", "),
                                 report.chosen.own ? "own runs" : "measured-runs data set");
  const std::string_view remark = remark_of(coefficient);
  if (remark.empty()) {
    text += fmt::format("; standard error {}", error_text(coefficient));
  } else {
    text += coefficient.bound != Bound::none ? "; at its bound" : "; not identified";
  }
  text += ")";
  return explanation.empty() ? text : fmt::format("{}: {}", text, explanation);
}

}  // namespace

std::string to_text(const FitReport& report) {
  std::string text = fmt::format(
      "profile {}, stacks {}\n\n", report.chosen.profile, fmt::join(report.chosen.stacks, ", "));
  text += validate::statistics_head("step time");
  text += validate::statistics_line("before", statistics(report.chosen.rows, report.before));
  text += validate::statistics_line("fitted", statistics(report.chosen.rows, report.after));
  if (report.left_out) {
    const CrossValidation& left_out = *report.left_out;
    text += validate::statistics_line(fmt::format("leaving one {} out", to_string(left_out.kind)),
                                      left_out.all);
    for (const FoldScore& fold : left_out.folds) {
      text += validate::statistics_line("  without " + fold.name, fold.score);
    }
  }
  text += coefficient_table(report.fit);
  text += worst_table(report);
  for (const SkippedRow& row : report.chosen.skipped) {
    text += fmt::format("skipped {}: {}\n", row.id, row.reason);
  }
  return text;
}

std::string to_json(const FitReport& report) {
  Json json = {{"schema", "orrery-fit/1"},
               {"profile", report.chosen.profile},
               {"stacks", report.chosen.stacks},
               {"before", json_of(statistics(report.chosen.rows, report.before))},
               {"fitted", json_of(statistics(report.chosen.rows, report.after))},
               {"coefficients", json_list(report.fit.coefficients, coefficient_json)},
               {"rows", Json::array()},
               {"skipped", json_list(report.chosen.skipped, [](const SkippedRow& row) {
                  return Json{{"id", row.id}, {"reason", row.reason}};
                })}};
  if (report.left_out) {
    json["leave_out"] = {{"kind", to_string(report.left_out->kind)},
                         {"all", json_of(report.left_out->all)},
                         {"folds", json_list(report.left_out->folds, [](const FoldScore& fold) {
                            return Json{{"name", fold.name}, {"score", json_of(fold.score)}};
                          })}};
  }
  for (std::size_t i = 0; i < report.chosen.rows.size(); ++i) {
    json["rows"].push_back({{"id", report.chosen.rows[i]->id},
                            {"measured_s", report.chosen.rows[i]->measured},
                            {"before_s", report.before[i]},
                            {"fitted_s", report.after[i]},
                            {"suspicious", !report.chosen.rows[i]->suspicious.empty()}});
  }
  return json_text(json);
}

std::vector<NewValue> new_values(const FitReport& report, std::string_view file) {
  const double residual = statistics(report.chosen.used, report.fit.predicted).mape;
  std::vector<NewValue> values;
  for (const FittedCoefficient& coefficient : report.fit.coefficients) {
    const FitKey& key = *coefficient.key;
    const std::string text = value_text(key, coefficient.fitted);
    if (text == value_text(key, coefficient.start)) {
      continue;
    }
    values.push_back({.key = std::string(key.key),
                      .value = text,
                      .source = !coefficient.identified ? "assumed"
                                : report.chosen.own     ? "measured"
                                                        : "published",
                      .citation = citation_of(report, coefficient, explanation_in(file, key.key)),
                      .residual = residual});
  }
  return values;
}

}  // namespace orrery::fit
