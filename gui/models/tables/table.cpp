#include "gui/models/tables/table.hpp"

#include <QFont>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/table.hpp"
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
  return {.text = shown(dimension, value), .order = value};
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

bool is_numeric(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows, [column](const auto& row) {
    return column < row.size() && row[column].order.has_value();
  });
}

void TableModel::set(Table table) {
  const bool same_shape =
      table.rows.size() == table_.rows.size() && table.heads == table_.heads && !table.rows.empty();
  if (same_shape) {
    // Views keep their selection and their place.
    table_ = std::move(table);
    emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    return;
  }
  beginResetModel();
  table_ = std::move(table);
  endResetModel();
}

int TableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.rows.size());
}

int TableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.heads.size());
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  const auto& row = table_.rows[static_cast<std::size_t>(index.row())];
  const auto column = static_cast<std::size_t>(index.column());
  if (column >= row.size()) {
    return {};
  }
  const Cell& cell = row[column];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole:
      return cell.text;
    case Qt::ToolTipRole:
      return cell.tip.isEmpty() ? QVariant() : QVariant(cell.tip);
    case Qt::TextAlignmentRole:
      return QVariant(Qt::AlignVCenter | (cell.order ? Qt::AlignRight : Qt::AlignLeft));
    case Qt::FontRole: {
      QFont font;
      font.setBold(cell.tone == Tone::strong);
      return font;
    }
    case kOrderRole:
      return cell.order ? QVariant(*cell.order) : QVariant(cell.text);
    case kToneRole:
      return static_cast<int>(cell.tone);
    case kHueRole:
      return cell.hue >= 0 ? QVariant(cell.hue) : QVariant();
    case kBarRole:
      return cell.bar ? QVariant(*cell.bar) : QVariant();
    default:
      return {};
  }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  const auto column = static_cast<std::size_t>(section);
  if (orientation != Qt::Horizontal || column >= table_.heads.size()) {
    return {};
  }
  if (role == Qt::TextAlignmentRole && is_numeric(table_, column)) {
    return QVariant(Qt::AlignVCenter | Qt::AlignRight);
  }
  return role == Qt::DisplayRole ? QVariant(table_.heads[column]) : QVariant();
}

}  // namespace orrery::gui
