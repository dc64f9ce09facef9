#pragma once

// The figures of an answer as rows, fresh from an evaluation or read back from what `orrery run
// --json` once wrote, and the differences of several answers: tables and comparisons take either.
//
// symbol     | meaning                                                     | unit       | origin
// -----------|-------------------------------------------------------------|------------|-------
// value      | of a metric: point value or mean over the trials            | base units | answer
// p10..p90   | over the trials; absent where nothing varied                | base units | answer
//
// A saved answer does not hold its scenario, so nothing can be evaluated again.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"

namespace orrery::report {

struct MetricFigures {
  MetricId id = MetricId::step_time;
  double value = 0.0;
  std::optional<double> p10 = {};
  std::optional<double> p50 = {};
  std::optional<double> p90 = {};
  bool follows_step = false;  // in its scenario; of a saved answer nobody knows
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

// The differences of two or more answers, by metric and by ledger category, each from the first.
//
//   change = value - value of the first;   relative = change / |value of the first|
//
// Rows of the step ledger are in seconds of a step, those of the run ledger in dollars of the run,
// or in its time where it has no price: the GPU time of jobs of different size is not compared. A
// row "all" is what they add up to. A part of it is within error by less than the whole may be off.

// How far the predicted change from one answer to another may be off, of figures that follow the
// step (plan/change_error.hpp): of 10 such changes 8 are within it.
struct ChangeError {
  double relative = 0.0;  // of the smaller figure; 0: they share all of it
  std::string of = {};    // "layouts that differ in chunks"
};

// Of each answer against the first; may be empty, where nothing is known.
using ChangeErrors = std::span<const std::optional<ChangeError>>;

struct Compared {
  std::optional<double> value;     // point value or mean of the trials, as in metrics.hpp
  std::optional<double> change;    // nothing for the first
  std::optional<double> relative;  // likewise
  bool within_error = false;       // there is a change, but predictions do not tell it from none
};

struct DifferenceRow {
  std::string_view group;  // "metric", "step ledger", "run ledger"
  std::string_view name;   // of the metric, or the label of the category
  Dimension dimension = Dimension::count;
  std::vector<Compared> values;  // by evaluation
};

// Rows that at least one of them has, in the order of the registry and of the ledgers.
[[nodiscard]] std::vector<DifferenceRow> differences(std::span<const Figures> answers,
                                                     ChangeErrors errors = {});

// What each loss takes of a step, and of the bill for the work of the first answer:
//
//   time = share of the step · step time
//   bill = share of the run · cost · tokens of the first / tokens;   of a loss of the step
//          share of the run = share of training · share of the step
//
// Times add up to the change of the step, bills to what the same work costs more, or without prices
// takes longer.
struct LossRow {
  std::string_view label;
  std::vector<Compared> time = {};  // s, by answer; of what stands outside of steps: empty
  std::vector<Compared> bill = {};  // of Losses::bill; without a run: empty
};

struct Losses {
  Dimension bill = Dimension::dollars;  // or time, without prices
  std::vector<LossRow> rows = {};       // the largest change from the first to the second leads
  LossRow all = {};                     // what they add up to
};

[[nodiscard]] Losses losses_of(std::span<const Figures> answers, ChangeErrors errors = {});

// "-45.2 ms a step, within error; what changes most is pipeline bubble (-242 ms); -$372k for the
// same tokens"; empty where nothing changes.
[[nodiscard]] std::string step_change_words(const Figures& from, const Figures& to,
                                            const std::optional<ChangeError>& error = {});

// What a step must change by to be told apart; nothing without an error.
[[nodiscard]] std::optional<Seconds> step_error(const Figures& from, const Figures& to,
                                                const std::optional<ChangeError>& error);

// "8 of 10 predicted changes between layouts that differ in chunks are off by less than 7.9%, here
// 511 ms of a step"; empty without an error.
[[nodiscard]] std::string error_words(const Figures& from, const Figures& to,
                                      const std::optional<ChangeError>& error);

// With its sign, of a change: "+1.20 s", "-$3.1M", "+2.31 points" for fractions, "-1.5 d" for
// dates, "no change".
[[nodiscard]] std::string format_change(Dimension dimension, double change);

// The behaviour signature: one short hash over everything that the program answers.
//
//   text      = a line per metric, ledger category and memory peak of an evaluation:
//               "step_time_s 6.21340000", nine significant digits; quantiles over trials included
//   signature = the first 16 hexadecimal digits of SHA-256 over the texts
//
// Nine digits: what libm rounds differently on another platform in the last bits is no change of
// behaviour. Names, files, diagnostics and levers are not in it. Two versions with the same
// signature over the shipped scenarios answer alike on them; a commit that changes behaviour states
// the new one (CONTRIBUTING.md).

[[nodiscard]] std::string behaviour_text(const Evaluation& evaluation);

[[nodiscard]] std::string signature_of(std::string_view text);

}  // namespace orrery::report
