// Rows of `simulator_checks` in whole-runs/1: one per expected value, by what its name asks for.
//
// What the inputs of a check do not state comes from the runs that it names. No value that is
// expected reaches a prediction, with one exception that its row says: a check whose note asks for
// one calibrated term of unexplained downtime.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/text/text.hpp"
#include "sim/validate/rows/case_inputs.hpp"
#include "sim/validate/rows/case_tolerance.hpp"
#include "sim/validate/whole_runs/whole_run_check.hpp"
#include "sim/validate/whole_runs/whole_runs.hpp"

namespace orrery::validate {

namespace {

std::string group_of(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kGroups = {
      {{"usd", "cost"},
       {"dollar", "cost"},
       {"calendar", "calendar"},
       {"lost", "calendar"},
       {"goodput", "calendar"},
       {"days", "run time"},
       {"step", "step time"},
       {"mfu", "utilisation"},
       {"tflop", "utilisation"},
       {"ettr", "ETTR"},
       {"sigma", "recovery"},
       {"events", "recovery"}}};
  for (const auto& [word, group] : kGroups) {
    if (name.find(word) != std::string::npos) {
      return std::string(group);
    }
  }
  return name.find("young") != std::string::npos || name.find("waste") != std::string::npos ||
                 name.find("interval") != std::string::npos
             ? "checkpoint interval"
             : "other figures";
}

// The entry of the run, of several runs, or nothing.
std::vector<PublishedRun> named_runs(const DataSet& data, const DataRow& check) {
  std::vector<std::string> names = check.texts("runs");
  if (const std::string one = check.text("run"); !one.empty()) {
    names.push_back(one);
  }
  std::vector<PublishedRun> runs;
  for (const std::string& name : names) {
    for (const DataRow& entry : data_rows(data.document, "runs")) {
      if (entry.text("id") == name) {
        runs.emplace_back(entry);
      }
    }
  }
  return runs;
}

// Inputs that say "as above" are those of the check before it for the same run.
DataRow check_inputs(const std::vector<DataRow>& checks, std::size_t index) {
  const auto refers = [](const DataRow& inputs) {
    return std::any_of(
        inputs.value().entries.begin(), inputs.value().entries.end(), [](const yaml::Entry& e) {
          return lower_case(e.key).find("as above") != std::string::npos ||
                 lower_case(e.value.text).find("as above") != std::string::npos;
        });
  };
  DataRow inputs = checks[index].row("inputs");
  for (std::size_t i = index; refers(inputs) && i-- > 0;) {
    if (checks[i].text("run") == checks[index].text("run")) {
      inputs = checks[i].row("inputs");
    }
  }
  return inputs;
}

bool asks_losses(const DataRow& check) {
  const std::string words = lower_case(check.text("note"));
  const DataRow inputs = check.row("inputs");
  return words.find("failure") != std::string::npos ||
         std::any_of(inputs.value().entries.begin(),
                     inputs.value().entries.end(),
                     [](const yaml::Entry& e) {
                       return lower_case(e.key + " " + e.value.text).find("failure") !=
                              std::string::npos;
                     });
}

ValidationRow row_of(const DataRow& check,
                     const std::string& name,
                     const std::string& printed,
                     const CheckAnswer& answer,
                     const Tolerance& tolerance) {
  ValidationRow row{.id = fmt::format("{}/{}", check.text("id"), name),
                    .group = group_of(name),
                    .quantity = "value",
                    .unit = answer.unit,
                    .predicted = answer.value,
                    .measured = yaml_number(printed).value_or(0.0),
                    .skipped = answer.reason,
                    .notes = answer.notes};
  if (row.skipped.empty()) {
    row.within = tolerance.allows(row.predicted, row.measured) ||
                 std::abs(row.predicted - row.measured) <= rounding_of(printed) * (1.0 + kMicro);
  }
  return row;
}

// A list of mappings: each states its own inputs and one expected value, an ETTR.
std::vector<ValidationRow> list_rows(const DataRow& check) {
  std::vector<ValidationRow> rows;
  const Tolerance tolerance = tolerance_of(check.text("tolerance"), 0);
  for (const DataRow& entry : data_rows(check.value(), "expect")) {
    const yaml::Value* ettr = entry.find("ettr");
    if (ettr == nullptr) {
      rows.push_back({.id = fmt::format("{}/{}", check.text("id"), rows.size()),
                      .group = "other figures",
                      .quantity = "value",
                      .unit = "1",
                      .skipped = "a list of expected values without an `ettr`"});
      continue;
    }
    rows.push_back(row_of(
        check, fmt::format("{} ettr", rows.size()), ettr->text, answer_ettr(entry), tolerance));
  }
  return rows;
}

std::vector<ValidationRow> value_rows(const DataSet& data,
                                      const std::vector<DataRow>& checks,
                                      std::size_t index) {
  const DataRow& check = checks[index];
  const DataRow expected = check.row("expect");
  RunCheck asked{.inputs = CaseInputs(check_inputs(checks, index)),
                 .runs = named_runs(data, check),
                 .data = data,
                 .with_losses = asks_losses(check)};
  for (const yaml::Entry& entry : expected.value().entries) {
    asked.all_names += lower_case(entry.key) + " ";
  }
  const std::string note = lower_case(check.text("note"));
  if (note.find("calibrat") != std::string::npos || note.find("unexplained") != std::string::npos) {
    asked.calibrate_to = expected.number("calendar_days");
    if (!asked.calibrate_to) {
      asked.calibrate_to = expected.number("days");
    }
  }
  std::vector<ValidationRow> rows;
  for (const yaml::Entry& entry : expected.value().entries) {
    const Tolerance tolerance = tolerance_of(check.text("tolerance"), rows.size());
    rows.push_back(
        row_of(check, entry.key, entry.value.text, answer_check(asked, entry.key), tolerance));
  }
  return rows;
}

// "hours = tokens / steady rate": every run named, and that none of them tells a goodput.
std::vector<ValidationRow> hours_rows(const DataSet& data, const DataRow& check) {
  std::vector<ValidationRow> rows;
  for (const PublishedRun& run : named_runs(data, check)) {
    for (ValidationRow& row : throughput_rows(run)) {
      row.id = fmt::format("{}/{}", check.text("id"), row.id);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace

std::vector<ValidationRow> check_rows(const DataSet& data) {
  const std::vector<DataRow> checks = data_rows(data.document, "simulator_checks");
  std::vector<ValidationRow> all;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    std::vector<ValidationRow> rows;
    const yaml::Value* expected = checks[i].find("expect");
    if (expected != nullptr && expected->kind == yaml::Value::Kind::sequence) {
      rows = list_rows(checks[i]);
    } else if (expected != nullptr && expected->kind == yaml::Value::Kind::mapping) {
      rows = value_rows(data, checks, i);
    } else {
      rows = hours_rows(data, checks[i]);
    }
    if (rows.empty()) {
      rows.push_back({.id = checks[i].text("id"),
                      .group = "other figures",
                      .quantity = "value",
                      .unit = "1",
                      .skipped = "expects nothing that can be compared"});
    }
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace orrery::validate
