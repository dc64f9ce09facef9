#pragma once

// Reads recorded traces and tabulates them, alone or against the prediction of a scenario: files ->
// TraceFiles -> TraceAnswer.
//
// Reading is done once and can be cancelled; the answer is recomputed whenever the scenario,
// its answer or the chosen step changes. Numbers are those of `orrery compare`: sim/answer/trace
// measures, sim/answer/evaluate compares.

#include <QStringList>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/jobs/latest_task.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/timeline/chrome/chrome_reader.hpp"
#include "sim/answer/evaluate/compare/compare_measured.hpp"
#include "sim/answer/trace/measured_trace.hpp"

namespace orrery::gui {

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
