#pragma once

// Compares scenarios: a table of the keys that differ, a table of the results that differ, and
// their timelines on one axis.

#include <QStringList>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/timeline/chrome/chrome_reader.hpp"
#include "sim/answer/evaluate/compare/compare_measured.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/trace/measured_trace.hpp"

namespace orrery::gui {

struct Candidate {
  QString title;
  OutcomePtr outcome;  // null: not evaluated yet, or a saved answer
  std::shared_ptr<const report::Figures> saved = {};

  [[nodiscard]] bool answered() const {
    return saved != nullptr || (outcome != nullptr && outcome->evaluation != nullptr);
  }
};

// Keys that they do not state alike, a column for each candidate.
[[nodiscard]] Table differing_keys_table(std::span<const Candidate> candidates);

// Those that have an answer, by their titles, cut short, and how far the change from the first to
// each may be off.
struct Answers {
  std::vector<report::Figures> figures;
  std::vector<std::optional<report::ChangeError>> errors;
};

// Between two outcomes with an answer.
[[nodiscard]] std::optional<report::ChangeError> change_error(const EvaluationOutcome& from,
                                                              const EvaluationOutcome& to);

[[nodiscard]] Answers answers_of(std::span<const Candidate> candidates);

// The second against the first: which keys change, what that does to the step, which row of its
// ledger changes most, and whether predictions tell that apart. Empty where there are no two.
[[nodiscard]] QString why_sentence(std::span<const Candidate> candidates, const Answers& answers);

// What each loss takes more or less than in the first, of a step and of the bill for the work of
// the first (report::losses_of); the first row is all of it. No rows where there are no two.
[[nodiscard]] Table losses_table(const Answers& answers);

// Metrics that differ: value of the first, value and change of every other.
[[nodiscard]] Table differences_table(const Answers& answers);

// The timelines of this level ("run" or "step") one below the other, all from zero; empty when
// fewer than two candidates have it.
[[nodiscard]] timeline::Levels timelines_beside(std::span<const Candidate> candidates,
                                                const std::string& level);

// The operations of these steps in the same way, the level within that of the steps; nothing when
// fewer than two candidates have them, or after a stop request. Millions of slices take seconds.
[[nodiscard]] std::optional<timeline::Level> operations_beside(
    std::span<const Candidate> candidates, const std::stop_token& stop = {});

// Reads recorded traces and tabulates them, alone or against the prediction of a scenario: files ->
// TraceFiles -> TraceAnswer.
//
// Reading is done once and can be cancelled; the answer is recomputed whenever the scenario,
// its answer or the chosen step changes. Numbers are those of `orrery compare`: sim/answer/trace
// measures, sim/answer/evaluate compares.

// What the files hold; each has a store. `problem` is a sentence when one of them is no use.
struct TraceFiles {
  std::vector<timeline::ReadResult> files;
  QString problem;
};

using TraceFilesPtr = std::shared_ptr<const TraceFiles>;

// On the calling thread; a file that cannot be opened is a problem. Throws Error(interrupted) after
// a stop request.
[[nodiscard]] TraceFilesPtr read_trace_files(const QStringList& paths,
                                             const std::stop_token& stop = {},
                                             const LatestTask::Report& report = {});

struct TraceQuestion {
  TraceFilesPtr files;
  OutcomePtr prediction;  // null: the trace alone
  QString prediction_title;
  std::optional<std::string> step;  // absent: all steps, drawn is the one of median length
};

struct TraceAnswer {
  trace::MeasuredTrace measured;
  std::optional<evaluate::MeasuredComparison> comparison;
  QString drawn_step;         // name of the step that `beside` shows
  timeline::Levels beside;    // measured ranks and the simulated step, from zero
  QString verdict;            // one or two sentences
  QString warning;            // what keeps the two from being compared
  std::vector<Table> tables;  // those that have rows
};

using TraceAnswerPtr = std::shared_ptr<const TraceAnswer>;

[[nodiscard]] TraceAnswerPtr trace_answer(const TraceQuestion& question);

}  // namespace orrery::gui
