#include "gui/widgets/window/document_tabs.hpp"

#include <QAction>
#include <QSignalBlocker>
#include <QToolBar>

namespace orrery::gui {

DocumentTabs::DocumentTabs(QWidget* parent) : QTabWidget(parent), bar_(new QTabBar(parent)) {
  tabBar()->hide();
  setFocusPolicy(Qt::NoFocus);  // else the focus goes to the bar that is hidden
  setFocusProxy(nullptr);
  setDocumentMode(true);
  bar_->setDocumentMode(true);
  bar_->setDrawBase(false);
  bar_->setExpanding(false);
  bar_->setTabsClosable(true);
  bar_->setMovable(true);
  bar_->setElideMode(Qt::ElideMiddle);
  bar_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);  // all of its line
  bar_->setAccessibleName("Open pages");
  connect(this, &QTabWidget::currentChanged, bar_, &QTabBar::setCurrentIndex);
  connect(bar_, &QTabBar::currentChanged, this, &QTabWidget::setCurrentIndex);
  connect(bar_, &QTabBar::tabCloseRequested, this, &QTabWidget::tabCloseRequested);
  connect(bar_, &QTabBar::tabMoved, this,
          [this](int from, int to) { tabBar()->moveTab(from, to); });
}

// That of the page that is shown: the others do not keep the window large.
QSize DocumentTabs::minimumSizeHint() const {
  constexpr int kLeastWidth = 160;
  return {kLeastWidth, count() > 0 ? currentWidget()->minimumSizeHint().height() : 0};
}

QToolBar* DocumentTabs::tool_bar() {
  auto* holder = new QToolBar("Pages", parentWidget());
  holder->setObjectName("Pages");
  holder->setMovable(false);
  holder->toggleViewAction()->setVisible(false);
  holder->addWidget(bar_);
  return holder;
}

void DocumentTabs::setTabText(int index, const QString& text) {
  QTabWidget::setTabText(index, text);
  bar_->setTabText(index, text);
}

void DocumentTabs::setTabToolTip(int index, const QString& text) {
  QTabWidget::setTabToolTip(index, text);
  bar_->setTabToolTip(index, text);
}

void DocumentTabs::tabInserted(int index) {
  QTabWidget::tabInserted(index);
  const QSignalBlocker silent(bar_);
  bar_->insertTab(index, tabText(index));
  bar_->setCurrentIndex(currentIndex());
}

void DocumentTabs::tabRemoved(int index) {
  QTabWidget::tabRemoved(index);
  const QSignalBlocker silent(bar_);
  bar_->removeTab(index);
  bar_->setCurrentIndex(currentIndex());
}

}  // namespace orrery::gui
