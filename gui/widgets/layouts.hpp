#pragma once

// Rows, columns and splitters in one expression each, row({{name, 1}, button}, page), and widgets
// that several panels have.

#include <QAbstractItemView>
#include <QBoxLayout>
#include <QComboBox>
#include <QCompleter>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <functional>
#include <initializer_list>
#include <optional>

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

// What a name is, beside it.
class NamesList : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    const bool chosen = option.state.testFlag(QStyle::State_Selected);
    painter->setPen(
        option.palette.color(chosen ? QPalette::HighlightedText : QPalette::PlaceholderText));
    const QRect beside = option.rect.adjusted(kNames, 0, -4, 0);
    painter->drawText(beside, Qt::AlignVCenter,
                      option.fontMetrics.elidedText(index.data(Qt::ToolTipRole).toString(),
                                                    Qt::ElideRight, beside.width()));
  }

  static constexpr int kNames = 200;
};

// Names, some with what they are behind a tab.
inline void fill_names(QComboBox& box, const QStringList& names) {
  box.clear();
  for (const QString& name : names) {
    box.addItem(name.section('\t', 0, 0));
    box.setItemData(box.count() - 1, name.section('\t', 1), Qt::ToolTipRole);
  }
  box.view()->setMinimumWidth(names.join('\n').contains('\t') ? 3 * NamesList::kNames : 0);
}

// A list that takes a part of a name, wherever it stands in it; Return completes it.
inline QComboBox* names_box(QWidget* parent, const QStringList& names = {}) {
  auto* box = new QComboBox(parent);
  box->setEditable(true);
  box->setInsertPolicy(QComboBox::NoInsert);
  box->setItemDelegate(new NamesList(box));
  fill_names(*box, names);
  box->completer()->setCompletionMode(QCompleter::PopupCompletion);
  box->completer()->setFilterMode(Qt::MatchContains);
  QObject::connect(box->lineEdit(), &QLineEdit::returnPressed, box, [box] {
    const QString typed = box->currentText();
    const int begins = box->findText(typed, Qt::MatchStartsWith);
    const int at = begins < 0 ? box->findText(typed, Qt::MatchContains) : begins;
    if (!typed.isEmpty() && at >= 0 && box->findText(typed) < 0) {
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

// A text that may take several lines, and be copied.
inline QLabel* words_label(QWidget* parent, const QString& text = {}) {
  auto* label = new QLabel(text, parent);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

}  // namespace orrery::gui
