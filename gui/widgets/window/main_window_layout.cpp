// Where the docks of the main window stand, and its colours.

#include <QAction>
#include <QDockWidget>
#include <QEvent>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QMainWindow>
#include <QPlainTextEdit>
#include <QSignalBlocker>
#include <QStatusBar>
#include <QTimer>
#include <QToolBar>
#include <algorithm>
#include <utility>

#include "gui/models/tables/answer_tables.hpp"
#include "gui/widgets/charts_panel.hpp"
#include "gui/widgets/dashboard_view.hpp"
#include "gui/widgets/knob_strip.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/details_drawer.hpp"
#include "gui/widgets/window/main_window.hpp"

namespace orrery::gui {

void MainWindow::build_docks() {
  dashboard_ = new DashboardView(this);
  charts_ = new ChartsPanel(this);
  tables_ = new TablesPanel(this);
  problems_ = new ProblemsView(this);
  report_ = new QPlainTextEdit(this);
  report_->setReadOnly(true);
  report_->setLineWrapMode(QPlainTextEdit::NoWrap);
  report_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  report_->setAccessibleName("Report as text");
  const auto dock = [this](const QString& title, QWidget* widget, Qt::DockWidgetArea area) {
    auto* holder = new QDockWidget(title, this);
    holder->setObjectName(title);
    holder->setWidget(widget);
    holder->setTitleBarWidget(new QWidget(holder));  // the tab, or the page itself, says what it is
    addDockWidget(area, holder);
    return holder;
  };
  timeline_ = new TimelineView(this);
  knobs_ = new KnobStrip(this);
  connect(knobs_, &KnobStrip::pin_wanted, this, [this] {
    if (DocumentPage* page = current_page()) {
      page->set_baseline();
    }
  });
  auto* top = new QWidget(this);
  column({knobs_, {dashboard_, 1}}, top, QMargins{}, 0);
  addToolBar(Qt::TopToolBarArea, tabs_->tool_bar());
  // Each corner goes to the side that needs the length: the answer the width, the rest the height.
  dock("Answer", top, Qt::TopDockWidgetArea);
  timeline_dock_ = dock("Timeline", timeline_, Qt::RightDockWidgetArea);
  problems_dock_ = dock("Problems", problems_, Qt::RightDockWidgetArea);
  QDockWidget* charts = dock("Charts", charts_, Qt::RightDockWidgetArea);
  QDockWidget* tables = dock("Tables", tables_, Qt::RightDockWidgetArea);
  QDockWidget* report = dock("Report", report_, Qt::RightDockWidgetArea);
  splitDockWidget(timeline_dock_, charts, Qt::Horizontal);
  tabifyDockWidget(timeline_dock_, problems_dock_);
  timeline_dock_->raise();
  new DetailsDrawer(this);  // below the charts alone: a split of tabs would be one more tab
  tabifyDockWidget(charts, tables);
  tabifyDockWidget(charts, report);
  charts->raise();
  dock_layout_ = new DockLayout(this);
  connect(dashboard_, &DashboardView::keys_wanted, this, [this](const auto& keys) {
    DocumentPage* page = current_page();
    statusBar()->showMessage(page != nullptr ? page->document().set_keys(keys) : QString());
  });
  connect(dashboard_, &DashboardView::fix_wanted, this, [this](int number) {
    number < 0 ? problems_dock_->raise() : problems_->take_fix(number);
  });
  connect(dashboard_, &DashboardView::table_wanted, this, [this, tables](const QString& title) {
    tables->raise();
    title == kEvents ? findChild<QAction*>("J")->trigger()
                     : tables_->setCurrentWidget(tables_->find(title));
  });
  connect(problems_, &ProblemsView::line_wanted, this, [this](int line, int column) {
    if (DocumentPage* page = current_page()) {
      page->show_line(line, column);
    }
  });
  connect(problems_, &ProblemsView::fix_wanted, this,
          [this](const std::string& text, const scenario::Fix& fix) {
            DocumentPage* page = current_page();
            const QString problem = page != nullptr ? page->document().apply(text, fix) : QString();
            statusBar()->showMessage(problem);
          });
}

void MainWindow::build_status_bar() {
  state_ = new QLabel(this);
  progress_ = new QProgressBar(this);
  progress_->setMaximumWidth(180);
  progress_->setTextVisible(false);
  progress_->hide();
  statusBar()->addPermanentWidget(progress_);
  statusBar()->addPermanentWidget(state_);
}

void MainWindow::restore_layout() {
  resize(1400, 900);
  restoreGeometry(settings_.value("geometry").toByteArray());
  layout_ = settings_.value("layout").toByteArray();
  for (QDockWidget* dock : findChildren<QDockWidget*>()) {
    dock->hide();
  }
  set_theme(theme_of(settings_.value("theme").toString()));
}

// Docks belong to a document: the welcome page and the comparison have the window for themselves.
void MainWindow::show_docks(bool shown) {
  if (shown == docks_shown_) {
    return;
  }
  docks_shown_ = shown;
  if (!shown) {
    layout_ = saveState();
    for (QDockWidget* dock : findChildren<QDockWidget*>()) {
      dock->hide();
    }
  } else {
    dock_layout_->restore(layout_);
    findChild<DetailsDrawer*>()->follow_selection();
  }
}

void MainWindow::set_theme(Theme theme) {
  settings_.setValue("theme", to_word(theme));
  apply_theme(theme);
  for (QLabel* label : findChildren<QLabel*>()) {
    const QString text = label->text();  // links keep the colour that they were set in
    if (text.contains("<a ")) {
      label->clear();
      label->setText(text);
    }
  }
  for (QAction* action : themes_->actions()) {
    action->setChecked(action->data().toString() == to_word(theme));
  }
  if (shown_.outcome) {
    shown_.outcome.reset();  // cards and charts are painted again in the new colours
    show_page();
  }
}

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

namespace {

bool stands(const QDockWidget* dock) { return dock->isVisible() && !dock->isFloating(); }

}  // namespace

DockLayout::DockLayout(QMainWindow* window)
    : QObject(window),
      window_(window),
      answer_(window->findChild<QDockWidget*>("Answer")),
      charts_(window->findChild<QDockWidget*>("Charts")),
      timeline_(window->findChild<QDockWidget*>("Timeline")),
      first_(window->saveState()) {
  window->installEventFilter(this);
  connect(window->statusBar(), &QStatusBar::messageChanged, this, &DockLayout::yield_status_bar);
  answer_->installEventFilter(this);
  timeline_->installEventFilter(this);
}

void DockLayout::reset() {
  of_last_time_ = false;
  window_->restoreState(first_);
  shares_ = {};
  apply_soon();
}

void DockLayout::restore(const QByteArray& state) {
  if (!window_->restoreState(state)) {
    reset();
  } else if (std::exchange(of_last_time_, false)) {
    QTimer::singleShot(0, this, [this] { keep(true); });
  } else {
    apply_soon();
  }
}

// Sizes hold once the window has laid itself out.
void DockLayout::apply_soon() {
  apply();
  QTimer::singleShot(0, this, &DockLayout::apply);
}

// Of borders that are dragged; `all`: as they are.
void DockLayout::keep(bool all) {
  const Qt::CursorShape shape = window_->cursor().shape();
  if (stands(answer_) && shape == Qt::SplitVCursor) {
    shares_.answer = static_cast<double>(answer_->height()) / window_->height();
  }
  if (stands(timeline_) && stands(charts_) && (all || shape == Qt::SplitHCursor)) {
    shares_.timeline = static_cast<double>(timeline_->width()) / window_->width();
    shares_.charts = static_cast<double>(charts_->width()) / window_->width();
  }
}

// In the lowest windows the rows have its place, but for what it has to say.
void DockLayout::yield_status_bar() {
  constexpr int kLowest = 600;
  QStatusBar* bar = window_->statusBar();
  bar->setVisible(window_->height() >= kLowest || !bar->currentMessage().isEmpty());
}

void DockLayout::apply() {
  const auto part = [](double share, int whole) { return static_cast<int>(share * whole); };
  if (stands(answer_)) {
    // As tall as its cards, unless somebody has chosen otherwise.
    constexpr double kMost = 0.4;
    const int height = part(shares_.answer > 0.0 ? shares_.answer : kMost, window_->height());
    const int wanted = answer_->widget()->layout()->sizeHint().height();
    window_->resizeDocks({answer_}, {shares_.answer > 0.0 ? height : std::min(wanted, height)},
                         Qt::Vertical);
  }
  if (stands(timeline_) && stands(charts_)) {
    const int width = window_->width();
    window_->resizeDocks({timeline_, charts_},
                         {part(shares_.timeline, width), part(shares_.charts, width)},
                         Qt::Horizontal);
  }
}

bool DockLayout::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) {
    if (watched == window_) {
      yield_status_bar();
      QTimer::singleShot(0, this, &DockLayout::apply);
    } else if (QGuiApplication::mouseButtons().testFlag(Qt::LeftButton)) {
      keep(false);
    }
  }
  return false;
}

}  // namespace orrery::gui
