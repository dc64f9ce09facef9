#pragma once

// The data sets that can be validated: one function per format turns a document into rows.
//
// format                    | group            | quantity
// --------------------------|------------------|--------------------------------------------------
// measured-runs/2           | stack            | step_time in s; peak_memory in bytes, secondary
// collective-measurements/1 | log              | time in s
// kernel-measurements/1     | GPU, operation   | rate in flop_per_s or bytes_per_s
// schedule-cases/1          | schedule         | match or mismatches
// fabric-cases/1            | kind of case     | sharing: rates and ratios of flows that meet
// whole-runs/2              | kind of figure   | value, in the unit of the check; derived figures
//                           |                  | secondary
// orrery/1                  | scenario         | metrics under `measured:`

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/step/cost/cost.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/validate/profile_shelf.hpp"
#include "sim/validate/validation.hpp"

namespace orrery::validate {

struct DataSet {
  std::filesystem::path path;
  const yaml::Value& document;
  ProfileShelf& profiles;
  const hardware::ProfileSearch& search;
  Diagnostics& diagnostics;  // problems of profiles; those of rows are reasons to skip them
  int threads = 0;           // 0: all cores
  bool unstated = false;     // measured runs as a person would state them
};

struct DataFormat {
  std::string_view name;
  std::string_view meaning;
  std::vector<ValidationRow> (*rows)(const DataSet& data);
};

// Shares of a cost by the kind of source of its coefficients.
[[nodiscard]] report::Trust trust_of(const cost::Cost& cost);

[[nodiscard]] std::vector<ValidationRow> measured_run_rows(const DataSet& data);
[[nodiscard]] std::vector<ValidationRow> collective_rows(const DataSet& data);
[[nodiscard]] std::vector<ValidationRow> kernel_rows(const DataSet& data);
[[nodiscard]] std::vector<ValidationRow> schedule_case_rows(const DataSet& data);
[[nodiscard]] std::vector<ValidationRow> fabric_case_rows(const DataSet& data);
[[nodiscard]] std::vector<ValidationRow> whole_run_rows(const DataSet& data);
[[nodiscard]] std::vector<ValidationRow> scenario_rows(const DataSet& data);

}  // namespace orrery::validate
