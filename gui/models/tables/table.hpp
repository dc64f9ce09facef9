#pragma once

// A table for a view: cells that are ready to be shown.
//
// Tables are made by answer_tables.hpp and comparison.hpp from an evaluation; views only show them.
// Sorting follows Cell::order where it is set, else the text.

#include <QString>
#include <QStringList>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/metrics.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::gui {

[[nodiscard]] inline QString qt(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

[[nodiscard]] inline QStringList qt(const std::vector<std::string>& texts) {
  QStringList all;
  for (const std::string& text : texts) {
    all << qt(text);
  }
  return all;
}

// What is wrong with which key, without its place.
[[nodiscard]] inline QString told(const Diagnostic& problem) {
  return qt(problem.key.empty() ? problem.message : problem.key + ": " + problem.message);
}

// As the terminal shows it; dates as "2024-05-25 03:10".
[[nodiscard]] QString shown(report::Dimension dimension, double value);

// "5.97 to 7.15 s": the unit once.
[[nodiscard]] QString range_shown(report::Dimension dimension, double low, double high);

// A change, with its sign: "−1.81 s", "+0.43 pt".
[[nodiscard]] QString change_shown(report::Dimension dimension, double change);

// "a.json", "a.json and 2 more".
[[nodiscard]] QString files_title(const QStringList& paths);

// Written atomically: a sentence, empty when it went well.
[[nodiscard]] QString write_or_say(const QString& path, const std::string& bytes);

// "finish date" for "finish_date".
[[nodiscard]] QString spoken(std::string_view metric_name);

enum class Tone { plain, strong, faint, good, bad, warning };

struct Cell {
  QString text = {};
  QString tip = {};
  std::optional<double> order = {};  // number behind the text; right-aligned when set
  Tone tone = Tone::plain;
  std::optional<double> bar = {};  // a share of one, drawn as a bar
  int hue = -1;                    // of the bar, a place in the colours of charts (hues.hpp)
  report::Dimension dimension = report::Dimension::count;  // of the number
};

// As the terminal shows it.
[[nodiscard]] Cell number(report::Dimension dimension, double value);

struct Table {
  QString title = {};
  std::vector<QString> heads = {};
  std::vector<std::vector<Cell>> rows = {};
};

// Any value of the column is a number: its head stands to the right, as they do.
[[nodiscard]] bool is_numeric(const Table& table, std::size_t column);

// Adds what the digits of the rows lack to add up to those of the row `whole`, where they lack any.
void add_rounding(Table& table, std::size_t whole);

// RFC 4180, with a header row; numbers as they are shown.
[[nodiscard]] QString to_csv(const Table& table);

}  // namespace orrery::gui
