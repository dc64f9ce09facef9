#include "gui/models/jobs/plan_job.hpp"

#include <chrono>
#include <filesystem>
#include <utility>

#include "gui/models/tables/text.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/plan/result/plan_report.hpp"
#include "sim/answer/plan/result/winner_file.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::gui {

namespace {

using Clock = std::chrono::steady_clock;

// Reports at most ten times in a second, and adds the time that is left.
class Pace {
 public:
  using Report = std::function<void(const PlanProgress&)>;

  explicit Pace(Report report) : report_(std::move(report)) {}

  void update(plan::Stage stage, std::int64_t done, std::int64_t all) {
    constexpr std::chrono::milliseconds kRefresh{100};
    const Clock::time_point now = Clock::now();
    const bool begins = !stage_ || *stage_ != stage;
    if (begins) {
      stage_ = stage;
      begin_ = now;
    } else if (now < next_ && done < all) {
      return;
    }
    next_ = now + kRefresh;
    PlanProgress progress{stage, done, all};
    if (done > 0 && !begins) {
      const std::chrono::duration<double> past = now - begin_;
      progress.left =
          seconds(past.count() * static_cast<double>(all - done) / static_cast<double>(done));
    }
    report_(progress);
  }

 private:
  Report report_;
  std::optional<plan::Stage> stage_;
  Clock::time_point begin_;
  Clock::time_point next_;
};

std::optional<plan::PlanQuestion> question_for(const PlanRequest& request,
                                               Diagnostics& diagnostics) {
  auto base = scenario::ScenarioTemplate::from_text(request.text, request.file_name, diagnostics);
  auto question =
      base ? plan::question_of(*std::move(base), request.changes, diagnostics) : std::nullopt;
  if (question) {
    question->search = evaluate::profile_search(request.file_name, {});
    question->pareto = request.pareto;
    question->trials = request.trials;
  }
  return question;
}

const plan::Finalist* finalist_of(const plan::Plan& plan, const plan::Proposal& proposal) {
  for (const plan::Finalist& finalist : plan.finalists) {
    if (finalist.proposal.tag == proposal.tag) {
      return &finalist;
    }
  }
  return nullptr;
}

}  // namespace

QString progress_text(const PlanProgress& progress) {
  QString text;
  const char* unit = "plans";
  switch (progress.stage) {
    case plan::Stage::search:
      text = "Searching";
      unit = "layouts";
      break;
    case plan::Stage::simulate:
      text = "Simulating with failures";
      break;
    case plan::Stage::rank:
      text = "Ranking";
      break;
  }
  text += QString(": %1 of %2 %3")
              .arg(qt(format_integer(progress.done)), qt(format_integer(progress.all)), unit);
  if (progress.left && progress.done < progress.all) {
    text += ", " + qt(format_time(*progress.left)) + " left";
  }
  return text;
}

PlanPtr plan_text(const PlanRequest& request, const std::stop_token& stop,
                  const std::function<void(const PlanProgress&)>& report) {
  auto outcome = std::make_shared<PlanOutcome>();
  outcome->request = request;
  auto question = question_for(request, outcome->diagnostics);
  if (!question) {
    return outcome;
  }
  question->stop = stop;
  Pace pace(report);
  if (report) {
    question->progress = [&pace](plan::Stage stage, std::int64_t done, std::int64_t all) {
      pace.update(stage, done, all);
    };
  }
  auto plan = plan::make_plan(*question, outcome->diagnostics);
  if (plan) {
    outcome->plan = std::make_shared<const plan::Plan>(*std::move(plan));
  }
  return outcome;
}

void PlanJob::request(PlanRequest request) {
  keep_ = std::stop_source();
  const std::uint64_t number = ++newest_;
  const auto report = [this, number](const PlanProgress& progress) {
    QMetaObject::invokeMethod(
        this,
        [this, number, progress] {
          if (number == newest_ && running()) {
            emit advanced(progress);
          }
        },
        Qt::QueuedConnection);
  };
  run(
      [request = std::move(request), keep = keep_, report](const std::stop_token& stop,
                                                           const LatestTask::Report&) mutable {
        const std::stop_callback dropped(stop, [&keep] { keep.request_stop(); });
        return plan_text(request, keep.get_token(), report);
      },
      [this](const PlanPtr& outcome) { emit finished(outcome); });
}

void PlanJob::keep_best() { keep_.request_stop(); }

PlanFile plan_file(const PlanFileRequest& request) {
  const PlanRequest& asked = request.outcome->request;
  const plan::Plan& plan = *request.outcome->plan;
  Diagnostics diagnostics;
  const plan::Finalist* finalist = finalist_of(plan, request.proposal);
  const auto text =
      finalist != nullptr
          ? plan::winner_file(asked.text, plan, *finalist, asked.file_name,
                              hardware::default_search(asked.file_name), diagnostics)
          : plan::proposal_file(asked.text, plan, request.proposal, asked.file_name, diagnostics);
  if (text) {
    return {qt(*text), {}};
  }
  return {{}, "This plan cannot be written as a scenario. " + problem_lines(diagnostics)};
}

QString save_plan_file(const plan::Plan& plan, const QString& path) {
  const std::filesystem::path file(path.toStdString());
  const std::string ending = file.extension().string();
  try {
    write_file_atomically(file, ending == ".csv"   ? plan::to_csv(plan)
                                : ending == ".txt" ? plan::to_text(plan, {})
                                                   : plan::to_json(plan));
  } catch (const Error& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}

QString problem_lines(const Diagnostics& diagnostics) {
  QString lines;
  for (const Diagnostic& one : diagnostics.all()) {
    if (one.severity != Severity::error) {
      continue;
    }
    lines += (lines.isEmpty() ? "" : "\n") + (one.key.empty() ? "" : qt(one.key) + ": ") +
             qt(one.message) + (one.allowed.empty() ? "" : " (" + qt(one.allowed) + ")");
  }
  return lines;
}

}  // namespace orrery::gui
