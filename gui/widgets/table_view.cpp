#include "gui/widgets/table_view.hpp"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFileDialog>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QMessageBox>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QTabWidget>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "gui/charts/chart_colors.hpp"
#include "gui/models/plots/hues.hpp"
#include "gui/widgets/window/theme.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"

namespace orrery::gui {

namespace {

class CellPainter : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    const QVariant share = index.data(TableModel::kBarRole);
    if (share.isValid()) {
      constexpr int kAir = 4;
      QRectF bar = option.rect.adjusted(kAir, kAir, -kAir, -kAir);
      bar.setWidth(std::max(1.0, bar.width() * std::clamp(share.toDouble(), 0.0, 1.0)));
      const int ink = index.data(TableModel::kHueRole).toInt();
      painter->fillRect(bar, fill_of(hue(static_cast<std::size_t>(ink), is_dark(option.palette)),
                                     is_wait_hue(ink)));
    }
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const auto tone = static_cast<Tone>(index.data(TableModel::kToneRole).toInt());
    option->palette.setColor(QPalette::Text, tone_color(tone, option->palette));
  }
};

}  // namespace

AnswerTable::AnswerTable(const QString& name, QWidget* parent) : QTableView(parent) {
  sorted_.setSourceModel(&model_);
  sorted_.setSortRole(TableModel::kOrderRole);
  setModel(&sorted_);
  setItemDelegate(new CellPainter(this));
  setAccessibleName(name);
  setObjectName(name);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setAlternatingRowColors(true);
  setShowGrid(false);
  setWordWrap(false);
  verticalHeader()->hide();
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  setSortingEnabled(true);
  horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  sorted_.sort(-1);
  connect(this, &QTableView::activated, this,
          [this](const QModelIndex& index) { emit row_chosen(sorted_.mapToSource(index).row()); });
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const auto& now) {
    if (now.isValid()) {
      emit row_marked(sorted_.mapToSource(now).row());
    }
  });
}

void AnswerTable::set(Table table) {
  const bool reshaped = table.heads != model_.table().heads || model_.table().rows.empty();
  model_.set(std::move(table));
  if (reshaped) {
    fit_columns();
  }
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
}

void AnswerTable::fit_columns() {
  constexpr int kWidest = 640;
  constexpr int kBar = 140;
  resizeColumnsToContents();
  for (int column = 0; column < model_.columnCount(); ++column) {
    const bool bar =
        model_.rowCount() > 0 && model_.index(0, column).data(TableModel::kBarRole).isValid();
    setColumnWidth(column, bar ? kBar : std::min(columnWidth(column) + 12, kWidest));
  }
  // A number far from its head belongs to nothing.
  const int last = model_.columnCount() - 1;
  const bool number = last >= 0 && is_numeric(model_.table(), static_cast<std::size_t>(last));
  horizontalHeader()->setStretchLastSection(!number);
}

void AnswerTable::mark_row(int row) {
  if (row < 0) {
    selectionModel()->clear();
    return;
  }
  const QModelIndex at = sorted_.mapFromSource(model_.index(row, 0));
  if (at.row() != currentIndex().row() || !selectionModel()->isRowSelected(at.row())) {
    setCurrentIndex(at);
    selectRow(at.row());
  }
}

void AnswerTable::copy_selection() const {
  QString text;
  QModelIndexList rows = selectionModel()->selectedRows();
  std::sort(rows.begin(), rows.end());
  for (const QModelIndex& row : rows) {
    for (int column = 0; column < sorted_.columnCount(); ++column) {
      text += (column == 0 ? "" : "\t") + sorted_.index(row.row(), column).data().toString();
    }
    text += '\n';
  }
  QApplication::clipboard()->setText(text);
}

QString AnswerTable::save_csv(const QString& path) const {
  return write_or_say(path, to_csv(model_.table()).toUtf8());
}

void AnswerTable::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) {
    copy_selection();
    return;
  }
  QTableView::keyPressEvent(event);
}

void AnswerTable::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu;
  menu.addAction("&Copy selected rows", this, [this] { copy_selection(); });
  menu.addAction("&Save table as CSV...", this, [this] {
    save_with_dialog(this, "Save table", model_.table().title, "CSV (*.csv)",
                     [this](const auto& p) { return save_csv(p); });
  });
  menu.exec(event->globalPos());
}

std::vector<AnswerTable*> show_tables(QTabWidget& tabs, std::vector<Table> tables) {
  for (AnswerTable* view : tabs.findChildren<AnswerTable*>()) {
    if (std::none_of(tables.begin(), tables.end(),
                     [view](const Table& table) { return table.title == view->objectName(); })) {
      delete view;
    }
  }
  std::vector<AnswerTable*> made;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    auto* view = tabs.findChild<AnswerTable*>(tables[i].title);
    if (view == nullptr) {
      view = made.emplace_back(new AnswerTable(tables[i].title, &tabs));
      tabs.insertTab(static_cast<int>(i), view, tables[i].title);
    }
    view->set(std::move(tables[i]));
  }
  return made;
}

QString write_or_say(const QString& path, const QByteArray& bytes) {
  try {
    write_file_atomically(std::filesystem::path(path.toStdString()), bytes.toStdString());
  } catch (const Error& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}

void save_with_dialog(QWidget* parent, const QString& what, const QString& name,
                      const QString& filters,
                      const std::function<QString(const QString& path)>& save) {
  QString chosen;
  QString path = QFileDialog::getSaveFileName(parent, what, name, filters, &chosen);
  if (path.isEmpty()) {
    return;
  }
  if (!path.section('/', -1).contains('.')) {
    path += chosen.section("(*", 1).section(')', 0, 0).section(' ', 0, 0);
  }
  const QString problem = save(path);
  if (!problem.isEmpty()) {
    QMessageBox::warning(parent, what, problem);
  }
}

}  // namespace orrery::gui
