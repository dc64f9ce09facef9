#pragma once

// The losses between the peak of the GPUs and their utilisation, as a waterfall that adds up.
//
//   step:  1 - sum over c of share(c) - kernels + mask == mfu
//          kernels = share(compute) - (mfu - mask);   mask = mfu - mfu_causal
//   run:   mfu - sum over r of mfu * share(r) == mfu * share(productive)
//
// symbol   | meaning                                                      | unit | origin
// ---------|--------------------------------------------------------------|------|-----------------
// share(c) | of the GPU time of a step, categories but compute            | 1    | step ledger
// kernels  | compute that runs below the dense peak of the data type      | 1    | here
// mask     | attention that MFU counts and causal kernels never compute   | 1    | metrics
// share(r) | of the GPU time of the run, spares included, but productive  | 1    | run ledger
//
// Each bar begins where the one before it ends, to the last bit; the first step row is the peak and
// the last one the metric. The second waterfall goes on where the first one ends: time of a run
// that trains nothing takes its share of the utilisation.

#include <string_view>
#include <vector>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

enum class UtilisationRowKind { total, loss, gain };

struct UtilisationRow {
  UtilisationRowKind kind = UtilisationRowKind::loss;
  std::string_view category;  // of a ledger, or "peak", "kernels", "mask", "mfu", "run"
  std::string_view label;     // for people
  double before = 0.0;        // of a total: 0
  double after = 0.0;
  double size = 0.0;  // |after - before|
};

// From the peak to the MFU of a step. Empty where the scenario states its step time, and before
// metrics are known; categories without time have no row.
[[nodiscard]] std::vector<UtilisationRow> step_utilisation_rows(const Evaluation& evaluation);

// From the MFU of a step to that of the whole run. Empty without a run.
[[nodiscard]] std::vector<UtilisationRow> run_utilisation_rows(const Evaluation& evaluation);

}  // namespace orrery::report
