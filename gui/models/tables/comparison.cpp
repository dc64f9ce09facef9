#include "gui/models/tables/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/tables/dashboard.hpp"
#include "gui/timeline/side_by_side.hpp"
#include "sim/answer/plan/change_error.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/scenario/table/fields.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::gui {

namespace {

constexpr auto kWithin = ", within error";

QString change_text(report::Dimension dimension, const report::Compared& cell) {
  if (!cell.change) {
    return {};
  }
  QString text = change_shown(dimension, *cell.change);
  if (cell.within_error) {
    return text + kWithin;
  }
  // Beyond ten times the first figure a percentage says nothing.
  constexpr double kMostRelative = 10.0;
  if (cell.relative && *cell.change != 0.0 && std::abs(*cell.relative) <= kMostRelative &&
      dimension != report::Dimension::fraction) {
    const QString sign = *cell.relative > 0.0 ? "+" : "−";
    text += " (" + sign + shown(report::Dimension::fraction, std::abs(*cell.relative)) + ")";
  }
  return text;
}

report::Figures figures_of(const Candidate& answered) {
  return answered.saved ? *answered.saved : report::figures_of(*answered.outcome->evaluation);
}

// A candidate that has a level.
struct Side {
  const Candidate* candidate;
  const timeline::Level* level;
};

std::vector<Side> sides_of(std::span<const Candidate> candidates, const std::string& level) {
  std::vector<Side> sides;
  for (const Candidate& candidate : candidates) {
    for (std::size_t i = 0; candidate.outcome && i < candidate.outcome->levels.size(); ++i) {
      if (candidate.outcome->levels[i].name == level) {
        sides.push_back({&candidate, &candidate.outcome->levels[i]});
      }
    }
  }
  return sides;
}

std::shared_ptr<const timeline::Store> store_of(const std::vector<Side>& sides,
                                                const std::stop_token& stop = {}) {
  timeline::SideBySide beside;
  for (const Side& side : sides) {
    if (stop.stop_requested()) {
      return nullptr;
    }
    beside.add(
        {side.candidate->title.toStdString(), side.level->store, side.level->store->range()});
  }
  return beside.build(stop);
}

Tone tone_of(std::string_view metric, double change) {
  const report::MetricInfo* info = report::find_metric(metric);
  const Tone tone = info != nullptr ? tone_of_change(info->id, change) : Tone::plain;
  return tone == Tone::plain || change == 0.0 ? Tone::strong : tone;
}

bool moves(report::Dimension dimension, const report::Compared& cell,
           const report::Compared& first) {
  return cell.value.has_value() != first.value.has_value() ||
         (cell.value && shown(dimension, *cell.value) != shown(dimension, *first.value));
}

// Less of anything is better, where predictions tell it apart.
Cell change_of_loss(report::Dimension dimension, const std::vector<report::Compared>& of,
                    std::size_t side) {
  if (side >= of.size() || !of[side].change) {
    return {};
  }
  const double change = *of[side].change;
  return moves(dimension, of[side], of[0])
             ? Cell{.text = change_shown(dimension, change),
                    .order = change,
                    .tone = of[side].within_error
                                ? Tone::plain
                                : tone_of_change(report::MetricId::step_time, change),
                    .dimension = dimension}
             : Cell{.text = "same", .order = 0.0, .tone = Tone::faint, .dimension = dimension};
}

std::vector<Cell> loss_cells(const report::LossRow& row, report::Dimension bill) {
  std::vector<Cell> cells = {{.text = qt(row.label)}};
  for (std::size_t i = 0; i < row.bill.size(); ++i) {
    const bool timed = i < row.time.size() && row.time[i].value;
    cells.push_back(timed ? number(report::Dimension::time, *row.time[i].value) : Cell{});
    if (i > 0) {
      cells.push_back(change_of_loss(report::Dimension::time, row.time, i));
      cells.push_back(change_of_loss(bill, row.bill, i));
    }
  }
  return cells;
}

}  // namespace

Table differing_keys_table(std::span<const Candidate> candidates) {
  Table table{"What they state", {"key"}, {}};
  std::vector<std::string> texts;
  for (const Candidate& candidate : candidates) {
    if (candidate.saved) {
      continue;  // a saved answer does not hold its scenario
    }
    table.heads.push_back(candidate.title);
    texts.push_back(candidate.outcome ? candidate.outcome->text : std::string());
  }
  for (const scenario::DifferingKey& key : scenario::differing_keys(texts)) {
    std::vector<Cell> row = {{.text = qt(key.key), .tone = Tone::strong}};
    for (const auto& value : key.values) {
      row.push_back(value ? Cell{.text = qt(*value)}
                          : Cell{.text = "not stated", .tone = Tone::faint});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

QString why_sentence(std::span<const Candidate> candidates, const Answers& answers) {
  if (candidates.size() < 2 || !candidates[0].answered() || !candidates[1].answered()) {
    return {};
  }
  const auto& figures = answers.figures;
  const auto& error = answers.errors[1];
  const QString change =
      qt(report::step_change_words(figures[0], figures[1], error)).replace('-', u'−');
  QStringList words;
  if (candidates[0].outcome && candidates[1].outcome) {
    const std::string texts[] = {candidates[0].outcome->text, candidates[1].outcome->text};
    for (const scenario::DifferingKey& key : scenario::differing_keys(texts)) {
      const auto value = [&](std::size_t side) {
        const auto silent = scenario::value_of(*candidates[side].outcome->scenario, key.key);
        return qt(key.values[side].value_or(silent.value_or("not stated")));
      };
      const QString name = qt(key.key).remove(".preset").section('.', -1).replace('_', ' ');
      if (name != "name") {  // which the tabs have
        words << QString("%1 %2 → %3").arg(name, value(0), value(1));
      }
    }
  }
  constexpr qsizetype kMostKeys = 3;
  if (const qsizetype more = words.size() - kMostKeys; more > 0) {
    words = words.first(kMostKeys) << QString("%1 more keys").arg(more);
  }
  const QString known = qt(report::error_words(figures[0], figures[1], error));
  return (change.isEmpty() || words.isEmpty() ? change : words.join(", ") + ": " + change) +
         (change.isEmpty() || known.isEmpty() ? "" : ". " + known);
}

std::optional<report::ChangeError> change_error(const EvaluationOutcome& from,
                                                const EvaluationOutcome& to) {
  Diagnostics ignored;
  return plan::change_error({*from.scenario, *from.evaluation}, {*to.scenario, *to.evaluation},
                            hardware::default_search(to.scenario->file), ignored);
}

Answers answers_of(std::span<const Candidate> candidates) {
  Answers answers;
  const EvaluationOutcome* first = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.answered()) {
      const EvaluationOutcome* outcome = candidate.saved ? nullptr : candidate.outcome.get();
      first = answers.figures.empty() ? outcome : first;
      answers.errors.push_back(
          first != nullptr && outcome != nullptr ? change_error(*first, *outcome) : std::nullopt);
      answers.figures.push_back(figures_of(candidate));
      constexpr qsizetype kMost = 16;  // so that the changes beside them are in sight
      const QString name = QString(candidate.title).remove(".yaml");
      answers.figures.back().name =
          (name.size() > kMost ? name.left(kMost - 1) + "…" : name).toStdString();
    }
  }
  return answers;
}

namespace {

// A column for each answer, and behind all but the first what it changes.
Table table_beside(const QString& title, const QString& first, const Answers& answers,
                   const std::vector<QString>& changes) {
  Table table{title, {first}, {}};
  for (const report::Figures& answer : answers.figures) {
    table.heads.push_back(qt(answer.name));
    if (table.heads.size() > 2) {
      table.heads.insert(table.heads.end(), changes.begin(), changes.end());
    }
  }
  return table;
}

}  // namespace

Table losses_table(const Answers& answers) {
  const report::Losses losses = report::losses_of(answers.figures, answers.errors);
  const bool priced = losses.bill == report::Dimension::dollars;
  Table table = table_beside("Where the difference comes from", "loss", answers,
                             {"of a step", priced ? "of the bill" : "of the run"});
  if (answers.figures.size() > 1 && !losses.rows.empty()) {
    table.rows.push_back(loss_cells(losses.all, losses.bill));
    // Of more than two their columns have no colour where it is so.
    const bool within = answers.figures.size() == 2 && losses.all.time[1].within_error;
    table.rows[0][0] = {.text = within ? "all, within error" : "all", .tone = Tone::strong};
    for (const report::LossRow& row : losses.rows) {
      table.rows.push_back(loss_cells(row, losses.bill));
    }
    add_rounding(table, 0);
  }
  return table;
}

Table differences_table(const Answers& answers) {
  Table table = table_beside("What comes out", "figure", answers, {"change"});
  for (const report::DifferenceRow& row : report::differences(answers.figures, answers.errors)) {
    const auto changed = [&row](const report::Compared& cell) {
      return moves(row.dimension, cell, row.values.front());
    };
    if (row.group != "metric" ||
        (row.values.size() > 1 &&
         std::none_of(row.values.begin() + 1, row.values.end(), changed))) {
      continue;
    }
    std::vector<Cell> cells = {{.text = spoken(row.name)}};
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const report::Compared& cell = row.values[i];
      cells.push_back(cell.value ? number(row.dimension, *cell.value) : Cell{});
      if (i > 0) {
        cells.push_back({.text = change_text(row.dimension, cell),
                         .order = cell.relative ? cell.relative : cell.change,
                         .tone = !changed(cell) ? Tone::faint
                                 : cell.within_error
                                     ? Tone::plain
                                     : tone_of(row.name, cell.change.value_or(0.0))});
      }
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

timeline::Levels timelines_beside(std::span<const Candidate> candidates, const std::string& level) {
  const std::vector<Side> sides = sides_of(candidates, level);
  if (sides.size() < 2) {
    return {};
  }
  return {{level, level, store_of(sides), {}, "the scenarios one below the other, from zero"}};
}

std::optional<timeline::Level> operations_beside(std::span<const Candidate> candidates,
                                                 const std::stop_token& stop) {
  const std::vector<Side> sides = sides_of(candidates, "operations");
  if (sides.size() < 2) {
    return std::nullopt;
  }
  std::int64_t length = 1;
  std::int64_t window = 1;
  for (const Side& step : sides_of(candidates, "step")) {
    length = std::max(length, step.level->store->range().end);
  }
  for (const Side& side : sides) {
    window = std::max(window, timeline::longest_window(*side.level));
  }
  auto store = store_of(sides, stop);
  if (stop.stop_requested() || !store) {
    return std::nullopt;
  }
  return timeline::Level{"operations",
                         "",
                         std::move(store),
                         timeline::Repetition({{{0, length}, 0}}, length),
                         "operations of the steps one below the other, from zero",
                         window};
}

}  // namespace orrery::gui
