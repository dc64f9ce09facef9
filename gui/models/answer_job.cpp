#include "gui/models/answer_job.hpp"

#include <utility>

#include "sim/evaluate/catalog.hpp"

namespace orrery::gui {

AnswerPtr answer_text(const AnswerRequest& request,
                      const std::stop_token& stop,
                      const LatestTask::Report& report) {
  auto outcome = std::make_shared<AnswerOutcome>();
  outcome->request = request;
  auto base =
      scenario::ScenarioTemplate::from_text(request.text, request.file_name, outcome->diagnostics);
  if (!base) {
    return outcome;
  }
  sweep::Sweep sweep{.base = *std::move(base),
                     .axes = {},
                     .points = {},
                     .columns = sweep::all_columns(),
                     .search = evaluate::profile_search(request.file_name, {})};
  sweep::ThreadCrew crew;
  auto answer = sweep::answer(
      {.name = request.answer, .sweep = std::move(sweep), .stop = stop, .progress = report},
      crew,
      outcome->diagnostics);
  if (answer) {
    outcome->answer = std::make_shared<const sweep::Answer>(*std::move(answer));
  }
  return outcome;
}

AnswerJob::AnswerJob(QObject* parent) : QObject(parent) {
  connect(&task_, &LatestTask::running_changed, this, &AnswerJob::running_changed);
  connect(&task_, &LatestTask::progressed, this, &AnswerJob::progressed);
  connect(&task_, &LatestTask::cancelled, this, &AnswerJob::cancelled);
  connect(&task_, &LatestTask::failed, this, &AnswerJob::failed);
}

void AnswerJob::request(AnswerRequest request) {
  task_.start([this, request = std::move(request)](const std::stop_token& stop,
                                                   const LatestTask::Report& report) {
    AnswerPtr outcome = answer_text(request, stop, report);
    return LatestTask::Delivery([this, outcome] { emit finished(outcome); });
  });
}

void AnswerJob::cancel() {
  task_.cancel();
}

bool AnswerJob::running() const {
  return task_.running();
}

}  // namespace orrery::gui
