#pragma once

// The reason why one answer is behind another: their ledgers compared in the unit of the objective.
//
//   amount(c) = objective * GPU time of category c / GPU time of all categories that count
//   sum over c of (amount(c) of one - amount(c) of the other) = difference of the objectives
//
// objective      | unit              | categories that count
// ---------------|-------------------|-----------------------------------------------------------
// step_time      | s                 | those of the step
// finish_time    | s                 | those of the run without spares and repair; the productive
//                |                   | time is split as the step is
// cost, energy   | $, kWh            | all of the run, split likewise
// cost_per_token | $ per 1M tokens   | the same
// fewest_gpus    | s of finish time  | as finish_time
//
// What explains a category is a fact of the layout: "+0.42 s bubble: 16 stages for 8
// micro-batches".

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/scenario/plan_spec.hpp"
#include "sim/step/layout/layout_spec.hpp"

namespace orrery::plan {

// Categories of the step, then those of the run.
inline constexpr std::size_t kRunCategories = static_cast<std::size_t>(run::RunCategory::count_);
inline constexpr std::size_t kAccountParts = step::kStepCategories + kRunCategories;

struct Account {
  double total = 0.0;
  std::array<double, kAccountParts> parts{};
};

// All zero when the evaluation has no such objective (no run, no price).
[[nodiscard]] Account account_of(const report::Evaluation& evaluation, Objective objective);

// What the sentences need to know beside the evaluation.
struct Facts {
  std::string recompute;  // as in the scenario
  std::int64_t nvlink_domain = 1;
  std::int64_t spares = 0;
  std::string checkpoints;  // "every 30 min"; empty: none are saved
};

struct Contestant {
  const report::Evaluation& evaluation;
  const Facts& facts;
};

// One category of the difference, the largest first.
struct LedgerChange {
  std::string_view category;  // short, for people
  double change = 0.0;        // of the other against the winner, unit of the objective
  std::string because;        // a fact of the other's layout; may be empty
};

// Changes that matter: at least a quarter of the largest one, at most three.
[[nodiscard]] std::vector<LedgerChange> ledger_changes(Objective objective,
                                                       const Contestant& winner,
                                                       const Contestant& other);

// "+0.42 s bubble: 16 stages for 8 micro-batches; -0.10 s tensor communication".
[[nodiscard]] std::string reason(Objective objective, const Contestant& winner,
                                 const Contestant& other);

}  // namespace orrery::plan
