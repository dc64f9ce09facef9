#pragma once

// Comparison of a measured step with the predicted one, category by category.
//
//   difference = measured - predicted, of a category per GPU and step
//   both columns add up to their step time; the differences add up to its difference
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
  // Step time x share of the category, mean over the GPUs: of the job, or of the pipeline devices
  // of the ranks that were traced
  Seconds predicted;
  Seconds measured;  // mean over the steps and ranks of the traces

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

// From the traces of a small job to the step of a larger one: what the model gets wrong here it is
// taken to get wrong there by the same factor, category by category.
//
//   there, projected = sum over rows of predicted(there) f,  f = measured(here) / predicted(here)
//
// symbol | meaning                                                       | unit | origin
// -------|---------------------------------------------------------------|------|-----------
// row    | categories as compare_measured.hpp puts them together         | s    | both steps
// f      | 1 where a row is less than kLeast of the step in either column here | 1 | computed
//
// What has no row of its own here (messages of a pipeline that was not there) rests on the model
// alone, and its share is said.

struct ProjectedRow {
  std::string_view key;
  std::string_view label;
  Seconds predicted;  // there
  double factor = 1.0;
  bool measured = false;  // the factor comes from the traces

  [[nodiscard]] Seconds projected() const { return predicted * factor; }
};

struct Projection {
  std::vector<ProjectedRow> rows;
  Seconds predicted;
  Seconds projected;
  double by_model = 0.0;  // share of the projected step whose rows have no measurement
  std::int64_t gpus = 0;
  bool feasible = true;
  double tokens_per_second = 0.0;
};

[[nodiscard]] Projection project_measured(const MeasuredComparison& here,
                                          const report::Evaluation& there);

[[nodiscard]] std::string projection_text(const Projection& projection,
                                          const std::vector<std::string>& changes);

}  // namespace orrery::evaluate
