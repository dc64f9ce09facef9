#pragma once

// Evaluates the text of a scenario on a worker thread: text -> EvaluationOutcome.
//
// The outcome holds everything that views need, immutable and shared, so that it outlives the
// text. A text with errors has an outcome without evaluation; `failure` is a sentence about the
// environment (a profile that cannot be read).

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gui/models/jobs/latest_task.hpp"
#include "gui/timeline/store/levels.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::gui {

struct EvaluationRequest {
  std::string text;
  std::string file_name;  // for diagnostics and for files that the scenario names
  bool timelines = true;
  std::optional<std::int64_t> trials = {};
};

struct EvaluationOutcome {
  std::string text;
  std::string file_name;
  std::shared_ptr<const scenario::Scenario> scenario;
  std::shared_ptr<const report::Evaluation> evaluation;  // null after errors
  timeline::Levels levels;                               // for the timeline; empty unless asked for
  Diagnostics diagnostics;
  QString failure;
};

using OutcomePtr = std::shared_ptr<const EvaluationOutcome>;

// On the calling thread. Throws Error(interrupted) after a stop request; other errors of the
// environment are in the outcome.
[[nodiscard]] OutcomePtr evaluate_text(const EvaluationRequest& request,
                                       const std::stop_token& stop = {},
                                       const LatestTask::Report& report = {});

class EvaluationJob : public LatestTask {
  Q_OBJECT

 public:
  using LatestTask::LatestTask;

  void request(EvaluationRequest request);

 signals:
  void finished(const orrery::gui::OutcomePtr& outcome);
};

}  // namespace orrery::gui
