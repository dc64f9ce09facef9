#include "gui/models/tables/table.hpp"

#include <QStringList>
#include <algorithm>
#include <filesystem>

#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/answer/report/text/printed_sum.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"

namespace orrery::gui {

QString shown(report::Dimension dimension, double value) {
  QString text = qt(report::format_value(dimension, value));
  if (dimension == report::Dimension::date) {
    constexpr qsizetype kMinutes = 16;  // 2024-05-25T03:10
    text = text.left(kMinutes).replace('T', ' ');
  }
  return text;
}

QString range_shown(report::Dimension dimension, double low, double high) {
  QString from = shown(dimension, low);
  const QString to = shown(dimension, high);
  const QString unit = to.section(' ', 1);
  if (from == to) {
    return to;
  }
  if (!unit.isEmpty() && unit[0].isLetter() && from.endsWith(' ' + unit)) {
    from.chop(unit.size() + 1);
  }
  return from + " to " + to;
}

QString change_shown(report::Dimension dimension, double change) {
  return qt(report::format_change(dimension, change)).replace('-', u'−').replace(" points", " pt");
}

QString files_title(const QStringList& paths) {
  const QString first = paths.value(0).section('/', -1);
  return paths.size() < 2 ? first : QString("%1 and %2 more").arg(first).arg(paths.size() - 1);
}

QString write_or_say(const QString& path, const std::string& bytes) {
  try {
    write_file_atomically(std::filesystem::path(path.toStdString()), bytes);
  } catch (const Error& error) {
    return qt(error.what());
  }
  return {};
}

QString spoken(std::string_view metric_name) {
  QStringList words = qt(metric_name).split('_');
  for (QString& word : words) {
    static const QStringList kShort = {"mfu", "hfu", "gpu", "p2p", "nic", "ettr"};
    word = kShort.contains(word) ? word.toUpper() : word == "gpus" ? "GPUs" : word;
  }
  return words.join(' ');
}

Cell number(report::Dimension dimension, double value) {
  return {.text = shown(dimension, value), .order = value, .dimension = dimension};
}

QString to_csv(const Table& table) {
  report::Table texts;
  for (const QString& head : table.heads) {
    texts.columns.push_back({head.toStdString()});
  }
  for (const auto& row : table.rows) {
    auto& cells = texts.rows.emplace_back();
    for (const Cell& cell : row) {
      cells.emplace_back(QString(cell.text).replace(u'−', '-').toStdString());
    }
  }
  return qt(report::to_csv(texts));
}

void add_rounding(Table& table, std::size_t whole) {
  std::vector<Cell> row = {{.text = "rounding", .tone = Tone::faint}};
  for (std::size_t column = 1; column < table.rows[whole].size(); ++column) {
    std::vector<std::string> parts;
    for (const std::vector<Cell>& cells : table.rows) {
      parts.push_back(column < cells.size() ? cells[column].text.toStdString() : std::string());
    }
    const std::string all = std::exchange(parts[whole], {});
    const auto dimension = table.rows[whole][column].dimension;
    row.push_back({.text = qt(report::rounding_text(dimension, parts, all)).replace('-', u'−'),
                   .tone = Tone::faint});
  }
  if (std::any_of(row.begin() + 1, row.end(), [](const Cell& c) { return !c.text.isEmpty(); })) {
    table.rows.push_back(std::move(row));
  }
}

bool is_numeric(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows, [column](const auto& row) {
    return column < row.size() && row[column].order.has_value();
  });
}

}  // namespace orrery::gui
