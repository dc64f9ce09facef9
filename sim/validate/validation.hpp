#pragma once

// Predictions beside published measurements: rows with errors, and their statistics.
//
//   relative error e = (predicted - measured) / measured
//   MAPE = mean |e|, median and p90 of |e|, worst: the e of largest |e|, bias = mean e
//
// symbol      | meaning                                                        | unit | origin
// ------------|----------------------------------------------------------------|------|---------
// n           | rows, skipped ones included                                    | rows | data set
// skipped     | rows without a prediction, each with its reason                | rows | computed
// MAPE, ...   | a skipped row counts as |e| = 1; bias is that of the others    | 1    | computed
// mape_groups | mean of the groups' MAPE: every group weighs the same          | 1    | computed
// p90         | linear between order statistics, as the median                 | 1    | computed
//
// The overall statistics are those of the main quantity of a data set (step time, collective time,
// rate of a kernel). Peak memory of measured runs has groups and statistics of its own. A row that
// is suspicious (row_remarks.yaml beside the data set, with its reason) is scored as every other;
// the statistics without such rows stand beside the full ones.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/evaluate/doubts/step_evidence.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"

namespace orrery::validate {

struct ValidateOptions {
  std::vector<std::filesystem::path> profiles;  // folders looked into first
  int threads = 0;                              // 0: all cores
  bool unstated = false;                        // measured runs as a person would state them
  bool both = false;                            // those beside the runs as their sources state them
};

struct ValidationRow {
  std::string id = {};
  std::string group = {};
  std::string quantity = {};  // "step_time", "peak_memory", "time", "rate", ...
  std::string unit = {};      // SI, as in JSON keys: "s", "bytes", "flop_per_s", ...
  double predicted = 0.0;
  double measured = 0.0;
  std::optional<report::Trust> trust = {};
  std::optional<evaluate::StepKind> kind = {};  // of a step
  // Of a step, in which it has no voice itself, or of a figure of a scenario that follows its step.
  std::optional<report::StepBand> band = {};
  std::string skipped = {};                  // why there is no prediction; empty when there is
  std::string suspicious = {};               // why the measurement may be wrong
  std::vector<std::string> notes = {};       // what the prediction had to assume
  std::optional<bool> match = {};            // exact cases: reproduced or not
  std::vector<std::string> mismatches = {};  // exact cases: what differs
  std::optional<bool> within = {};           // inside the tolerance that the data set states
  bool secondary = false;                    // not part of the overall statistics
  std::string format = {};                   // of its data set

  [[nodiscard]] double relative_error() const;  // 0 or 1 for exact cases

  [[nodiscard]] bool in_band() const {
    return band && measured >= band->low && measured <= band->high;
  }
};

struct Statistics {
  std::size_t n = 0;
  std::size_t skipped = 0;
  double mape = 0.0;
  double median = 0.0;
  double p90 = 0.0;
  double worst = 0.0;
  double bias = 0.0;
};

struct GroupStatistics {
  std::string name;
  std::string quantity;
  std::string format;
  bool secondary = false;
  Statistics all;
  Statistics without_suspicious;
};

struct Overall {
  Statistics all;
  Statistics without_suspicious;
  double mape_groups = 0.0;
  double mape_groups_without_suspicious = 0.0;
};

// What is known about groups that miss: read from row_remarks.yaml, printed beside their errors.
struct GroupRemark {
  std::string group;
  std::string remark;
};

struct Validation {
  std::vector<std::string> files;
  std::vector<ValidationRow> rows;      // in the order of the files
  std::vector<ValidationRow> unstated;  // measured steps once more, as a person would state them
  std::vector<GroupStatistics> groups;  // by format; of each, the main quantity first
  Overall overall;
  std::vector<GroupRemark> remarks;
  std::vector<std::string> notes;  // on the whole, from row_remarks.yaml
};

// Steps with a band, those that lie in it, and the mean of (high - low) / predicted.
struct BandCount {
  std::size_t steps = 0;
  std::size_t within = 0;
  double width = 0.0;
};

[[nodiscard]] BandCount band_count(const std::vector<ValidationRow>& rows);

// The steps with their errors, as a profile folder holds them.
[[nodiscard]] std::vector<evaluate::MeasuredStep> evidence_of(const Validation& validation);

// Of rows that repeat arithmetic from printed figures: no model stands behind them.
inline constexpr std::string_view kDerivedFigure = "derived figure";

// Rows whose data set states a tolerance, and those of them that are within it; derived figures
// apart.
struct ToleranceCount {
  std::size_t stated = 0;
  std::size_t within = 0;
  std::size_t derived = 0;
  std::size_t derived_within = 0;
};

[[nodiscard]] ToleranceCount tolerance_count(const std::vector<ValidationRow>& rows);

[[nodiscard]] Statistics statistics_of(const std::vector<const ValidationRow*>& rows);

// Fills groups and overall from the rows.
void summarize(Validation& validation);

}  // namespace orrery::validate
