// Where the docks of the main window stand, and its colours.

#include <QAction>
#include <QActionGroup>
#include <QDockWidget>
#include <QFontDatabase>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QStatusBar>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/widgets/charts_panel.hpp"
#include "gui/widgets/dashboard_view.hpp"
#include "gui/widgets/knob_strip.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/problems_view.hpp"
#include "gui/widgets/tables_panel.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/details_drawer.hpp"
#include "gui/widgets/window/dock_layout.hpp"
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
  auto* column = new QVBoxLayout(top);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(knobs_);
  column->addWidget(dashboard_, 1);
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
  for (QAction* action : themes_->actions()) {
    action->setChecked(action->data().toString() == to_word(theme));
  }
  if (shown_.outcome) {
    shown_.outcome.reset();  // cards and charts are painted again in the new colours
    show_page();
  }
}

}  // namespace orrery::gui
