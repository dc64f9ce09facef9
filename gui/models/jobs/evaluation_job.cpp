#include "gui/models/jobs/evaluation_job.hpp"

#include <utility>

#include "gui/timeline/store/evaluation_levels.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/base/error.hpp"
#include "sim/scenario/load.hpp"

namespace orrery::gui {

OutcomePtr evaluate_text(const EvaluationRequest& request, const std::stop_token& stop,
                         const LatestTask::Report& report) {
  auto outcome = std::make_shared<EvaluationOutcome>();
  outcome->text = request.text;
  outcome->file_name = request.file_name;
  try {
    auto scenario = scenario::load_text(request.text, request.file_name, outcome->diagnostics);
    if (!scenario) {
      return outcome;
    }
    outcome->scenario = std::make_shared<const scenario::Scenario>(*std::move(scenario));
    evaluate::EvaluateOptions options;
    options.timelines = request.timelines;
    options.trials = request.trials;
    options.operations = true;
    options.operation_timeline = request.timelines;
    options.search = evaluate::profile_search(request.file_name, {});
    options.stop = stop;
    options.progress = report;
    auto evaluation = evaluate::evaluate(*outcome->scenario, options, outcome->diagnostics);
    if (evaluation) {
      outcome->evaluation = std::make_shared<const report::Evaluation>(*std::move(evaluation));
      if (request.timelines) {
        const hardware::ClusterSpec& cluster = outcome->scenario->cluster;
        const double nics = static_cast<double>(cluster.network.nics_per_node) /
                            static_cast<double>(cluster.gpus_per_node);
        outcome->levels = timeline::levels_of(
            *outcome->evaluation, in_gigabytes_per_second(cluster.network.nic_rate * nics));
      }
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) {
      throw;
    }
    outcome->failure = QString::fromUtf8(error.what());
  }
  return outcome;
}

void EvaluationJob::request(EvaluationRequest request) {
  run([request = std::move(request)](
          const std::stop_token& stop,
          const LatestTask::Report& report) { return evaluate_text(request, stop, report); },
      [this](const OutcomePtr& outcome) { emit finished(outcome); });
}

}  // namespace orrery::gui
