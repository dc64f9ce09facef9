#pragma once

// Evaluates the text of a scenario on a worker thread: text -> EvaluationOutcome.
//
// The outcome holds everything that views need, immutable and shared, so that it outlives the
// text. A text with errors has an outcome without evaluation; `failure` is a sentence about the
// environment (a profile that cannot be read).

#include <QObject>
#include <QString>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "gui/timeline/store/store.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/sweep/answer.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::gui {

// Runs work on one background thread for the GUI thread; the newest request wins.
//
// start() asks the running task to stop and replaces the one waiting. The work gets a stop token
// and a function for its progress, and returns what is to be done with its result: that is called
// on the thread of this object, unless a newer request or cancel() came first. Errors of the work
// become failed(); an interruption becomes nothing.

class LatestTask : public QObject {
  Q_OBJECT

 public:
  using Report = std::function<void(std::int64_t done, std::int64_t all)>;
  using Delivery = std::function<void()>;
  using Work = std::function<Delivery(std::stop_token stop, const Report& report)>;

  explicit LatestTask(QObject* parent = nullptr);
  ~LatestTask() override;

  void start(Work work);

  // `produce(stop, report)` runs on the worker, `deliver(result)` on the thread of this object.
  template <typename Produce, typename Deliver>
  void run(Produce produce, Deliver deliver) {
    start([produce = std::move(produce), deliver = std::move(deliver)](
              const std::stop_token& stop, const Report& report) mutable {
      return Delivery([deliver, result = produce(stop, report)] { deliver(result); });
    });
  }

  void cancel();

  [[nodiscard]] bool running() const { return running_; }

 signals:
  void running_changed(bool running);
  void progressed(qint64 done, qint64 all);
  void cancelled();
  void failed(const QString& sentence);

 private:
  struct Request {
    Work work;
    std::uint64_t number = 0;
    std::stop_source stop;
  };

  void replace(std::optional<Request> by);  // what waits, and stops what runs
  void serve(const std::stop_token& end);
  void perform(Request& request);
  void deliver(std::uint64_t number, const Delivery& delivery, const QString& failure);
  void set_running(bool running);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<Request> waiting_;
  std::stop_source current_{std::nostopstate};
  std::uint64_t newest_ = 0;  // of the thread of the object
  bool running_ = false;      // likewise
  std::jthread worker_;
};

struct EvaluationRequest {
  std::string text;
  std::string file_name;  // for diagnostics and for files that the scenario names
  bool timelines = true;
  std::optional<std::int64_t> trials = {};
  std::uint32_t trial = 0;                 // whose timeline
  std::optional<double> trial_place = {};  // in its place
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

// An answer of sim/answer/sweep, which takes many evaluations: work for a thread of its own.

struct AnswerRequest {
  std::string answer;  // name, as in sweep::answer_names()
  std::string text;
  std::string file_name;
};

struct AnswerOutcome {
  AnswerRequest request;
  std::shared_ptr<const sweep::Answer> answer;  // null after errors
  Diagnostics diagnostics;
};

using AnswerPtr = std::shared_ptr<const AnswerOutcome>;

// On the calling thread. Throws Error.
[[nodiscard]] AnswerPtr answer_text(const AnswerRequest& request, const std::stop_token& stop = {},
                                    const LatestTask::Report& report = {});

}  // namespace orrery::gui
