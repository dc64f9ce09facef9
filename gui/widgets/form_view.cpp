#include "gui/widgets/form_view.hpp"

#include <QCheckBox>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QRegularExpression>
#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <QTreeView>

#include "gui/widgets/layouts.hpp"

namespace orrery::gui {

class FormFilter : public QSortFilterProxyModel {
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

  void set(const QString& words, bool stated_only) {
    stated_only_ = stated_only;
    QString all;
    for (const QString& word : words.split(' ', Qt::SkipEmptyParts)) {
      all += "(?=.*" + QRegularExpression::escape(word) + ")";
    }
    setFilterRole(FormModel::kSearchRole);
    setFilterRegularExpression(
        QRegularExpression(all, QRegularExpression::CaseInsensitiveOption |
                                    QRegularExpression::DotMatchesEverythingOption));
  }

 protected:
  // Sections are shown for what is in them.
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
    const QModelIndex index = sourceModel()->index(row, 0, parent);
    return parent.isValid() && (!stated_only_ || index.data(FormModel::kStatedRole).toBool()) &&
           QSortFilterProxyModel::filterAcceptsRow(row, parent);
  }

 private:
  bool stated_only_ = false;
};

namespace {

// An arrow key opens the list, where it would otherwise take the next value at once.
class ListOpener : public QObject {
 public:
  using QObject::QObject;

  bool eventFilter(QObject* watched, QEvent* event) override {
    auto* box = qobject_cast<QComboBox*>(watched);
    if (box == nullptr || event->type() != QEvent::KeyPress) {
      return event->type() == QEvent::Wheel;
    }
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key != Qt::Key_Down && key != Qt::Key_Up && key != Qt::Key_F4) {
      return false;
    }
    box->showPopup();
    return true;
  }
};

class ValueEditor : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const override {
    const QStringList choices = index.data(FormModel::kChoicesRole).toStringList();
    if (choices.isEmpty()) {
      return QStyledItemDelegate::createEditor(parent, option, index);
    }
    auto* box = names_box(parent, choices);
    box->installEventFilter(new ListOpener(box));
    // Queued: the key that chose the value is still on its way.
    QObject::connect(
        box, &QComboBox::activated, box,
        [this, box] {
          auto* self = const_cast<ValueEditor*>(this);
          emit self->commitData(box);
          emit self->closeEditor(box);
        },
        Qt::QueuedConnection);
    return box;
  }

  void setEditorData(QWidget* editor, const QModelIndex& index) const override {
    const QString text = index.data(Qt::EditRole).toString();
    if (auto* box = qobject_cast<QComboBox*>(editor)) {
      // The index too: losing the focus would otherwise count as a choice.
      box->setCurrentIndex(box->findText(text));
      box->setEditText(text);
      box->lineEdit()->selectAll();
    } else if (auto* line = qobject_cast<QLineEdit*>(editor)) {
      line->setText(text);
      line->setPlaceholderText(index.data().toString());
      line->selectAll();
    }
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const bool takes = index.column() == FormModel::kTakes;
    if (takes || (index.parent().isValid() && !index.data(FormModel::kStatedRole).toBool())) {
      option->palette.setColor(QPalette::Text, option->palette.color(QPalette::PlaceholderText));
    }
    if (!index.parent().isValid() && index.column() == FormModel::kKey) {
      option->font.setBold(true);
    }
  }
};

}  // namespace

FormView::FormView(ScenarioDocument* document, QWidget* parent)
    : QWidget(parent), model_(document), filter_(new FormFilter(this)) {
  search_ = new QLineEdit(this);
  search_->setPlaceholderText("Search keys and their meaning, for example: spares");
  search_->setClearButtonEnabled(true);
  search_->setAccessibleName("Search keys");
  stated_only_ = new QCheckBox("Only what the &file states", this);
  help_ = new QLabel(this);
  help_->setWordWrap(true);
  help_->setTextFormat(Qt::RichText);
  help_->setAlignment(Qt::AlignTop);
  help_->setMinimumHeight(fontMetrics().height() * 7);
  help_->setText("Choose a key to read what it means. An empty value gives the default back.");
  tree_ = new QTreeView(this);
  filter_->setSourceModel(&model_);
  filter_->setRecursiveFilteringEnabled(true);
  tree_->setModel(filter_);
  tree_->setItemDelegate(new ValueEditor(tree_));
  tree_->setAccessibleName("Scenario as a form");
  tree_->setAlternatingRowColors(true);
  tree_->setUniformRowHeights(true);
  tree_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                         QAbstractItemView::AnyKeyPressed | QAbstractItemView::SelectedClicked);
  tree_->setContextMenuPolicy(Qt::CustomContextMenu);
  constexpr int kKeyWidth = 170;
  constexpr int kValueWidth = 140;
  tree_->header()->resizeSection(FormModel::kKey, kKeyWidth);
  tree_->header()->resizeSection(FormModel::kValue, kValueWidth);

  column({row({{search_, 1}, stated_only_}), {tree_, 1}, help_}, this, QMargins{6, 6, 6, 6});

  connect(search_, &QLineEdit::textChanged, this, &FormView::filter_changed);
  connect(search_, &QLineEdit::returnPressed, this, &FormView::edit_first);
  tree_->installEventFilter(this);
  connect(stated_only_, &QCheckBox::toggled, this, &FormView::filter_changed);
  connect(&model_, &QAbstractItemModel::modelReset, this, &FormView::filter_changed);
  connect(filter_, &QAbstractItemModel::rowsInserted, tree_, &QTreeView::expandAll);
  connect(&model_, &FormModel::refused, this, [this](const QString& sentence) {
    help_->setText("<b>Not changed.</b> " + sentence.toHtmlEscaped());
  });
  connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this, &FormView::describe);
  connect(tree_, &QWidget::customContextMenuRequested, this, &FormView::show_menu);
  stated_only_->setChecked(true);
}

void FormView::edit_key(const QString& key) {
  search_->setText(key);
  edit_first();
}

// Return in the search field edits the key that was found.
void FormView::edit_first() {
  // Who types a whole key means that one, though others speak of it.
  QModelIndex value = filter_->mapFromSource(model_.find(search_->text().trimmed()));
  if (!value.isValid()) {
    value = filter_->index(0, FormModel::kValue, filter_->index(0, 0));
  }
  tree_->setFocus();
  if (value.isValid()) {
    tree_->setCurrentIndex(value);
    tree_->edit(value);
  }
}

// F2 and Return edit the value whichever cell of the row the cursor is in.
bool FormView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress && tree_->hasFocus()) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    const QModelIndex current = tree_->currentIndex();
    if ((key == Qt::Key_F2 || key == Qt::Key_Return || key == Qt::Key_Enter) &&
        current.parent().isValid()) {
      const QModelIndex value = current.siblingAtColumn(FormModel::kValue);
      tree_->setCurrentIndex(value);
      tree_->edit(value);
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

void FormView::find() {
  search_->setFocus();
  search_->selectAll();
}

void FormView::filter_changed() {
  // Who searches looks for keys that are not there yet, too.
  const bool searching = !search_->text().trimmed().isEmpty();
  filter_->set(search_->text(), stated_only_->isChecked() && !searching);
  stated_only_->setEnabled(!searching);
  tree_->expandAll();
}

void FormView::describe(const QModelIndex& index) {
  const QString tip = index.data(Qt::ToolTipRole).toString();
  if (!tip.isEmpty()) {
    help_->setText(tip);
  }
}

void FormView::show_menu(const QPoint& place) {
  const QModelIndex index = tree_->indexAt(place);
  const QModelIndex key = filter_->mapToSource(index);
  if (!key.parent().isValid()) {
    return;
  }
  const QModelIndex value = key.siblingAtColumn(FormModel::kValue);
  QMenu menu;
  QAction* edit = menu.addAction("&Edit value", this, [this, index] {
    tree_->edit(index.siblingAtColumn(FormModel::kValue));
  });
  edit->setEnabled(value.flags().testFlag(Qt::ItemIsEditable));
  QAction* reset = menu.addAction("&Take away (default)", this,
                                  [this, value] { model_.setData(value, "", Qt::EditRole); });
  const int line = key.data(FormModel::kLineRole).toInt();
  reset->setEnabled(line > 0);
  QAction* show =
      menu.addAction("&Show in the text", this, [this, line] { emit line_wanted(line); });
  show->setEnabled(line > 0);
  menu.exec(tree_->viewport()->mapToGlobal(place));
}

}  // namespace orrery::gui
