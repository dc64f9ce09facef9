// Rows of reliability-cases/1: a closed list of quantities, each by the function that the run uses
// or checks itself against. Arithmetic of the sources that no stage computes is skipped.
//
// A case with several expected values gives a row per value. A row matches within the case's own
// tolerance; its error counts in the statistics all the same.

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/run/theory.hpp"
#include "sim/validate/data_row.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/run_case.hpp"

namespace orrery::validate {

namespace {

// The values of a case, in its unit; empty when an input is missing.
using Values = std::vector<double>;

double need(const DataRow& inputs, std::string_view key) {
  return inputs.number(key).value_or(std::nan(""));
}

run::CheckpointCost checkpoint_cost(const DataRow& in) {
  return {minutes(need(in, "delta_min")), minutes(need(in, "M_min"))};
}

Values higher_order(const DataRow& in) {
  return {in_minutes(run::daly_higher_order_interval(checkpoint_cost(in)))};
}

Values exact_interval(const DataRow& in) {
  return {in_minutes(run::optimal_interval(checkpoint_cost(in)))};
}

Values wall_clock(const DataRow& in) {
  return {in_hours(run::daly_run_time({.useful = minutes(need(in, "Ts_min")),
                                       .interval = minutes(need(in, "tau_min")),
                                       .checkpoint = minutes(need(in, "delta_min")),
                                       .restart = minutes(need(in, "R_min")),
                                       .mtbf = minutes(need(in, "M_min"))}))};
}

// Daly's expression for one segment.
Values segment_time(const DataRow& in) {
  const Seconds interval = minutes(need(in, "tau_min"));
  return {in_minutes(run::daly_run_time({.useful = interval,
                                         .interval = interval,
                                         .checkpoint = minutes(need(in, "delta_min")),
                                         .restart = minutes(need(in, "R_min")),
                                         .mtbf = minutes(need(in, "M_min"))}))};
}

Values formula_errors(const DataRow& in) {
  const run::CheckpointCost cost{seconds(need(in, "C_over_M")), seconds(1.0)};
  const Seconds exact = run::optimal_interval(cost);
  return {run::young_interval(cost) / exact - 1.0,
          run::daly_first_order_interval(cost) / exact - 1.0,
          run::daly_higher_order_interval(cost) / exact - 1.0};
}

Values two_level(const DataRow& in) {
  const run::TwoLevelOptimum best =
      run::two_level_optimum({.near_checkpoint = seconds(need(in, "C1_s")),
                              .far_checkpoint = seconds(need(in, "C2_s")),
                              .mtbf = seconds(need(in, "M_s")),
                              .near_recoverable = need(in, "p_recoverable_level1")});
  return {in_seconds(best.near_interval), in_seconds(best.far_interval), best.waste};
}

Values ettr(const DataRow& in) {
  return {run::expected_ettr({.nodes = need(in, "nodes"),
                              .node_rate = per_day(need(in, "r_per_node_day")),
                              .restart = minutes(need(in, "u0_min")),
                              .interval = minutes(need(in, "dt_min")),
                              .write = minutes(need(in, "w_min"))})};
}

Values job_mttf(const DataRow& in) {
  const double nodes = need(in, "gpus") / need(in, "gpus_per_node");
  return {in_hours(run::job_mtbf(nodes, per_day(need(in, "r_per_node_day"))))};
}

// A rate counted over a window, as a job-wide rate.
Values counted_mtbf(const DataRow& in) {
  const double failures = in.number("failures").value_or(need(in, "restarts"));
  return {in_hours(run::job_mtbf(1.0, per_day(failures / need(in, "days"))))};
}

Values mtbf_of_1000(const DataRow& in) {
  return {counted_mtbf(in).front() * need(in, "gpus") / kKilo};
}

Values mtbf_of_one(const DataRow& in) {
  return {counted_mtbf(in).front() * need(in, "gpus")};
}

Values binomial_pool(const DataRow& in) {
  return {static_cast<double>(
      run::binomial_quantile(in.integer("n").value_or(0), need(in, "p"), need(in, "q")))};
}

Values repair_load(const DataRow& in) {
  const run::RepairLoad load = run::nodes_in_repair(per_day(need(in, "failures_per_day")),
                                                    days(need(in, "mean_repair_days")));
  return {load.mean, static_cast<double>(load.p99)};
}

Values placement_survival(const DataRow& in) {
  return {run::replica_survival(
      in.integer("N").value_or(0), in.integer("m").value_or(0), in.integer("k").value_or(0))};
}

Values scripted_run(const DataRow& in) {
  RunCase run{.steps = in.integer("steps").value_or(0),
              .step = seconds(need(in, "step_s")),
              .save_every = in.integer("k").value_or(0),
              .stall = seconds(need(in, "C_s")),
              .restart = seconds(need(in, "R_s"))};
  for (const double at : in.numbers("failures_s")) {
    run.failures.push_back(seconds(at));
  }
  const auto times = run_case(run);
  return times ? Values{in_seconds(times->wall),
                        in_seconds(times->lost),
                        in_seconds(times->checkpoint),
                        in_seconds(times->restart)}
               : Values{};
}

struct Quantity {
  std::string_view words;  // beginning of the case's `quantity`
  std::string_view group;
  Values (*values)(const DataRow& inputs);
};

constexpr std::array<Quantity, 17> kQuantities = {
    {{"optimum compute interval", "checkpoint interval", exact_interval},
     {"tau_opt higher order", "checkpoint interval", higher_order},
     {"tau_opt exact", "checkpoint interval", exact_interval},
     {"expected wall clock", "run time", wall_clock},
     {"DES Monte Carlo mean per segment", "run time", segment_time},
     {"relative error of tau", "checkpoint interval", formula_errors},
     {"T1*,T2*, waste", "checkpoint interval", two_level},
     {"E[ETTR]", "ETTR", ettr},
     {"job MTTF", "failure rate", job_mttf},
     {"job MTBF", "failure rate", counted_mtbf},
     {"MTBF of 1000 GPUs", "failure rate", mtbf_of_1000},
     {"per-GPU MTBF", "failure rate", mtbf_of_one},
     {"P99 of Binomial", "spares", binomial_pool},
     {"mean and P99 of nodes in repair", "spares", repair_load},
     {"P(recover from CPU memory)", "in-memory checkpoints", placement_survival},
     {"same, k=3", "in-memory checkpoints", placement_survival},
     {"[wall, lost_compute", "scripted run", scripted_run}}};

const Quantity* quantity_of(const std::string& text) {
  for (const Quantity& quantity : kQuantities) {
    if (text.starts_with(quantity.words)) {
      return &quantity;
    }
  }
  return nullptr;
}

std::vector<ValidationRow> rows_of(const DataRow& entry) {
  const std::string text = entry.text("quantity");
  const Quantity* quantity = quantity_of(text);
  ValidationRow row{.id = entry.text("id"),
                    .group = std::string(quantity == nullptr ? "not computed" : quantity->group),
                    .quantity = "value",
                    .unit = entry.text("unit"),
                    .notes = {text}};
  if (quantity == nullptr) {
    row.skipped = "no stage computes it";
    return {row};
  }
  std::vector<double> expected = entry.numbers("expected");
  if (const auto one = entry.number("expected")) {
    expected = {*one};
  }
  const Values values = quantity->values(entry.row("inputs"));
  std::vector<ValidationRow> rows;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ValidationRow part = row;
    part.id = expected.size() > 1 ? fmt::format("{}/{}", row.id, i) : row.id;
    part.measured = expected[i];
    if (i < values.size() && std::isfinite(values[i])) {
      part.predicted = values[i];
    } else {
      part.skipped = "an input is missing";
    }
    rows.push_back(std::move(part));
  }
  if (rows.empty()) {
    row.skipped = "no number is expected";
    return {row};
  }
  return rows;
}

}  // namespace

std::vector<ValidationRow> reliability_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  for (const DataRow& entry : data_rows(data.document, "cases")) {
    for (ValidationRow& row : rows_of(entry)) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace orrery::validate
