// Rows of whole-runs/1: those of its `simulator_checks` that the run stage or its theory answers.
//
// steps x step time, with evaluations and saves: through the run simulator, without failures. ETTR:
// run/theory.hpp with Young's interval. Calendars that need the run's own list of incidents, and
// arithmetic of prices, are skipped.

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/run/theory.hpp"
#include "sim/validate/data_row.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/run_case.hpp"

namespace orrery::validate {

namespace {

ValidationRow fault_free_row(const DataRow& check) {
  const DataRow inputs = check.row("inputs");
  ValidationRow row{.id = check.text("id"),
                    .group = "fault-free run",
                    .quantity = "wall",
                    .unit = "s",
                    .measured = in_seconds(days(check.row("expect").number("days").value_or(0.0)))};
  const auto times = run_case({.steps = inputs.integer("steps").value_or(0),
                               .step = seconds(inputs.number("step_s").value_or(0.0)),
                               .save_every = inputs.integer("save_every").value_or(0),
                               .stall = seconds(inputs.number("save_s").value_or(0.0)),
                               .restart = {},
                               .evaluate_every = inputs.integer("eval_every").value_or(0),
                               .evaluation = seconds(inputs.number("eval_s").value_or(0.0))});
  if (!times) {
    row.skipped = "the run refuses it";
    return row;
  }
  row.predicted = in_seconds(times->wall + days(inputs.number("fixed_ramp_days").value_or(0.0)));
  return row;
}

std::vector<ValidationRow> ettr_rows(const DataRow& check) {
  std::vector<ValidationRow> rows;
  for (const DataRow& entry : data_rows(check.value(), "expect")) {
    const double nodes = entry.number("nodes").value_or(0.0);
    const Seconds write = seconds(entry.number("w_s").value_or(0.0));
    const PerSecond rate = per_day(entry.number("r").value_or(0.0) / kKilo);  // 1,000 node-days
    const Seconds interval = run::young_interval({write, run::job_mtbf(nodes, rate)});
    ValidationRow row{.id = fmt::format("{}/{}", check.text("id"), rows.size()),
                      .group = "ETTR",
                      .quantity = "fraction",
                      .unit = "1",
                      .measured = entry.number("ettr").value_or(0.0)};
    row.predicted = run::expected_ettr({.nodes = nodes,
                                        .node_rate = rate,
                                        .restart = seconds(entry.number("u0_s").value_or(0.0)),
                                        .interval = interval,
                                        .write = write});
    rows.push_back(std::move(row));
  }
  return rows;
}

bool has_only(const DataRow& inputs, const std::vector<std::string_view>& keys) {
  for (const yaml::Entry& entry : inputs.value().entries) {
    if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
      return false;
    }
  }
  return inputs.has("steps") && inputs.has("step_s");
}

}  // namespace

std::vector<ValidationRow> whole_run_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  for (const DataRow& check : data_rows(data.document, "simulator_checks")) {
    const bool fault_free = has_only(
        check.row("inputs"),
        {"steps", "step_s", "fixed_ramp_days", "eval_every", "eval_s", "save_every", "save_s"});
    const auto expected = data_rows(check.value(), "expect");
    if (fault_free && check.row("expect").has("days")) {
      rows.push_back(fault_free_row(check));
    } else if (!expected.empty() && expected.front().has("ettr")) {
      for (ValidationRow& row : ettr_rows(check)) {
        rows.push_back(std::move(row));
      }
    } else {
      rows.push_back({.id = check.text("id"),
                      .group = "not computed",
                      .quantity = "other",
                      .unit = "1",
                      .skipped = "needs the incidents of that run, or is arithmetic that no stage "
                                 "does"});
    }
  }
  return rows;
}

}  // namespace orrery::validate
