// The menus of the main window, with the shortcuts that people expect.

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QDockWidget>
#include <QKeyEvent>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QPainter>
#include <QPlainTextEdit>
#include <QToolButton>
#include <algorithm>
#include <array>
#include <functional>

#include "gui/widgets/charts_panel.hpp"
#include "gui/widgets/dashboard_view.hpp"
#include "gui/widgets/form_view.hpp"
#include "gui/widgets/knob_strip.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/pages/trace_page.hpp"
#include "gui/widgets/pages/welcome_page.hpp"
#include "gui/widgets/plan_panel.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/command_palette.hpp"
#include "gui/widgets/window/details_drawer.hpp"
#include "gui/widgets/window/main_window.hpp"

namespace orrery::gui {

namespace {

// The next of these that is seen, after the one that has the focus.
void focus_next(std::vector<QWidget*> panes, const QWidget* now, bool forward) {
  std::erase_if(panes, [](const QWidget* pane) {
    const QWidget* window = pane->window();  // beside it lie docks behind others
    return !pane->isVisible() ||
           !window->rect().intersects(QRect(pane->mapTo(window, QPoint()), pane->size()));
  });
  if (panes.empty()) {
    return;
  }
  std::size_t at = panes.size() - 1;
  for (std::size_t i = 0; i < panes.size(); ++i) {
    at = now != nullptr && (panes[i] == now || panes[i]->isAncestorOf(now)) ? i : at;
  }
  QWidget* to = panes[(at + (forward ? 1 : panes.size() - 1)) % panes.size()];
  if (to->focusPolicy() == Qt::NoFocus && to->focusProxy() == nullptr) {
    for (QWidget* inside : to->findChildren<QWidget*>()) {
      if ((inside->focusPolicy() & Qt::TabFocus) != 0 && inside->isVisible() &&
          inside->isEnabled() && qobject_cast<QTabBar*>(inside) == nullptr &&
          qobject_cast<QTabWidget*>(inside) == nullptr) {
        to = inside;
        break;
      }
    }
  }
  to->setFocus(Qt::ShortcutFocusReason);
}

// Ctrl+1 and so on: to whichever of these is in front.
QList<QAction*> add_places(
    QMenu& menu, const std::vector<std::pair<const char*, std::vector<QWidget*>>>& places) {
  for (const auto& [name, panes] : places) {
    const QKeySequence key(QString("Ctrl+%1").arg(menu.actions().size() + 1));
    menu.addAction(name, key, &menu, [panes = panes] { focus_next(panes, nullptr, true); });
  }
  return menu.actions();
}

// Around the pane that has the focus.
class FocusRing : public QWidget {
 public:
  FocusRing(QWidget* window, const std::vector<QWidget*>& panes) : QWidget(window), panes_(panes) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    hide();
    for (QWidget* pane : panes_) {
      pane->installEventFilter(this);
      pane->parent()->installEventFilter(this);  // a dock that is raised lies above the ring
    }
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, const QWidget* now) {
      const auto has = [now](const QWidget* pane) {
        return now != nullptr && (pane == now || pane->isAncestorOf(now));
      };
      const auto pane = std::ranges::find_if(panes_, has);
      pane_ = pane == panes_.end() ? nullptr : *pane;
      place();
    });
  }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    constexpr std::array kPlaced = {QEvent::Resize, QEvent::Move, QEvent::Show, QEvent::Hide,
                                    QEvent::ZOrderChange};
    if (pane_ != nullptr && (watched == pane_ || watched == pane_->parent()) &&
        std::ranges::count(kPlaced, event->type()) > 0) {
      place();
    }
    return false;
  }

  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter(this).fillRect(rect(), QColor(is_dark(palette()) ? "#6db2f5" : "#0b5cad"));
  }

 private:
  void place() {
    constexpr int kWide = 2;
    setVisible(pane_ != nullptr && pane_->isVisible());
    if (isVisible()) {
      setGeometry(QRect(pane_->mapTo(window(), QPoint()), pane_->size()));
      setMask(QRegion(rect()) - rect().adjusted(kWide, kWide, -kWide, -kWide));
      raise();
    }
  }

  std::vector<QWidget*> panes_;
  QWidget* pane_ = nullptr;
};

std::vector<Command> commands_of_menus(const QMenuBar& bar) {
  std::vector<Command> commands;
  for (const QMenu* menu : bar.findChildren<QMenu*>()) {
    for (QAction* action : menu->actions()) {
      if (!action->isSeparator() && action->menu() == nullptr && action->isEnabled()) {
        commands.push_back({action->text().remove('&').remove("...").section('\t', 0, 0),
                            action->shortcut().toString(QKeySequence::NativeText),
                            [action] { action->trigger(); }});
      }
    }
  }
  return commands;
}

void add_keys(DocumentPage* page, std::vector<Command>& commands) {
  const FormModel& form = page->form().model();
  for (int section = 0; section < form.rowCount({}); ++section) {
    const QModelIndex parent = form.index(section, 0, {});
    for (int row = 0; row < form.rowCount(parent); ++row) {
      const QString key = form.index(row, 0, parent).data(FormModel::kPathRole).toString();
      commands.push_back({key, "key", [page, key] {
                            page->show_form(true);
                            page->form().edit_key(key);
                          }});
    }
  }
}

void show_palette(MainWindow* window, DocumentTabs& tabs) {
  std::vector<Command> commands = commands_of_menus(*window->menuBar());
  for (int i = 0; i < tabs.count(); ++i) {
    commands.push_back({tabs.tabText(i), "page", [&tabs, i] { tabs.setCurrentIndex(i); }});
  }
  std::function<void(const QString&)> find;
  if (DocumentPage* page = window->current_page()) {
    const auto raise = [window](const char* dock) {
      window->findChild<QDockWidget*>(dock)->raise();
    };
    for (const QString& chart : window->charts().names()) {
      commands.push_back({chart, "chart", [window, raise, chart] {
                            raise("Charts");
                            window->charts().choose(chart);
                          }});
    }
    add_keys(page, commands);
    find = [window, raise](const QString& text) {
      raise("Timeline");
      window->timeline().setFocus();
      window->timeline().find_next(text);
    };
  }
  (new CommandPalette(std::move(commands), std::move(find), window))->show();
}

// Beside the menus, where it takes no room from the answer: whatever has an icon. Without a theme
// of icons there is none, and the menus have everything.
void add_tool_bar(QMainWindow* window) {
  const std::array<const char*, 3> icons[] = {
      // the action, its icon, its word
      {"New scenario", "document-new", ""},
      {"Open", "document-open", ""},
      {"Save", "document-save", ""},
      {"Undo", "edit-undo", ""},
      {"Redo", "edit-redo", ""},
      {"Evaluate", "media-playback-start", ""},
      {"Plan layouts", "office-chart-line", "Plan"},
      {"Compare open scenarios", "view-split-left-right", "Compare"},
      {"Save report", "document-export", "Report"},
      {"Save slides", "view-presentation", "Slides"},
      {"Find or do anything", "edit-find", "Find"}};
  auto* bar = new QWidget(window);
  QBoxLayout* buttons = row({}, bar, QMargins{0, 0, 8, 0}, 0);
  const QList<QAction*> actions = window->findChildren<QAction*>();
  for (const auto& [name, icon, word] : icons) {
    for (QAction* action : actions) {
      if (action->text().remove('&').remove("...") == name) {
        action->setIcon(QIcon::fromTheme(icon));
        action->setIconVisibleInMenu(false);
        if (!action->icon().isNull()) {
          auto* button = new QToolButton(bar);
          button->setDefaultAction(action);
          if (*word != 0) {
            action->setIconText(word);
            button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
          }
          button->setAutoRaise(true);
          button->setFocusPolicy(Qt::NoFocus);
          buttons->addWidget(button);
        }
      }
    }
  }
  window->menuBar()->setCornerWidget(bar);
}

}  // namespace

void MainWindow::build_menus() {
  build_file_menu();
  build_edit_menu();
  build_run_menu();
  build_view_menu();
  build_help_menu();
  add_tool_bar(this);
}

QAction* MainWindow::add_for_documents(QMenu* menu, const QString& text, const QKeySequence& keys,
                                       const std::function<void()>& act) {
  return for_documents_.emplace_back(menu->addAction(text, keys, this, act));
}

void MainWindow::build_file_menu() {
  QMenu* menu = menuBar()->addMenu("&File");
  menu->addAction("&New scenario", QKeySequence::New, this, [this] { new_document(); });
  menu->addAction("&Open...", QKeySequence::Open, welcome_, &WelcomePage::open_wanted);
  recent_menu_ = menu->addMenu("Open &recent");
  connect(recent_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_recent_menu);
  menu->addAction("Open &trace...", QKeySequence("Ctrl+Shift+O"), this,
                  &MainWindow::ask_for_traces);
  menu->addAction("Open sa&ved answer...", this, &MainWindow::ask_for_saved);
  menu->addAction("&Import...", QKeySequence("Ctrl+I"), this, &MainWindow::ask_for_import);
  menu->addSeparator();
  const auto add = std::bind_front(&MainWindow::add_for_documents, this, menu);
  add("&Save", QKeySequence::Save, [this] { save(current_page()); });
  add("Save &as...", QKeySequence("Ctrl+Shift+S"), [this] { save_as(current_page()); });
  add("&Duplicate", QKeySequence("Ctrl+D"), [this] { duplicate_document(); });
  menu->addSeparator();
  add("Save &chart...", QKeySequence("Ctrl+E"), [this] {
    current_page()->plan_shown() ? current_page()->plan().result().save_chart()
                                 : charts_->save_chart();
  });
  add("Save answer as &JSON...", QKeySequence(), [this] { save_answer(false); });
  add("Save re&port...", QKeySequence("Ctrl+Shift+P"), [this] { save_report(); });
  add("Save sli&des...", QKeySequence(), [this] { save_answer(true); });
  add("E&xport trace...", QKeySequence(), [this] { export_trace(); });
  menu->addSeparator();
  menu->addAction("&Close tab", QKeySequence("Ctrl+W"), this,
                  [this] { close_tab(tabs_->currentIndex()); });
  menu->addAction("&Quit", QKeySequence("Ctrl+Q"), this, &QWidget::close);
}

void MainWindow::fill_recent_menu() {
  recent_menu_->clear();
  for (const QString& path : recent_files(settings_)) {
    recent_menu_->addAction(path, this, [this, path] { open_file(path); });
  }
  if (recent_menu_->isEmpty()) {
    recent_menu_->addAction("none yet")->setEnabled(false);
  }
}

void MainWindow::build_edit_menu() {
  QMenu* menu = menuBar()->addMenu("&Edit");
  const auto add = std::bind_front(&MainWindow::add_for_documents, this, menu);
  const auto text = [this] { return current_page()->document().text_document(); };
  add("&Undo", QKeySequence::Undo, [text] { text()->undo(); });
  add("&Redo", QKeySequence("Ctrl+Shift+Z"), [text] { text()->redo(); });
  menu->addSeparator();
  add("Cu&t", QKeySequence::Cut, [this] { current_page()->editor().cut(); });
  add("&Copy", QKeySequence(), [this] { current_page()->editor().copy(); });
  add("&Paste", QKeySequence::Paste, [this] { current_page()->editor().paste(); });
  menu->addSeparator();
  add("&Find...", QKeySequence::Find, [this] { current_page()->find(); });
}

void MainWindow::build_run_menu() {
  QMenu* menu = menuBar()->addMenu("&Run");
  const auto add = std::bind_front(&MainWindow::add_for_documents, this, menu);
  add("&Evaluate", Qt::Key_F5, [this] { current_page()->evaluate(); });
  cancel_ = menu->addAction("&Cancel", QKeySequence(Qt::Key_Escape), this, [this] {
    if (auto* trace = qobject_cast<TracePage*>(tabs_->currentWidget())) {
      trace->cancel();
    } else if (current_page() != nullptr) {
      current_page()->cancel();
      charts_->cancel();
    }
  });
  live_ = menu->addAction("Evaluate while &typing");
  live_->setCheckable(true);
  live_->setChecked(settings_.value("live", true).toBool());
  connect(live_, &QAction::toggled, this, [this](bool live) {
    settings_.setValue("live", live);
    for (DocumentPage* page : pages()) {
      page->set_live(live);
    }
  });
  menu->addSeparator();
  add("Plan &layouts...", QKeySequence("Ctrl+L"), [this] { current_page()->show_plan(); });
  menu->addSeparator();
  add("Take as &baseline", QKeySequence("Ctrl+B"), [this] { current_page()->set_baseline(); });
  add("&Flip to A and back\tB", QKeySequence(), [this] {
    flipped_ = !flipped_ && current_page()->baseline() != nullptr;
    show_page();
  })->setObjectName("B");
  add("S&wap A and B\tX", QKeySequence(), [this] {
    current_page()->swap_baseline();
  })->setObjectName("X");
  menu->addSeparator();
  add("Timeline of the slowest &trial", QKeySequence(),
      [this] { current_page()->show_trial(0.0); });
  add("Timeline of a mi&ddle trial", QKeySequence(), [this] { current_page()->show_trial(0.5); });
  add("Timeline of the ne&xt trial", QKeySequence(), [this] { current_page()->show_trial({}); });
  menu->addSeparator();
  menu->addAction("C&ompare open scenarios", QKeySequence("Ctrl+K"), this,
                  &MainWindow::show_compare);
}

// B, X and J where they are no letters of a text; an open menu has them before.
void MainWindow::keyPressEvent(QKeyEvent* event) {
  const QWidget* focus = focusWidget();
  const bool seen =
      current_page() != nullptr && event->modifiers() == Qt::NoModifier &&
      (timeline_->hasFocus() || dashboard_->hasFocus() ||
       (focus != nullptr && (charts_->isAncestorOf(focus) || tables_->isAncestorOf(focus))));
  const QString letter = event->text().toUpper();
  if (auto* action = findChild<QAction*>(letter); seen && action && !letter.isEmpty()) {
    action->trigger();
  } else {
    QMainWindow::keyPressEvent(event);
  }
}

void MainWindow::build_view_menu() {
  QMenu* menu = menuBar()->addMenu("&View");
  add_for_documents(menu, "&Text or form", QKeySequence("Ctrl+T"),
                    [this] { current_page()->show_form(!current_page()->form_shown()); });
  menu->addAction("&Welcome page", this, [this] {
    if (tabs_->indexOf(welcome_) < 0) {
      tabs_->insertTab(0, welcome_, "Welcome");
    }
    tabs_->setCurrentWidget(welcome_);
  });
  menu->addAction("&Find or do anything...", QKeySequence("Ctrl+P"), this,
                  [this] { show_palette(this, *tabs_); });
  const std::vector<QWidget*> panes = {
      knobs_,    dashboard_, tabs_,
      timeline_, problems_,  charts_,
      tables_,   report_,    findChild<DetailsDrawer*>()->widget()};
  new FocusRing(this, panes);
  for (const bool forward : {true, false}) {
    menu->addAction(forward ? "&Next pane" : "&Previous pane",
                    QKeySequence(forward ? "F6" : "Shift+F6"), this, [this, forward, panes] {
                      if (current_page() != nullptr) {
                        focus_next(panes, focusWidget(), forward);
                      }
                    });
  }
  const QList<QAction*> places = add_places(
      *menu->addMenu("&Go to"), {{"&Knobs", {knobs_}},
                                 {"&Scenario", {tabs_}},
                                 {"&Timeline", {timeline_}},
                                 {"&Charts, tables, report", {charts_, tables_, report_}},
                                 {"&Details", {panes.back()}}});
  for_documents_.insert(for_documents_.end(), places.begin(), places.end());
  add_for_documents(menu, "&Jump to the worst stop\tJ", QKeySequence("Ctrl+J"), [this] {
    timeline_dock_->raise();
    timeline_->setFocus();
    tables_->go_to_worst_event();
  })->setObjectName("J");
  menu->addSeparator();
  for (QDockWidget* dock : findChildren<QDockWidget*>()) {
    menu->addAction(dock->toggleViewAction());
  }
  menu->addAction("&Reset layout", dock_layout_, &DockLayout::reset);
  menu->addSeparator();
  themes_ = new QActionGroup(this);
  for (const auto& [theme, text] : {std::pair{Theme::desktop, "&Colours of the desktop"},
                                    {Theme::light, "&Light"},
                                    {Theme::dark, "&Dark"}}) {
    QAction* action = themes_->addAction(text);
    action->setCheckable(true);
    action->setData(to_word(theme));
    connect(action, &QAction::triggered, this, [this, theme = theme] { set_theme(theme); });
    menu->addAction(action);
  }
}

void MainWindow::build_help_menu() {
  QMenu* menu = menuBar()->addMenu("&Help");
  QAction* keys = menu->addAction("&Keyboard shortcuts", this, [this] { show_keys(this); });
  keys->setShortcuts({QKeySequence(Qt::Key_F1), QKeySequence("?")});
  menu->addAction("&About Orrery", this, [this] {
    QMessageBox::about(this, "About Orrery",
                       QString("<b>Orrery %1</b><br>Simulates a whole large-scale training run: "
                               "time, memory, failures and dollars.<br>Drawn with Qt and "
                               "QCustomPlot.")
                           .arg(QApplication::applicationVersion()));
  });
}

}  // namespace orrery::gui
