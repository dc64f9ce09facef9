#pragma once

// The rows of a ledger as they are shown: one form for terminal, JSON and CSV.
//
//   share = GPU time of the category / GPU time of all;   dollars = price * billed GPU time
//
// Price: of the whole bill per billed GPU-second, so that the dollars of the rows add up to the
// cost. Spares and nodes in repair cost nothing when they are not billed.

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/base/provenance.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::report {

struct LedgerRow {
  std::string_view category;  // name of the ledger, as in JSON and CSV
  std::string_view label;     // the same for people, without jargon
  Seconds gpu_time;           // of one step, or of the run as the mean over its trials
  double share = 0.0;
  std::optional<Dollars> dollars;  // absent without a price
};

// What a category is called for people.
[[nodiscard]] std::string_view label_of(step::StepCategory category);
[[nodiscard]] std::string_view label_of(run::RunCategory category);

// One row per category in the ledger's order, empty categories included.
[[nodiscard]] std::vector<LedgerRow> step_ledger_rows(const Evaluation& evaluation);

// Nothing when the scenario asks for no run.
[[nodiscard]] std::vector<LedgerRow> run_ledger_rows(const Evaluation& evaluation);

// Dollars of the whole bill per billed GPU-second, so that the rows of the run add up to its cost;
// nothing without prices.
[[nodiscard]] std::optional<DollarsPerSecond> mean_price(const Evaluation& evaluation);

// What training that was kept costs over the run; nothing without a run or prices.
[[nodiscard]] std::optional<Dollars> training_cost(const Evaluation& evaluation);

// What a step would take less without one of its causes, from the replays that its ledger rests on.
struct StepSaving {
  std::string_view change;  // "a pipeline without bubble"
  double share = 0.0;       // of the step
  std::vector<step::StepCategory> without = {};
};

// Those that save anything; none where the step time is given.
[[nodiscard]] std::vector<StepSaving> step_savings(const step::StepResult& step);

// What one cause took, mean per trial: lost work, recovery, waiting for nodes.
struct CauseRow {
  std::string_view cause;
  double events = 0.0;    // how often it struck
  double failures = 0.0;  // of these, those that ended the job: all rows add up to the metric
  Seconds gpu_time;
  std::optional<Dollars> dollars;
};

// Causes that struck, the one that took most GPU time first.
[[nodiscard]] std::vector<CauseRow> cause_rows(const Evaluation& evaluation);

// At most `most` rows (at least 1): the last one stands for all that have none, added up.
[[nodiscard]] std::vector<CauseRow> main_cause_rows(const Evaluation& evaluation, std::size_t most);

// One part of the peak memory of a stage.
struct MemoryTerm {
  std::string_view name;  // as in JSON and CSV, without the unit
  Bytes value;
};

[[nodiscard]] std::vector<MemoryTerm> memory_terms(const step::StageMemory& memory);

// Trust in the step time: its shares by the kind of source of the coefficients it rests on.
//
//   share(kind) = GPU time that rests on the kind / GPU time of the step
//
// The shares add up to 1 unless the step has no time at all.

struct Trust {
  // By kind: measured, published, datasheet, assumed, given
  std::array<double, kSourceKindCount> share{};
  double extrapolated = 0.0;  // used outside the range in which the coefficient was fitted
};

[[nodiscard]] Trust trust_of(const step::StepResult& step);

}  // namespace orrery::report
