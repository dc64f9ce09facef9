#include "gui/models/comparison.hpp"

#include <cmath>
#include <utility>

#include "gui/models/text.hpp"
#include "gui/timeline/side_by_side.hpp"
#include "sim/report/difference.hpp"
#include "sim/scenario/stated_keys.hpp"

namespace orrery::gui {

namespace {

QString change_text(report::Dimension dimension, const report::Compared& cell) {
  if (!cell.change) {
    return {};
  }
  QString text = qt(report::format_change(dimension, *cell.change));
  // Beyond ten times the first figure a percentage says nothing.
  constexpr double kMostRelative = 10.0;
  if (cell.relative && *cell.change != 0.0 && std::abs(*cell.relative) <= kMostRelative &&
      dimension != report::Dimension::fraction) {
    const QString sign = *cell.relative > 0.0 ? "+" : "";
    text += " (" + sign + shown(report::Dimension::fraction, *cell.relative) + ")";
  }
  return text;
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

Table differences_table(std::span<const Candidate> candidates) {
  Table table{"What comes out", {"", "figure"}, {}};
  std::vector<report::ComparedAnswer> answers;
  for (const Candidate& candidate : candidates) {
    if (candidate.answered()) {
      answers.push_back(candidate.saved ? report::compared(*candidate.saved)
                                        : report::compared(*candidate.outcome->evaluation));
      table.heads.push_back(candidate.title);
      if (answers.size() > 1) {
        table.heads.emplace_back("change");
      }
    }
  }
  for (const report::DifferenceRow& row : report::differences(answers)) {
    std::vector<Cell> cells = {{.text = qt(row.group), .tone = Tone::faint},
                               {.text = row.group == "metric" ? spoken(row.name) : qt(row.name)}};
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const report::Compared& cell = row.values[i];
      cells.push_back(cell.value
                          ? Cell{.text = shown(row.dimension, *cell.value), .order = *cell.value}
                          : Cell{});
      if (i > 0) {
        const bool moved = cell.change && *cell.change != 0.0;
        cells.push_back({.text = change_text(row.dimension, cell),
                         .order = cell.relative ? cell.relative : cell.change,
                         .tone = moved ? Tone::strong : Tone::faint});
      }
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

timeline::Levels timelines_beside(std::span<const Candidate> candidates, const std::string& level) {
  timeline::SideBySide sides;
  int count = 0;
  for (const Candidate& candidate : candidates) {
    if (!candidate.outcome) {
      continue;
    }
    for (const timeline::Level& one : candidate.outcome->levels) {
      if (one.name == level) {
        sides.add({candidate.title.toStdString(), one.store, one.store->range()});
        ++count;
      }
    }
  }
  if (count < 2) {
    return {};
  }
  auto store = sides.build();
  return {{level, level, std::move(store), {}, "the scenarios one below the other, from zero"}};
}

}  // namespace orrery::gui
