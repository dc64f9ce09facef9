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
#include <utility>

#include "gui/charts/chart_parts.hpp"
#include "gui/models/plots/plot.hpp"
#include "gui/models/tables/answer_tables.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/window/theme.hpp"

namespace orrery::gui {

namespace {

enum Role { kOrderRole = Qt::UserRole, kToneRole, kBarRole, kHueRole };

QStandardItem* item_of(const Cell& cell) {
  auto* item = new QStandardItem(cell.text);
  item->setToolTip(cell.tip);
  item->setTextAlignment(Qt::AlignVCenter | (cell.order ? Qt::AlignRight : Qt::AlignLeft));
  if (cell.tone == Tone::strong) {
    QFont font;
    font.setBold(true);
    item->setFont(font);
  }
  item->setData(cell.order ? QVariant(*cell.order) : QVariant(cell.text), kOrderRole);
  item->setData(static_cast<int>(cell.tone), kToneRole);
  if (cell.bar) {
    item->setData(*cell.bar, kBarRole);
    item->setData(std::max(cell.hue, 0), kHueRole);
  }
  return item;
}

class CellPainter : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    const QVariant share = index.data(kBarRole);
    if (share.isValid()) {
      constexpr int kAir = 4;
      QRectF bar = option.rect.adjusted(kAir, kAir, -kAir, -kAir);
      bar.setWidth(std::max(1.0, bar.width() * std::clamp(share.toDouble(), 0.0, 1.0)));
      const int ink = index.data(kHueRole).toInt();
      painter->fillRect(bar, fill_of(hue(static_cast<std::size_t>(ink), is_dark(option.palette)),
                                     is_wait_hue(ink)));
    }
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const auto tone = static_cast<Tone>(index.data(kToneRole).toInt());
    option->palette.setColor(QPalette::Text, tone_color(tone, option->palette));
  }
};

}  // namespace

AnswerTable::AnswerTable(const QString& name, QWidget* parent) : QTableView(parent) {
  sorted_.setSourceModel(&model_);
  sorted_.setSortRole(kOrderRole);
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
  const bool reshaped = table.heads != table_.heads || table.rows.size() != table_.rows.size();
  if (reshaped) {
    model_.clear();  // else the selection stays, and the place
  }
  table_ = std::move(table);
  model_.setRowCount(static_cast<int>(table_.rows.size()));
  model_.setHorizontalHeaderLabels({table_.heads.begin(), table_.heads.end()});
  for (std::size_t column = 0; column < table_.heads.size(); ++column) {
    const auto at = static_cast<int>(column);
    if (is_numeric(table_, column)) {
      model_.horizontalHeaderItem(at)->setTextAlignment(Qt::AlignVCenter | Qt::AlignRight);
    }
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      const std::vector<Cell>& cells = table_.rows[row];
      model_.setItem(static_cast<int>(row), at,
                     item_of(column < cells.size() ? cells[column] : Cell{}));
    }
  }
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
    const bool bar = model_.rowCount() > 0 && model_.index(0, column).data(kBarRole).isValid();
    setColumnWidth(column, bar ? kBar : std::min(columnWidth(column) + 12, kWidest));
  }
  // A number far from its head belongs to nothing.
  const int last = model_.columnCount() - 1;
  const bool number = last >= 0 && is_numeric(table_, static_cast<std::size_t>(last));
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

void AnswerTable::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) {
    copy_selection();
  } else if (event->modifiers() == Qt::NoModifier && event->text().size() == 1 &&
             event->text()[0].isLetter()) {
    event->ignore();  // letters are the window's
  } else {
    QTableView::keyPressEvent(event);
  }
}

void AnswerTable::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu;
  menu.addAction("&Copy selected rows", this, [this] { copy_selection(); });
  menu.addAction("&Save table as CSV...", this, [this] {
    save_with_dialog(this, "Save table", table_.title, "CSV (*.csv)", [this](const auto& p) {
      return write_or_say(p, to_csv(table_).toStdString());
    });
  });
  menu.exec(event->globalPos());
}

std::vector<AnswerTable*> show_tables(QTabWidget& tabs, std::vector<Table> tables) {
  for (AnswerTable* view : tabs.findChildren<AnswerTable*>()) {
    if (std::ranges::none_of(
            tables, [view](const Table& table) { return table.title == view->objectName(); })) {
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

namespace {

constexpr std::size_t kButtons = 3;

QString words_of(const scenario::Fix& fix) {
  return fix.value.empty() ? QString("Write %1").arg(qt(fix.key))
                           : QString("Set %1 to %2").arg(qt(fix.key), qt(fix.value));
}

}  // namespace

ProblemsView::ProblemsView(QWidget* parent) : QWidget(parent) {
  table_ = new AnswerTable("Problems", this);
  bar_ = new QWidget(this);
  bar_label_ = new QLabel("Change:", bar_);
  buttons_ = row({bar_label_, Laid::rest()}, bar_, QMargins{6, 0, 6, 4});
  column({{table_, 1}, bar_}, this, QMargins{}, 4);
  bar_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  connect(table_, &AnswerTable::row_chosen, this, [this](int row) {
    const int index = row - failures_;
    if (index >= 0 && index < static_cast<int>(listed_.size())) {
      const SourceLocation& where = listed_[static_cast<std::size_t>(index)].where;
      emit line_wanted(where.line, where.column);
    }
  });
  connect(table_, &AnswerTable::row_marked, this, &ProblemsView::show_fixes);
}

void ProblemsView::set_outcome(const OutcomePtr& outcome) {
  outcome_ = outcome;
  listed_ = outcome ? outcome->diagnostics.all() : std::vector<Diagnostic>{};
  failures_ = outcome && !outcome->failure.isEmpty() ? 1 : 0;
  table_->set(problems_table(outcome ? outcome->diagnostics : Diagnostics(),
                             outcome ? outcome->failure : QString()));
  if (count() > 0) {
    table_->selectRow(0);
  }
  show_fixes(count() > 0 ? 0 : -1);
}

QString ProblemsView::summary() const {
  if (listed_.empty()) {
    return outcome_ ? outcome_->failure.toHtmlEscaped() : QString();
  }
  const Diagnostic& first = listed_.front();
  QStringList links;
  for (std::size_t i = 0; i < std::min(fixes_.size(), kButtons); ++i) {
    links << QString("<a href='%1'>%2</a>").arg(i).arg(words_of(fixes_[i]).toHtmlEscaped());
  }
  links << QString("<a href='-1'>%1</a>")
               .arg(count() == 1 ? QString("Show it") : QString("All %1 problems").arg(count()));
  return QString("<span style='color:%1'>Line %2: %3</span> %4")
      .arg(tone_color(Tone::bad, palette()).name())
      .arg(first.where.line)
      .arg(told(first).toHtmlEscaped(), links.join(" · "));
}

void ProblemsView::take_fix(int number) {
  emit fix_wanted(std::string(outcome_->text),
                  scenario::Fix(fixes_[static_cast<std::size_t>(number)]));
}

// Of this row, or what helps the first one that can be helped; a row without position has none.
void ProblemsView::show_fixes(int row) {
  fixes_.clear();
  const int index = row - failures_;
  if (outcome_ && index >= 0 && index < static_cast<int>(listed_.size())) {
    std::vector<Diagnostic> helped = listed_;
    std::rotate(helped.begin(), helped.begin() + index, helped.begin() + index + 1);
    for (auto one = helped.begin(); fixes_.empty() && one != helped.end(); ++one) {
      fixes_ = scenario::fixes_for(outcome_->text, outcome_->file_name, *one);
    }
  }
  for (QPushButton* button : bar_->findChildren<QPushButton*>()) {
    delete button;
  }
  QMenu* rest = nullptr;
  const auto add = [this](const QString& words) {
    auto* button = new QPushButton(words, bar_);
    button->setAutoDefault(true);
    buttons_->insertWidget(buttons_->count() - 1, button);
    return button;
  };
  for (std::size_t i = 0; i < fixes_.size(); ++i) {
    const auto fix = [this, i] { take_fix(static_cast<int>(i)); };
    if (i < kButtons) {
      QPushButton* button = add(words_of(fixes_[i]));
      button->setToolTip("Changes the text; Ctrl+Z takes it back");
      connect(button, &QPushButton::clicked, this, fix);
      continue;
    }
    if (rest == nullptr) {
      QPushButton* more = add("More");
      rest = new QMenu(more);
      more->setMenu(rest);
    }
    rest->addAction(words_of(fixes_[i]), this, fix);
  }
  bar_label_->setText(count() == 0 ? "The scenario has no problems." : "Change:");
  bar_->setVisible(count() == 0 || !fixes_.empty());
}

}  // namespace orrery::gui
