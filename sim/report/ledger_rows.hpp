#pragma once

// Which lines does a ledger have when it is shown? One form for terminal, JSON and CSV.
//
//   share = GPU time of the category / GPU time of all;   dollars = price * billed GPU time
//
// symbol   | meaning                                                   | unit  | origin
// ---------|-----------------------------------------------------------|-------|-------------------
// category | name of the ledger, as in JSON and CSV                    | -     | step/, run/
// label    | the same for people, without jargon                       | -     | here
// gpu_time | of one step, or of the run as the mean over its trials    | GPU s | step/, run/
// dollars  | absent without a price                                    | $     | computed
//
// Spares that are not billed cost nothing; of the nodes in repair then only those are billed that
// the job misses, so that the dollars of the run add up to its cost.

#include <optional>
#include <string_view>
#include <vector>

#include "sim/report/evaluation.hpp"

namespace orrery::report {

struct LedgerRow {
  std::string_view category;
  std::string_view label;
  Seconds gpu_time;
  double share = 0.0;
  std::optional<Dollars> dollars;
};

// One row per category in the ledger's order, empty categories included.
[[nodiscard]] std::vector<LedgerRow> step_ledger_rows(const Evaluation& evaluation);

// Nothing when the scenario asks for no run.
[[nodiscard]] std::vector<LedgerRow> run_ledger_rows(const Evaluation& evaluation);

// One part of the peak memory of a stage.
struct MemoryTerm {
  std::string_view name;  // as in JSON and CSV, without the unit
  Bytes value;
};

[[nodiscard]] std::vector<MemoryTerm> memory_terms(const step::StageMemory& memory);

}  // namespace orrery::report
