#include "gui/models/jobs/plan_job.hpp"

#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "gui/models/form_model.hpp"
#include "gui/models/tables/table.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/plan/result/plan_report.hpp"
#include "sim/answer/plan/result/plan_words.hpp"
#include "sim/answer/plan/result/winner_file.hpp"
#include "sim/answer/plan/search/objective.hpp"
#include "sim/base/text/format.hpp"
#include "sim/scenario/plan_spec.hpp"
#include "sim/scenario/table/fields.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::gui {

namespace {

constexpr std::string_view kSearch = "plan.search.";
constexpr std::string_view kFix = "plan.fix";
constexpr std::string_view kObjective = "plan.objective";
constexpr auto kFixed = "fixed";

// Axes that say which cluster and which run; all others are of the layout.
constexpr std::array<std::string_view, 6> kOfTheRun = {"gpu",      "nodes",  "global_batch",
                                                       "interval", "spares", "spot_share"};

// Where the last part of the key does not say enough, or is an abbreviation.
struct Name {
  std::string_view key;
  const char* name;
};

constexpr Name kNames[] = {{"plan.any_stack", "beyond the stack"},
                           {"plan.constraints.memory_headroom", "free memory"},
                           {"plan.constraints.tensor_within_nvlink", "tensor in NVLink"},
                           {"plan.constraints.global_batch", "batch range"},
                           {"plan.constraints.gpus_at_most", "GPUs at most"},
                           {"plan.search.gpu", "GPU"},
                           {"plan.search.interval", "checkpoint interval"},
                           {"plan.gpu_hours", "price of a GPU-hour"}};

QString name_of(std::string_view key) {
  for (const Name& one : kNames) {
    if (one.key == key) {
      return one.name;
    }
  }
  return spoken(key.substr(key.rfind('.') + 1));
}

PlanOption::Group group_of(std::string_view path) {
  if (path.starts_with("plan.constraints.")) {
    return PlanOption::Group::constraint;
  }
  if (path == "plan.gpu_hours") {
    return PlanOption::Group::run;
  }
  if (!path.starts_with(kSearch)) {
    return PlanOption::Group::goal;
  }
  const std::string_view axis = path.substr(kSearch.size());
  const bool run = std::ranges::find(kOfTheRun, axis) != kOfTheRun.end();
  return run ? PlanOption::Group::run : PlanOption::Group::layout;
}

QString option_tip(const scenario::Field& field) {
  QString tip = tip_of(field);
  if (field.path == kObjective) {
    for (std::size_t i = 0; i < plan::kObjectiveNames.size(); ++i) {
      tip += QString("<br><i>%1:</i> %2")
                 .arg(qt(plan::kObjectiveNames[i]),
                      qt(plan::best_words(static_cast<plan::Objective>(i))));
    }
  }
  return tip;
}

// Words of a list in flow style.
QStringList words_of(const QString& list) {
  static const QRegularExpression kBetween("[\\[\\],\\s]+");
  return list.split(kBetween, Qt::SkipEmptyParts);
}

QStringList fixed_axes(const std::vector<scenario::Field>& fields) {
  for (const scenario::Field& field : fields) {
    if (field.path == kFix && field.stated) {
      return words_of(qt(*field.stated));
    }
  }
  return {};
}

bool is_option(const scenario::Field& field) {
  return field.path.starts_with("plan.") && field.path != kFix && field.path != "plan.tie";
}

// "1,2,4" as the list that the key takes.
QString list_of(const QString& typed) {
  return typed.startsWith('[') || typed == "auto" ? typed : "[" + typed + "]";
}

bool takes_list(std::string_view key) {
  return key.starts_with(kSearch) || key == "plan.gpu_hours" ||
         key == "plan.constraints.global_batch";
}

}  // namespace

std::vector<PlanOption> plan_options(const std::string& text) {
  const std::vector<scenario::Field> fields = scenario::fields_of(text);
  const QStringList fixed = fixed_axes(fields);
  std::vector<PlanOption> options;
  for (const scenario::Field& field : fields) {
    if (!is_option(field)) {
      continue;
    }
    PlanOption option;
    option.key = field.path;
    option.group = group_of(field.path);
    option.name = name_of(field.path);
    option.tip = option_tip(field);
    option.stated = field.stated.has_value();
    option.choices = qt(field.choices);
    const bool axis = field.path.starts_with(kSearch);
    if (axis && fixed.contains(qt(field.path).mid(static_cast<qsizetype>(kSearch.size())))) {
      option.without = kFixed;
      option.stated = true;
    } else if (field.stated) {
      option.without = qt(*field.stated);
    } else {
      option.without = qt(field.fallback.empty() ? field.note : field.fallback);
    }
    options.push_back(std::move(option));
  }
  std::ranges::stable_sort(options, {}, &PlanOption::group);
  // What counts is asked first.
  const auto goal = std::ranges::find(options, kObjective, &PlanOption::key);
  if (goal != options.end()) {
    std::rotate(options.begin(), goal, goal + 1);
  }
  return options;
}

std::vector<scenario::KeyValue> plan_changes(const std::string& text, const PlanChoices& choices) {
  std::vector<scenario::KeyValue> changes;
  QStringList fixed = fixed_axes(scenario::fields_of(text));
  const QStringList before = fixed;
  const auto add = [&changes](const std::string& key, const QString& value) {
    changes.push_back({key, value.toStdString(), {"the plan's options", 0, 0}});
  };
  for (const auto& [key, choice] : choices) {
    QString typed = choice.trimmed();
    if (typed.isEmpty()) {
      continue;
    }
    if (key.starts_with(kSearch)) {
      const QString axis = qt(key).mid(static_cast<qsizetype>(kSearch.size()));
      fixed.removeAll(axis);
      if (typed == kFixed) {
        fixed << axis;
        typed = "auto";
      }
    }
    add(key, takes_list(key) ? list_of(typed) : typed);
  }
  if (fixed != before) {
    add(std::string(kFix), "[" + fixed.join(", ") + "]");
  }
  return changes;
}

namespace {

using Clock = std::chrono::steady_clock;

// Reports at most ten times in a second, and adds the time that is left.
class Pace {
 public:
  explicit Pace(std::function<void(const PlanProgress&)> report) : report_(std::move(report)) {}

  void update(plan::Stage stage, std::int64_t done, std::int64_t all) {
    constexpr std::chrono::milliseconds kRefresh{100};
    const Clock::time_point now = Clock::now();
    const bool begins = std::exchange(stage_, stage) != stage;
    if (begins) {
      begin_ = now;
    } else if (now < next_ && done < all) {
      return;
    }
    next_ = now + kRefresh;
    PlanProgress progress{.stage = stage, .done = done, .all = all, .best = best};
    if (done > 0 && !begins) {
      const std::chrono::duration<double> past = now - begin_;
      progress.left =
          seconds(past.count() * static_cast<double>(all - done) / static_cast<double>(done));
    }
    if (report_) {
      report_(progress);
    }
  }

  std::optional<Seconds> best;  // step so far

 private:
  std::function<void(const PlanProgress&)> report_;
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

}  // namespace

QString progress_text(const PlanProgress& progress) {
  const bool search = progress.stage == plan::Stage::search;
  QString text = QString("%1: %2 of %3 %4")
                     .arg(search                                    ? "Searching"
                          : progress.stage == plan::Stage::simulate ? "Simulating runs"
                                                                    : "Ranking",
                          search && progress.done == progress.all
                              ? QString("the best")  // all are bounded, those near it are left
                              : qt(format_integer(progress.done)),
                          qt(format_integer(progress.all)), search ? "layouts" : "plans");
  if (progress.left && progress.done < progress.all) {
    text += ", " + qt(format_time(*progress.left)) + " left";
  }
  if (search && progress.best) {
    text += "; best step so far " + qt(format_time(*progress.best));
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
  question->progress = std::bind_front(&Pace::update, &pace);
  question->found = [&pace](Seconds step) { pace.best = step; };
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
  const auto rank = plan::rank_of(plan, request.proposal);
  const auto text =
      rank ? plan::winner_file(asked.text, plan, plan.finalists[*rank - 1], asked.file_name,
                               hardware::default_search(asked.file_name), diagnostics)
           : plan::proposal_file(asked.text, plan, request.proposal, asked.file_name, diagnostics);
  if (text) {
    return {qt(*text), {}};
  }
  return {{}, "This plan cannot be written as a scenario. " + problem_lines(diagnostics)};
}

QString save_plan_file(const plan::Plan& plan, const QString& path) {
  const QString ending = path.section('.', -1);
  return write_or_say(path, ending == "csv"   ? plan::to_csv(plan)
                            : ending == "txt" ? plan::to_text(plan, {})
                                              : plan::to_json(plan));
}

QString problem_lines(const Diagnostics& diagnostics) {
  QStringList lines;
  for (const Diagnostic& one : diagnostics.all()) {
    if (one.severity == Severity::error) {
      lines << told(one) + (one.allowed.empty() ? "" : " (" + qt(one.allowed) + ")");
    }
  }
  return lines.join('\n');
}

}  // namespace orrery::gui
