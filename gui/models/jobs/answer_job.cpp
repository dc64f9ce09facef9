#include "gui/models/jobs/answer_job.hpp"

#include <utility>

#include "sim/answer/evaluate/catalog.hpp"

namespace orrery::gui {

AnswerPtr answer_text(const AnswerRequest& request, const std::stop_token& stop,
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
  sweep::Team team;
  auto answer = sweep::answer(
      {.name = request.answer, .sweep = std::move(sweep), .stop = stop, .progress = report}, team,
      outcome->diagnostics);
  if (answer) {
    outcome->answer = std::make_shared<const sweep::Answer>(*std::move(answer));
  }
  return outcome;
}

}  // namespace orrery::gui
