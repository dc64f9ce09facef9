#pragma once

// The answer in one sentence, and its standing from fine to impossible.
//
//   share of a loss of the step in the run = its share of the step * productive share of the run
//
// standing   | when
// -----------|-------------------------------------------------------------------------------------
// impossible | does not fit in memory, or most trials of the run gave up before its end
// bad        | some trials gave up, or less than half of the GPU time trained what was kept
// tight      | fits, but less memory stays free than a predicted peak may be wrong by
// fine       | none of these

#include <optional>
#include <string>
#include <string_view>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

enum class Standing { fine, tight, bad, impossible };

// Where GPU time goes that trains nothing.
struct Loss {
  std::string_view category;  // of the ledger of the step or the run
  std::string_view label;
  double share = 0.0;    // of the GPU time of the run, or of the step where no run was asked for
  bool assumed = false;  // a constant that nobody has measured for this stack
  std::optional<Dollars> dollars;
};

// The category of step and run that takes most; nothing where nothing is lost.
[[nodiscard]] std::optional<Loss> largest_loss(const Evaluation& evaluation);

// MFU by the convention that tells most: where attention dominates, the causal one, since the other
// counts a half of it that nobody computes.
struct Utilisation {
  MetricId id = MetricId::mfu;
  std::string_view name;  // "MFU", "causal MFU"
};

[[nodiscard]] Utilisation headline_utilisation(const Evaluation& evaluation);

struct Outcome {
  Standing standing = Standing::fine;
  std::string brief;     // "fits tightly"
  std::string reason;    // "fits tightly: 1.64 GiB stay free of 79.6 GiB, ..."
  std::string headline;  // "10.9T tokens in 54 d for $53.9M at 41.6% MFU"
  std::string sentence;  // "10.9T tokens in 54 d for $53.9M at 41.6% MFU; largest loss: ..."
};

[[nodiscard]] Outcome outcome_of(const Evaluation& evaluation);

[[nodiscard]] std::string_view to_string(Standing standing);

// What the run takes and costs is then that of a run that does not end.
[[nodiscard]] bool mostly_gave_up(const Evaluation& evaluation);

// "199 of 200 trials gave up (horizon)"
[[nodiscard]] std::string gave_up_text(const Evaluation& evaluation);

}  // namespace orrery::report
