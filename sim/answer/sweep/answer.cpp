#include "sim/answer/sweep/answer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/answer/sweep/answer_rows.hpp"
#include "sim/answer/sweep/run_sweep.hpp"
#include "sim/base/check.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::sweep {

namespace {

struct Entry {
  AnswerName name;
  std::optional<Answer> (*find)(const Asking&);
};

constexpr std::array<Entry, 7> kAnswers = {{
    {{"checkpoint-interval", "how far apart should checkpoints be"}, best_checkpoint_interval},
    {{"spares", "how many spare nodes keep the wait for nodes short"}, enough_spares},
    {{"sync-async", "what is an asynchronous checkpoint worth"}, sync_against_async},
    {{"sensitivity", "what moves the end and the cost most"}, sensitivity},
    {{"finish-by", "how likely is it to be done by a date (--by)"}, done_by},
    {{"fan", "how far is the training at every date"}, progress_fan},
    {{"spot", "the price and the rate of preemptions up to which spot nodes pay"}, spot_break_even},
}};

}  // namespace

std::span<const AnswerName> answer_names() {
  static const std::array<AnswerName, kAnswers.size()> names = [] {
    std::array<AnswerName, kAnswers.size()> result{};
    std::transform(kAnswers.begin(), kAnswers.end(), result.begin(),
                   [](const Entry& entry) { return entry.name; });
    return result;
  }();
  return names;
}

bool shares_work(std::string_view answer) { return answer != "fan" && answer != "spot"; }

std::optional<Answer> answer(const Question& question, Team& team, Diagnostics& diagnostics) {
  const auto* entry = std::ranges::find_if(kAnswers, [&question](const Entry& candidate) {
    return candidate.name.name == question.name;
  });
  ORRERY_CHECK(entry != kAnswers.end(), "there is no answer `{}`", question.name);
  return entry->find({question, team, diagnostics});
}

std::string to_text(const Answer& answer, report::TextStyle style) {
  std::string text;
  for (const std::string& sentence : answer.sentences) {
    report::TextPage wrapped(style);
    wrapped.title(sentence);
    text += wrapped.text();
  }
  return text + (answer.sentences.empty() ? "" : "\n") +
         report::to_text(answer, report::TextPage(style));
}

std::string to_json(const Answer& answer) {
  Json facts = Json::object();
  for (const Fact& fact : answer.facts) {
    facts[fact.name] = report::json_of(fact.value);
  }
  return json_text({{"schema", kAnswerSchema},
                    {"answer", answer.name},
                    {"scenario", {{"file", answer.file}, {"sha256", answer.sha256}}},
                    {"sentences", answer.sentences},
                    {"facts", std::move(facts)},
                    {"rows", report::rows_json(answer)}});
}

std::optional<double> Rows::at(std::size_t point, std::string_view column) const {
  for (std::size_t i = 0; i < results[point].cells.size(); ++i) {
    if (sweep.columns[i].name == column) {
      return results[point].cells[i];
    }
  }
  return std::nullopt;
}

report::Cell Rows::cell(std::size_t point, std::string_view column) const {
  const auto value = at(point, column);
  return value ? report::Cell(*value) : report::Cell();
}

bool Rows::has(std::string_view column) const {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (at(i, column)) {
      return true;
    }
  }
  return false;
}

namespace {

void warn_of_memory(const Asking& asking) {
  const std::string& file = asking.question.sweep.base.file();
  const auto& all = asking.diagnostics.all();
  const bool said = std::ranges::any_of(
      all, [](const Diagnostic& one) { return one.message.starts_with("does not fit"); });
  if (!said) {
    asking.diagnostics.warning(
        {file, 0, 0}, {}, "does not fit in memory: the answer is that of GPUs with more of it");
  }
}

}  // namespace

std::optional<Rows> evaluate_rows(const Asking& asking, std::vector<Axis> axes,
                                  const std::vector<std::string>& operands) {
  Rows rows{asking.question.sweep, {}};
  rows.sweep.axes = std::move(axes);
  rows.sweep.columns.clear();
  for (const std::string& operand : operands) {
    rows.sweep.columns.push_back(column_of(operand));
  }
  auto points = make_points(rows.sweep.axes, {}, asking.diagnostics);
  if (points) {
    rows.sweep.points = *std::move(points);
    check_values(rows.sweep, asking.diagnostics);
  }
  if (asking.diagnostics.has_errors()) {
    return std::nullopt;
  }
  SweepOutcome outcome = run_sweep(rows.sweep, asking.team,
                                   {.threads = asking.question.threads,
                                    .stop = asking.question.stop,
                                    .for_all = true,
                                    .progress = asking.question.progress});
  if (!outcome.complete) {
    throw Error(ErrorKind::interrupted, "interrupted");
  }
  rows.results = std::move(outcome.results);
  const bool none_fits = std::ranges::all_of(rows.results, [](const PointResult& result) {
    return result.status == Status::does_not_fit;
  });
  if (none_fits && !rows.results.empty()) {
    warn_of_memory(asking);
  }
  const bool usable = std::ranges::any_of(
      rows.results, [](const PointResult& result) { return result.status != Status::invalid; });
  if (!usable) {
    PointEvaluator evaluator(rows.sweep);  // once more, for the places of what is wrong
    if (!evaluator.evaluation(0, 1, asking.question.stop, asking.diagnostics)) {
      return std::nullopt;
    }
  }
  return rows;
}

std::optional<Axis> axis_or(const Asking& asking, std::string_view key,
                            std::vector<std::string> values) {
  for (const Axis& axis : asking.question.sweep.axes) {
    if (axis.key.path == key) {
      return axis;
    }
  }
  return axis_of(key, std::move(values), {"--answer", 0, 0}, asking.diagnostics);
}

void add_extent_columns(const Rows& rows, Answer& answer) {
  const auto differs = [&rows](std::string_view column) {
    std::optional<double> first;
    bool result = false;
    for (std::size_t i = 0; i < rows.results.size(); ++i) {
      const auto value = rows.at(i, column);
      result = result || (first && value && *first != *value);
      first = first ? first : value;
    }
    return result;
  };
  if (differs("finish_time_s")) {
    answer.columns.push_back({"finish_time_s", "finish", report::Dimension::time});
  }
  if (differs("tokens_trained")) {
    answer.columns.push_back({"tokens_trained", "tokens", report::Dimension::count});
  }
}

bool states(const Asking& asking, std::string_view key) {
  Diagnostics told_elsewhere;
  const auto scenario = asking.question.sweep.base.with({}, told_elsewhere);
  return scenario && scenario->locations.contains(key);
}

void no_answer(const Asking& asking, std::string_view key, std::string_view why) {
  asking.diagnostics.error({asking.question.sweep.base.file(), 0, 0}, key,
                           fmt::format("{} has no answer here: {}", asking.question.name, why));
}

std::optional<report::Evaluation> evaluate_base(const Asking& asking,
                                                const PointEvaluator::Progress& progress) {
  Sweep base = asking.question.sweep;
  base.axes.clear();
  base.points = {{}};
  PointEvaluator evaluator(base);
  auto evaluation = evaluator.evaluation(0, asking.question.threads, asking.question.stop,
                                         asking.diagnostics, progress);
  if (evaluation && !evaluation->run) {
    no_answer(asking, "training", "the scenario asks for no run");
    return std::nullopt;
  }
  if (evaluation && !evaluation->feasible) {
    warn_of_memory(asking);
  }
  return evaluation;
}

Answer begin_answer(const Asking& asking) {
  Answer answer;
  answer.name = asking.question.name;
  answer.file = asking.question.sweep.base.file();
  answer.sha256 = asking.question.sweep.base.sha256();
  return answer;
}

}  // namespace orrery::sweep
