#pragma once

// Where the time of a run went by its log, beside what the plan of the run gives to each cause, and
// what the next run should change. Every second of the log is in one row.
//
//   planned = n t              pace = n (m - t)         limping = n_l (m_l - m)
//   slow    = sum over kept steps of t_i - (the median in force)
//   between = wall - planned - pace - limping - slow - restarts - done again - went back
//
//   column of the plan: mean GPU time of its categories / GPUs * n t / its productive time
//
// symbol  | meaning                                                      | unit | origin
// --------|--------------------------------------------------------------|------|----------
// n, n_l  | steps that were kept; of these, since steps have been slower | 1    | log
// t       | step as predicted                                            | s    | step/
// t_i     | step as logged                                               | s    | log
// m, m_l  | median of the steps before they became slower, and since     | s    | log
// wall    | from the first step of the log to the last                   | s    | log
//
// Advice by closed forms of the theory (run/theory/theory.hpp) with what the log shows in place of
// what the plan assumed:
//
//   M = (wall - restarts) / number of restarts, give or take 1 / sqrt(number)
//   interval = optimal_interval(C, M),    its gain = first order of the waste, plan's less this one
//   spares   = repair_load with M
//
// A log holds no causes: a restart after a failure and one by hand are the same.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/base/units.hpp"

namespace orrery::evaluate {

// From the first step of a log to the last.
struct LoggedRun {
  Seconds wall;
  double steps = 0.0;         // kept
  Seconds trained;            // sum of their times
  Seconds median;             // before they became slower
  double slower_steps = 0.0;  // since then; 0: they did not
  std::int64_t slower_from = 0;
  Seconds slower_median;
  std::int64_t restarts = 0;
  Seconds out_of_work;       // between the last step before and the first one after
  Seconds done_again;        // steps that restarts lost
  std::int64_t rewinds = 0;  // steps were lost without a restart
  Seconds rewound;           // their pause, and steps that were done again
};

struct PostMortemRow {
  std::string_view key;
  std::string label;
  std::optional<std::int64_t> count;  // how often
  Seconds logged;
  std::optional<Seconds> planned;  // absent: the plan has no run
};

struct Advice {
  std::string key;  // of a scenario, or of a row
  std::string text;
  std::optional<Seconds> saved;  // of the time of the log
  std::optional<Dollars> dollars;
};

struct PostMortem {
  std::vector<PostMortemRow> rows;  // their times add up to `wall`
  Seconds wall;
  Seconds over_plan;                      // wall - that of the plan for the same steps
  std::optional<DollarsPerSecond> price;  // of the job
  std::vector<Advice> advice;
};

[[nodiscard]] PostMortem post_mortem(const LoggedRun& log, const report::Evaluation& plan);

[[nodiscard]] report::Table table_of(const PostMortem& found);

}  // namespace orrery::evaluate
