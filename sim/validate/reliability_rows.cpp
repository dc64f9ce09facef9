// Rows of reliability-cases/1: each case by the function of the run stage that its quantity and its
// inputs call for (case_rules.hpp). What no rule knows, or what lacks an input, is skipped with its
// reason.
//
// A case with several expected values gives a row per value. Every row says whether it is within
// the case's own tolerance (or on the right side of its bound); its error counts in the statistics
// all the same.

#include <fmt/core.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/text.hpp"
#include "sim/validate/case_rules.hpp"
#include "sim/validate/case_tolerance.hpp"
#include "sim/validate/data_row.hpp"
#include "sim/validate/data_sets.hpp"

namespace orrery::validate {

namespace {

enum class Bound { none, at_least, at_most };

// `relation: ">="`: the answer is at least the expected value.
Bound bound_of(const DataRow& inputs) {
  const std::string text = lower_case(inputs.text("relation"));
  if (text.empty() || text == "=" || text == "==") {
    return Bound::none;
  }
  const bool above = text.find('>') != std::string::npos || text.starts_with("ge") ||
                     text.starts_with("gt") || text.find("least") != std::string::npos ||
                     text.find("lower") != std::string::npos ||
                     text.find("above") != std::string::npos;
  return above ? Bound::at_least : Bound::at_most;
}

bool holds(Bound bound, double value, double limit, const Tolerance& tolerance) {
  const bool right_side = bound == Bound::at_least ? value >= limit : value <= limit;
  return right_side || tolerance.allows(value, limit);
}

// `s, s, fraction` for three values; one unit serves all of them.
std::string unit_of(const std::string& units, std::size_t index) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < index; ++i) {
    const std::size_t comma = units.find(',', begin);
    if (comma == std::string::npos) {
      return i == 0 ? units : units.substr(begin);
    }
    begin = comma + 1;
  }
  const std::size_t end = units.find(',', begin);
  return units.substr(begin, end == std::string::npos ? end : end - begin);
}

std::vector<double> expected_of(const DataRow& entry) {
  if (const auto one = entry.number("expected")) {
    return {*one};
  }
  return entry.numbers("expected");
}

std::string why_not(const Case& asked, const CaseRule* rule) {
  if (rule == nullptr) {
    return "no stage computes this quantity from these inputs";
  }
  if (!asked.reason.empty()) {
    return asked.reason;
  }
  if (!asked.in.complete()) {
    return fmt::format("the case does not state {}", fmt::join(asked.in.missing(), ", "));
  }
  return "the inputs are out of range, or not as many values follow from them";
}

// One expected value beside the figure that answers it.
void compare(const Figure& figure,
             const std::string& unit,
             double expected,
             const DataRow& entry,
             ValidationRow& row) {
  row.measured = expected;
  const std::optional<double> value = in_unit(figure, unit);
  if (!value || !std::isfinite(*value)) {
    row.skipped = value ? std::string("no finite number follows from the inputs")
                        : fmt::format("the answer is no quantity in `{}`", unit);
    return;
  }
  row.predicted = *value;
  const Tolerance tolerance = tolerance_of(entry.row("tol"));
  const Bound bound = bound_of(entry.row("inputs"));
  if (bound == Bound::none) {
    row.within = tolerance.allows(*value, expected);
    return;
  }
  row.match = holds(bound, *value, expected, tolerance);
  row.within = *row.match;
  if (!*row.match) {
    row.mismatches = {fmt::format("{:.10g} is not {} {:.10g}",
                                  *value,
                                  bound == Bound::at_least ? "at least" : "at most",
                                  expected)};
  }
}

// The inputs of a case; `config: same as above` are those of the last case that had more.
DataRow inputs_of(const std::vector<DataRow>& cases, std::size_t index) {
  for (std::size_t i = index + 1; i-- > 0;) {
    const DataRow inputs = cases[i].row("inputs");
    if (lower_case(inputs.text("config")).find("same") == std::string::npos) {
      return inputs;
    }
  }
  return cases[index].row("inputs");
}

// Those of the caller, the folder of the data set, and `traces` beside the profiles: in the source
// tree, or in the share folder of an installation.
std::vector<std::filesystem::path> trace_folders(const DataSet& data) {
  std::vector<std::filesystem::path> folders = data.traces;
  folders.push_back(data.path.parent_path());
  for (const std::filesystem::path& profiles : data.search.directories) {
    folders.push_back(profiles.parent_path() / "traces");
  }
  return folders;
}

std::vector<ValidationRow> rows_of(const std::vector<DataRow>& cases,
                                   std::size_t index,
                                   const DataSet& data) {
  const DataRow& entry = cases[index];
  const std::vector<double> expected = expected_of(entry);
  const std::string units = entry.text("unit");
  Case asked{.words = lower_case(entry.text("quantity")),
             .in = CaseInputs(inputs_of(cases, index)),
             .wanted = expected.size(),
             .unit = lower_case(units),
             .folders = trace_folders(data),
             .threads = data.threads};
  const CaseRule* rule = rule_for(asked);
  ValidationRow row{.id = entry.text("id"),
                    .group = std::string(rule == nullptr ? "not computed" : rule->group),
                    .quantity = "value",
                    .unit = units};
  if (expected.empty()) {
    row.skipped = "no number is expected";
    return {row};
  }
  const Figures figures = rule == nullptr ? Figures{} : rule->answer(asked);
  row.notes = {entry.text("quantity")};
  row.notes.insert(row.notes.end(), asked.notes.begin(), asked.notes.end());
  std::vector<ValidationRow> rows;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ValidationRow part = row;
    part.id = expected.size() > 1 ? fmt::format("{}/{}", row.id, i) : row.id;
    part.unit = unit_of(units, i);
    if (i < figures.size()) {
      compare(figures[i], part.unit, expected[i], entry, part);
    } else {
      part.measured = expected[i];
      part.skipped = why_not(asked, rule);
    }
    rows.push_back(std::move(part));
  }
  return rows;
}

}  // namespace

std::vector<ValidationRow> reliability_rows(const DataSet& data) {
  const std::vector<DataRow> cases = data_rows(data.document, "cases");
  std::vector<ValidationRow> rows;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (ValidationRow& row : rows_of(cases, i, data)) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace orrery::validate
