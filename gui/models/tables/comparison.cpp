#include "gui/models/tables/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/tables/text.hpp"
#include "gui/timeline/side_by_side.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/scenario/table/fields.hpp"

namespace orrery::gui {

namespace {

QString change_text(report::Dimension dimension, const report::Compared& cell) {
  if (!cell.change) {
    return {};
  }
  QString text = change_shown(dimension, *cell.change);
  // Beyond ten times the first figure a percentage says nothing.
  constexpr double kMostRelative = 10.0;
  if (cell.relative && *cell.change != 0.0 && std::abs(*cell.relative) <= kMostRelative &&
      dimension != report::Dimension::fraction) {
    const QString sign = *cell.relative > 0.0 ? "+" : "−";
    text += " (" + sign + shown(report::Dimension::fraction, std::abs(*cell.relative)) + ")";
  }
  return text;
}

// With ledgers in seconds of a step and in dollars of the run (where there are no prices, in its
// time), which add up to a last row.
std::vector<report::DifferenceRow> rows_of(std::span<const report::Figures> answers) {
  using report::MetricId;
  std::vector<report::DifferenceRow> rows = report::differences(answers);
  const auto metric_of = [&rows](MetricId id) {
    return std::find_if(rows.begin(), rows.end(), [id](const report::DifferenceRow& row) {
      return row.group == "metric" && row.name == report::info(id).name;
    });
  };
  for (const auto& [group, ids] :
       {std::pair{"step ledger", std::vector{MetricId::step_time}},
        {"run ledger", std::vector{MetricId::cost, MetricId::finish_time}}}) {
    auto whole = rows.end();
    for (const MetricId id : ids) {
      whole = whole == rows.end() ? metric_of(id) : whole;
    }
    const auto in_group = [group = std::string_view(group)](const report::DifferenceRow& row) {
      return row.group == group;
    };
    const auto first = std::find_if(rows.begin(), rows.end(), in_group);
    if (whole == rows.end() || first == rows.end()) {
      continue;
    }
    report::DifferenceRow total = *whole;
    total.group = group;
    total.name = "all";
    auto row = first;
    for (; row != rows.end() && row->group == group; ++row) {
      row->dimension = total.dimension;
      for (std::size_t i = 0; i < row->values.size(); ++i) {
        report::Compared& cell = row->values[i];
        const std::optional<double> of = total.values[i].value;
        cell = {cell.value && of ? std::optional(*cell.value * *of) : std::nullopt, {}, {}};
        const std::optional<double> base = row->values.front().value;
        if (i > 0 && cell.value && base) {
          cell.change = *cell.value - *base;
        }
      }
    }
    rows.insert(row, std::move(total));
  }
  return rows;
}

// A candidate that has a level.
struct Side {
  const Candidate* candidate;
  const timeline::Level* level;
};

std::vector<Side> sides_of(std::span<const Candidate> candidates, const std::string& level) {
  std::vector<Side> sides;
  for (const Candidate& candidate : candidates) {
    if (!candidate.outcome) {
      continue;
    }
    for (const timeline::Level& one : candidate.outcome->levels) {
      if (one.name == level) {
        sides.push_back({&candidate, &one});
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

QString why_sentence(std::span<const Candidate> candidates) {
  std::vector<const report::Evaluation*> sides;
  std::vector<std::string> texts;
  for (const Candidate& candidate : candidates) {
    if (candidate.outcome && candidate.outcome->evaluation && sides.size() < 2) {
      sides.push_back(candidate.outcome->evaluation.get());
      texts.push_back(candidate.outcome->text);
    }
  }
  if (sides.size() < 2 || sides[0]->step.given || sides[1]->step.given) {
    return {};
  }
  constexpr std::size_t kMostKeys = 3;
  const auto keys = scenario::differing_keys(texts);
  QStringList words;
  for (std::size_t i = 0; i < std::min(kMostKeys, keys.size()); ++i) {
    const auto value = [&key = keys[i]](std::size_t side) {
      return key.values[side] ? qt(*key.values[side]) : QString("not stated");
    };
    words << QString("%1 %2 → %3").arg(qt(keys[i].key), value(0), value(1));
  }
  if (keys.size() > kMostKeys) {
    words << QString("%1 more keys").arg(keys.size() - kMostKeys);
  }
  const auto change = [](Seconds time) {
    return change_shown(report::Dimension::time, in_seconds(time));
  };
  const auto time_of = [](const report::Evaluation& side, step::StepCategory category) {
    return to_seconds(side.step.step_time) * side.step.ledger.share(category);
  };
  auto most = step::StepCategory::compute;
  Seconds largest;
  for (std::size_t c = 0; c < step::kStepCategories; ++c) {
    const auto category = static_cast<step::StepCategory>(c);
    const Seconds more = time_of(*sides[1], category) - time_of(*sides[0], category);
    if (std::abs(in_seconds(more)) > std::abs(in_seconds(largest))) {
      largest = more;
      most = category;
    }
  }
  if (words.isEmpty() || largest == Seconds{}) {
    return {};
  }
  const Seconds all = to_seconds(sides[1]->step.step_time) - to_seconds(sides[0]->step.step_time);
  return QString("%1: %2 a step, most of it %3 (%4).")
      .arg(words.join(", "), change(all), qt(report::label_of(most)), change(largest));
}

Table differences_table(std::span<const Candidate> candidates) {
  Table table{"What comes out", {"figure"}, {}};
  std::vector<report::Figures> answers;
  for (const Candidate& candidate : candidates) {
    if (candidate.answered()) {
      answers.push_back(candidate.saved ? *candidate.saved
                                        : report::figures_of(*candidate.outcome->evaluation));
      table.heads.push_back(candidate.title);
      if (answers.size() > 1) {
        table.heads.emplace_back("change");
      }
    }
  }
  for (const report::DifferenceRow& row : rows_of(answers)) {
    const auto moves = [&row](const report::Compared& cell) {
      return cell.value.has_value() != row.values.front().value.has_value() ||
             (cell.value &&
              shown(row.dimension, *cell.value) != shown(row.dimension, *row.values.front().value));
    };
    if (row.values.size() > 1 && std::none_of(row.values.begin() + 1, row.values.end(), moves)) {
      continue;
    }
    const bool metric = row.group == "metric";  // the others are rows of a ledger
    std::vector<Cell> cells = {
        {.text = metric ? spoken(row.name) : qt(row.group) + ": " + qt(row.name)}};
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const report::Compared& cell = row.values[i];
      cells.push_back(cell.value
                          ? Cell{.text = shown(row.dimension, *cell.value), .order = *cell.value}
                          : Cell{});
      if (i > 0) {
        cells.push_back({.text = change_text(row.dimension, cell),
                         .order = cell.relative ? cell.relative : cell.change,
                         .tone = moves(cell) ? Tone::strong : Tone::faint});
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
