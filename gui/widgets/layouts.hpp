#pragma once

// Rows, columns and splitters in one expression each, row({{name, 1}, button}, page), and widgets
// that several panels have.

#include <QAbstractItemView>
#include <QBoxLayout>
#include <QComboBox>
#include <QCompleter>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStandardItemModel>
#include <QStyledItemDelegate>
#include <functional>
#include <initializer_list>
#include <optional>

#include "gui/charts/chart_parts.hpp"

namespace orrery::gui {

// What stands in a row or column: a widget or a layout, with its share of what is left, or room.
class Laid {
 public:
  Laid(QWidget* widget, int share = 0, Qt::Alignment side = {})
      : add_([=](QBoxLayout& to) { to.addWidget(widget, share, side); }) {}

  Laid(QLayout* layout, int share = 0)
      : add_([=](QBoxLayout& to) { to.addLayout(layout, share); }) {}

  static Laid rest(int share = 1) {
    return {[=](QBoxLayout& to) { to.addStretch(share); }};
  }

  static Laid gap(int pixels) {
    return {[=](QBoxLayout& to) { to.addSpacing(pixels); }};
  }

  void add_to(QBoxLayout& to) const { add_(to); }

 private:
  Laid(std::function<void(QBoxLayout&)> add) : add_(std::move(add)) {}

  std::function<void(QBoxLayout&)> add_;
};

using Parts = std::initializer_list<Laid>;

// Of `owner`, or to stand in another layout; margins and spacing of the style where none are given.
inline QBoxLayout* lay(QBoxLayout* layout, Parts parts, std::optional<QMargins> margins,
                       int spacing) {
  layout->setSpacing(spacing);
  if (margins) {
    layout->setContentsMargins(*margins);
  }
  for (const Laid& part : parts) {
    part.add_to(*layout);
  }
  return layout;
}

inline QBoxLayout* row(Parts parts, QWidget* owner = nullptr, std::optional<QMargins> margins = {},
                       int spacing = -1) {
  return lay(new QHBoxLayout(owner), parts, margins, spacing);
}

inline QBoxLayout* column(Parts parts, QWidget* owner = nullptr,
                          std::optional<QMargins> margins = {}, int spacing = -1) {
  return lay(new QVBoxLayout(owner), parts, margins, spacing);
}

// Widgets with borders to drag: their sizes at first, and which of them grow with the window.
inline QSplitter* split(Qt::Orientation along, std::initializer_list<QWidget*> widgets,
                        const QList<int>& sizes, std::initializer_list<int> growing,
                        QWidget* parent) {
  auto* splitter = new QSplitter(along, parent);
  for (QWidget* widget : widgets) {
    splitter->addWidget(widget);
  }
  for (const int index : growing) {
    splitter->setStretchFactor(index, 1);
  }
  splitter->setSizes(sizes);
  splitter->setChildrenCollapsible(false);
  return splitter;
}

// A name with what it is beside it, or the heading of a group, which nobody can choose.
class NamesList : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    const bool heading = !index.flags().testFlag(Qt::ItemIsEnabled);
    const bool chosen = option.state.testFlag(QStyle::State_Selected);
    QFont font = option.font;
    font.setBold(heading);
    painter->setFont(font);
    painter->setPen(option.palette.color(QPalette::Active, heading  ? QPalette::Text
                                                           : chosen ? QPalette::HighlightedText
                                                                    : QPalette::PlaceholderText));
    const QRect beside = option.rect.adjusted(heading ? 4 : kNames, 0, -4, 0);
    painter->drawText(beside, Qt::AlignVCenter,
                      option.fontMetrics.elidedText(index.data(Qt::ToolTipRole).toString(),
                                                    Qt::ElideRight, beside.width()));
  }

  static constexpr int kNames = 200;
  static constexpr int kSearchRole = Qt::UserRole;  // name, what it is, heading of its group
};

// Finds a part of a name, of what it is or of its heading; headings stay over what is left.
class NamesCompleter : public QCompleter {
 public:
  explicit NamesCompleter(QComboBox* box) : QCompleter(box->model(), box) {
    setCompletionRole(NamesList::kSearchRole);
    setCaseSensitivity(Qt::CaseInsensitive);
    setFilterMode(Qt::MatchContains);
    setMaxVisibleItems(box->maxVisibleItems());
    popup()->setItemDelegate(new NamesList(box));
    box->view()->installEventFilter(this);
  }

  [[nodiscard]] QString pathFromIndex(const QModelIndex& index) const override {
    return index.data().toString();
  }

  // Letters that are typed into the open list search as well. Down goes from the text to the first
  // name, not to its heading.
  bool eventFilter(QObject* watched, QEvent* event) override {
    const bool key = event->type() == QEvent::KeyPress;
    auto* box = static_cast<QComboBox*>(parent());
    const QString typed = key ? static_cast<QKeyEvent*>(event)->text() : QString();
    if (watched == box->view() && !typed.trimmed().isEmpty() && typed[0].isPrint()) {
      box->hidePopup();
      box->lineEdit()->selectAll();
      return QCoreApplication::sendEvent(box->lineEdit(), event);
    }
    const bool done = QCompleter::eventFilter(watched, event);
    const QModelIndex row = key ? popup()->currentIndex() : QModelIndex();
    if (done && row.isValid() && !row.flags().testFlag(Qt::ItemIsEnabled)) {
      popup()->setCurrentIndex(row.siblingAtRow(row.row() + 1));
    }
    return done;
  }
};

// Names, some with what they are behind a tab; without a name the heading of those that follow.
inline void fill_names(QComboBox& box, const QStringList& names) {
  box.clear();
  auto* rows = static_cast<QStandardItemModel*>(box.model());
  QStandardItem* heading = nullptr;
  for (const QString& name : names) {
    auto* row = new QStandardItem(name.section('\t', 0, 0));
    row->setToolTip(name.section('\t', 1));
    row->setData(name, NamesList::kSearchRole);
    if (name.startsWith('\t')) {
      heading = row;
      row->setEnabled(false);
    } else if (heading != nullptr) {
      row->setData(name + heading->toolTip(), NamesList::kSearchRole);
      heading->setData(heading->data(NamesList::kSearchRole).toString() + name,
                       NamesList::kSearchRole);
    }
    rows->appendRow(row);
  }
  const bool described = names.join('\n').contains('\t');
  box.view()->setMinimumWidth(described ? 3 * NamesList::kNames : NamesList::kNames);
  box.completer()->popup()->setMinimumWidth(box.view()->minimumWidth());
}

// A list that is searched by typing into it; Return takes a name that begins so, else one that has
// it, else one whose description or heading has it.
inline QComboBox* names_box(QWidget* parent, const QStringList& names = {}) {
  auto* box = new QComboBox(parent);
  box->setEditable(true);
  box->setInsertPolicy(QComboBox::NoInsert);
  box->setItemDelegate(new NamesList(box));
  box->setMaxVisibleItems(20);
  box->setCompleter(new NamesCompleter(box));
  fill_names(*box, names);
  QObject::connect(box->lineEdit(), &QLineEdit::returnPressed, box, [box] {
    const QString typed = box->currentText();
    if (typed.isEmpty() || box->findText(typed) >= 0) {
      return;
    }
    int at = box->findText(typed, Qt::MatchStartsWith);
    at = at < 0 ? box->findText(typed, Qt::MatchContains) : at;
    // The row of a heading has no name.
    for (int row = 0; at < 0 && box->completer()->setCurrentRow(row); ++row) {
      const QString name = box->completer()->currentCompletion();
      at = name.isEmpty() ? -1 : box->findText(name);
    }
    if (at >= 0) {
      box->setCurrentIndex(at);
      emit box->activated(at);
      emit box->textActivated(box->currentText());
    }
  });
  return box;
}

inline QPushButton* button(QWidget* parent, const QString& text, std::function<void()> act,
                           const QString& tip = {}) {
  auto* made = new QPushButton(text, parent);
  made->setToolTip(tip);
  QObject::connect(made, &QPushButton::clicked, parent, std::move(act));
  return made;
}

inline void show_progress(QProgressBar& bar, qint64 done, qint64 all) {
  bar.setRange(0, static_cast<int>(all));
  bar.setValue(static_cast<int>(done));
}

inline QLabel* heading(const QString& text, double size, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setFont(scaled(label->font(), size, true));
  label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  return label;
}

// A text that may take several lines, and be copied.
inline QLabel* words_label(QWidget* parent, const QString& text = {}) {
  auto* label = new QLabel(text, parent);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

}  // namespace orrery::gui
