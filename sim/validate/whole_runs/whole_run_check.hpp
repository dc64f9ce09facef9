#pragma once

// What does one expected value of a whole-run check ask, and what is the answer? By its name.
//
// name contains                 | answer
// ------------------------------|-----------------------------------------------------------------
// days (with steps, step time)  | fault-free run through the simulator; with losses: the calendar
// calendar, lost, goodput       | the run with failures, recovery, repair (calendar_case.hpp)
// X_days_on_N, days_on_N        | device-hours of phase X (of all) on N devices
// events                        | (1 - active) * days / mean recovery
// sigma                         | of the lognormal law with this mean and median
// usd                           | device-hours (or the wall time of nodes) times the stated price
// step_s, mfu, tflops           | wall / steps; FLOPs / (wall * devices * peak); FLOPs / hours
// young..._C5_M4h, interval, waste | checkpoint theory with C = 5 s and M = 4 h
//
// Internal to validate/.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/case_inputs.hpp"
#include "sim/validate/whole_runs/whole_runs.hpp"

namespace orrery::validate {

struct RunCheck {
  CaseInputs inputs;
  std::vector<PublishedRun> runs;
  const DataSet& data;
  bool with_losses = false;
  std::optional<double> calibrate_to = {};  // days of the calendar
  std::string all_names = {};               // of the expected values, where they carry inputs
};

struct CheckAnswer {
  double value = 0.0;  // in `unit`
  std::string unit = "1";
  std::string reason = {};  // why there is none
  std::vector<std::string> notes = {};
};

[[nodiscard]] CheckAnswer answer_check(RunCheck& asked, const std::string& name);

// ETTR at Young's interval (or the stated one), by Meta's formula.
[[nodiscard]] CheckAnswer answer_ettr(const DataRow& row);

// Printed hours against tokens / steady rate, and whether they may tell a goodput.
[[nodiscard]] std::vector<ValidationRow> throughput_rows(const PublishedRun& run);

[[nodiscard]] std::optional<double> yaml_number(const std::string& text);

}  // namespace orrery::validate
