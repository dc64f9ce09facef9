#include "gui/models/tables/table.hpp"

#include <QFont>
#include <algorithm>
#include <utility>

#include "gui/models/tables/text.hpp"
#include "sim/answer/report/table.hpp"

namespace orrery::gui {

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
  return std::any_of(table.rows.begin(), table.rows.end(), [column](const auto& row) {
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
