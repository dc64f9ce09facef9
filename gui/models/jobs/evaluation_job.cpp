#include "gui/models/jobs/evaluation_job.hpp"

#include <exception>

#include "gui/timeline/store/evaluation_levels.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/base/error.hpp"
#include "sim/scenario/load.hpp"

namespace orrery::gui {

LatestTask::LatestTask(QObject* parent)
    : QObject(parent), worker_([this](const std::stop_token& end) { serve(end); }) {}

LatestTask::~LatestTask() {
  replace({});
  worker_.request_stop();
  worker_.join();
}

void LatestTask::start(Work work) {
  ++newest_;
  replace(Request{std::move(work), newest_, std::stop_source()});
  wake_.notify_one();
  set_running(true);
}

void LatestTask::replace(std::optional<Request> by) {
  const std::lock_guard lock(mutex_);
  current_.request_stop();
  waiting_ = std::move(by);
}

void LatestTask::cancel() {
  if (!running_) {
    return;
  }
  ++newest_;
  replace({});
  set_running(false);
  emit cancelled();
}

void LatestTask::serve(const std::stop_token& end) {
  while (true) {
    std::unique_lock lock(mutex_);
    if (!wake_.wait(lock, end, [this] { return waiting_.has_value(); })) {
      return;
    }
    Request request = std::move(*waiting_);
    waiting_.reset();
    current_ = request.stop;
    lock.unlock();
    perform(request);
  }
}

void LatestTask::perform(Request& request) {
  Delivery delivery;
  QString failure;
  const std::uint64_t number = request.number;
  const Report report = [this, number](std::int64_t done, std::int64_t all) {
    QMetaObject::invokeMethod(
        this,
        [this, number, done, all] {
          if (number == newest_) {
            emit progressed(done, all);
          }
        },
        Qt::QueuedConnection);
  };
  try {
    delivery = request.work(request.stop.get_token(), report);
  } catch (const Error& error) {
    failure = error.kind() == ErrorKind::interrupted ? QString() : qt(error.what());
  } catch (const std::exception& error) {
    failure = qt(error.what());
  }
  QMetaObject::invokeMethod(
      this, [this, number, delivery, failure] { deliver(number, delivery, failure); },
      Qt::QueuedConnection);
}

void LatestTask::deliver(std::uint64_t number, const Delivery& delivery, const QString& failure) {
  if (number != newest_) {
    return;
  }
  set_running(false);
  if (!failure.isEmpty()) {
    emit failed(failure);
  } else if (delivery) {
    delivery();
  }
}

void LatestTask::set_running(bool running) {
  if (running_ != running) {
    running_ = running;
    emit running_changed(running);
  }
}

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
    options.timeline_trial = request.trial;
    options.timeline_place = request.trial_place;
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
    outcome->failure = qt(error.what());
  }
  return outcome;
}

void EvaluationJob::request(EvaluationRequest request) {
  run([request = std::move(request)](
          const std::stop_token& stop,
          const LatestTask::Report& report) { return evaluate_text(request, stop, report); },
      [this](const OutcomePtr& outcome) { emit finished(outcome); });
}

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
