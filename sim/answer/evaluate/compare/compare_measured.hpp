#pragma once

// Comparison of a measured step with the predicted one, category by category.
//
//   difference = measured - predicted, of a category per GPU and step
//   both columns add up to their step time; the differences add up to its difference
//
// symbol    | meaning                                                       | unit | origin
// ----------|---------------------------------------------------------------|------|-----------
// predicted | step time x share of the category, mean over the GPUs: of the | s    | evaluation
//           | job, or of the pipeline devices of the ranks that were traced |      |
// measured  | mean over the steps and ranks of the traces                   | s    | trace/
// error     | (predicted - measured) / measured of the step time            | 1    | computed
//
// Categories that kernel names do not distinguish share a row: compute with recomputation,
// messages of the pipeline with its bubble and imbalance. Kinds of kernels are compared beside
// them: predicted is the busiest pipeline device.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/trace/measured_trace.hpp"

namespace orrery::evaluate {

struct MeasuredRow {
  std::string_view key;    // as in JSON
  std::string_view label;  // for people
  Seconds predicted;
  Seconds measured;

  [[nodiscard]] Seconds difference() const { return measured - predicted; }
};

struct MeasuredComparison {
  trace::MeasuredMean measured;
  Seconds predicted_step;
  double error = 0.0;  // of the step time
  std::vector<MeasuredRow> ledger;
  std::vector<MeasuredRow> kernels;   // matrix multiplication, attention, the rest
  std::optional<std::string> stages;  // "pipeline devices 0 and 3": of the ranks that were traced
  std::string verdict;                // sentences: how far apart, and where most
  std::vector<std::string> notes;
};

// Degrees of the layout, for the axes of the collectives.
[[nodiscard]] trace::Degrees degrees_of(const report::Evaluation& evaluation);

// Pipeline device of a rank of the job.
[[nodiscard]] std::int64_t pipeline_device(const layout::Layout& layout, std::int64_t rank);

// A predicted step by the rows of a comparison, those with time; `measured` is empty.
[[nodiscard]] std::vector<MeasuredRow> predicted_rows(const step::StepLedger& ledger,
                                                      Seconds step_time);

// Nothing when the trace has no step of this name. The evaluation should hold the account by
// operation (EvaluateOptions::operations).
[[nodiscard]] std::optional<MeasuredComparison> compare_measured(
    const report::Evaluation& evaluation, const trace::MeasuredTrace& measured,
    const std::optional<std::string>& step = {});

// A screen each: the comparison; the measured step alone.
[[nodiscard]] std::string measured_comparison_text(const MeasuredComparison& comparison,
                                                   const trace::MeasuredTrace& measured);
[[nodiscard]] std::string measured_text(const trace::MeasuredTrace& measured,
                                        const trace::MeasuredMean& mean);

// Lines for a scenario: `measured:` with the step time.
[[nodiscard]] std::string measured_lines(const trace::MeasuredMean& mean);

}  // namespace orrery::evaluate
