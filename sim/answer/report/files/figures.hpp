#pragma once

// The figures of an answer as rows, fresh from an evaluation or read back from what `orrery run
// --json` once wrote: tables and comparisons take either.
//
// symbol     | meaning                                                     | unit       | origin
// -----------|-------------------------------------------------------------|------------|-------
// value      | of a metric: point value or mean over the trials            | base units | answer
// p10..p90   | over the trials; absent where nothing varied                | base units | answer
//
// A saved answer does not hold its scenario, so nothing can be evaluated again.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/answer/report/text/ledger_rows.hpp"

namespace orrery::report {

struct MetricFigures {
  MetricId id = MetricId::step_time;
  double value = 0.0;
  std::optional<double> p10 = {};
  std::optional<double> p50 = {};
  std::optional<double> p90 = {};
};

struct StageFigures {
  Bytes peak;
  Bytes limit;
  std::vector<std::pair<std::string, Bytes>> terms;
};

struct LeverFigures {
  std::string change;
  Seconds finish_delta;
  std::optional<Dollars> cost_delta;
};

struct ExpectationFigures {
  std::string text;
  std::string verdict;
  std::string detail;
};

struct Figures {
  std::string name = {};
  std::string file = {};
  bool feasible = true;
  std::vector<std::string> reasons = {};
  std::vector<MetricFigures> metrics = {};  // in the order of the registry
  std::vector<LedgerRow> step_ledger = {};  // a row for each category; empty: none
  std::vector<LedgerRow> run_ledger = {};   // likewise
  std::vector<StageFigures> memory = {};
  std::vector<LeverFigures> levers = {};
  std::vector<ExpectationFigures> expectations = {};
  Diagnostics messages = {};

  [[nodiscard]] const MetricFigures* find(MetricId id) const;
  [[nodiscard]] std::optional<double> value(MetricId id) const;
};

[[nodiscard]] Figures figures_of(const Evaluation& evaluation);

}  // namespace orrery::report
