#pragma once

// What did `orrery run --json` once answer? A saved answer read back, for looking at and comparing.
//
// Only what the file states is there: figures, ledgers, memory, levers, verdicts and messages. The
// scenario itself is not in it, so nothing can be evaluated again. Unknown keys are left alone;
// metrics and categories that this program does not know are left out.
//
// symbol     | meaning                                                     | unit       | origin
// -----------|-------------------------------------------------------------|------------|-------
// value      | of a metric: point value or mean over the trials            | base units | file
// p10..p90   | over the trials; absent where nothing varied                | base units | file

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/report/metrics.hpp"

namespace orrery::report {

struct SavedMetric {
  MetricId id = MetricId::step_time;
  double value = 0.0;
  std::optional<double> p10;
  std::optional<double> p50;
  std::optional<double> p90;
};

struct SavedLedgerRow {
  std::size_t category = 0;  // place in the ledger
  std::string_view label;
  Seconds gpu_time;
  double share = 0.0;
  std::optional<Dollars> dollars;
};

struct SavedStage {
  Bytes peak;
  Bytes limit;
  std::vector<std::pair<std::string, Bytes>> terms;
};

struct SavedLever {
  std::string change;
  Seconds finish_delta;
  std::optional<Dollars> cost_delta;
};

struct SavedExpectation {
  std::string text;
  std::string verdict;
  std::string detail;
};

struct SavedMessage {
  std::string severity;
  int line = 0;
  std::string key;
  std::string message;
};

struct SavedEvaluation {
  std::string name;
  std::string file;
  bool feasible = true;
  std::vector<std::string> reasons;
  std::vector<SavedMetric> metrics;  // in the order of the registry
  std::vector<SavedLedgerRow> step_ledger;
  std::vector<SavedLedgerRow> run_ledger;
  std::vector<SavedStage> memory;
  std::vector<SavedLever> levers;
  std::vector<SavedExpectation> expectations;
  std::vector<SavedMessage> messages;

  [[nodiscard]] const SavedMetric* find(MetricId id) const;
};

struct SavedReading {
  std::vector<SavedEvaluation> evaluations;  // one for each scenario of the file
  std::string problem;                       // a sentence; empty: read
};

[[nodiscard]] SavedReading read_saved_evaluations(std::string_view text);

// Does the text begin as a saved answer does?
[[nodiscard]] bool is_saved_evaluation(std::string_view text);

}  // namespace orrery::report
