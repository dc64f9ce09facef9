// The window as a user drives it: what it shows is what `orrery run --json` prints, and no work is
// lost.

#include <gtest/gtest.h>

#include <QAbstractItemView>
#include <QCompleter>
#include <QDialog>
#include <QDockWidget>
#include <QFile>
#include <QFrame>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QStatusBar>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "gui/charts/chart_view.hpp"
#include "gui/models/tables/answer_tables.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/widgets/charts_panel.hpp"
#include "gui/widgets/compare_view.hpp"
#include "gui/widgets/dashboard_view.hpp"
#include "gui/widgets/form_view.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/pages/welcome_page.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/command_palette.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "tests/checkout.hpp"
#include "tests/gui/program/samples.hpp"

namespace orrery::gui {
namespace {

using testing::printed_json;
using testing::read_text;
using testing::replaced;
using testing::run_scenario;
using testing::wait_for;
using testing::write_text;

class Window : public ::testing::Test {
 protected:
  Window() {
    QSettings().clear();
    window = std::make_unique<MainWindow>();
    window->tell = [this](const QString& sentence) { told.push_back(sentence); };
    window->ask_unsaved = [this](const QString&) {
      ++asked;
      return choice;
    };
    window->show();
    file = folder.filePath("run.yaml");
    write_text(file, run_scenario());
  }

  // Opens the file and waits for its answer.
  DocumentPage* opened() {
    DocumentPage* page = window->open_file(file);
    EXPECT_TRUE(wait_for([page] { return page->answered() && !page->stale(); }));
    return page;
  }

  static bool settled(const DocumentPage* page) {
    return wait_for([page] { return page->outcome() && !page->stale() && !page->running(); });
  }

  QTemporaryDir folder;
  QString file;
  QStringList told;
  int asked = 0;
  UnsavedChoice choice = UnsavedChoice::cancel;
  std::unique_ptr<MainWindow> window;
};

// "6.51 s" of the card "Step time: 6.51 s".
QString card_value(MainWindow& window, const QString& card) {
  for (const QFrame* one : window.dashboard().findChildren<QFrame*>()) {
    if (one->accessibleName().startsWith(card + ": ")) {
      return one->accessibleName().mid(card.size() + 2);
    }
  }
  return {};
}

void expect_printed_numbers(MainWindow& window, const QString& file) {
  const auto json = nlohmann::json::parse(printed_json(file));
  const auto shown_as = [&json](report::MetricId id) {
    const report::MetricInfo& info = report::info(id);
    const auto& metric = json.at("metrics").at(std::string(info.json_key));
    const bool varies = metric.contains("p50") && metric.at("p10") != metric.at("p90");
    return shown(info.dimension, (varies ? metric.at("p50") : metric.at("value")).get<double>());
  };
  EXPECT_EQ(card_value(window, "Step time"), shown_as(report::MetricId::step_time));
  EXPECT_EQ(card_value(window, "MFU"), shown_as(report::MetricId::mfu));
  EXPECT_EQ(card_value(window, "Tokens per second") + " tokens/s",
            shown_as(report::MetricId::tokens_per_second));
  EXPECT_EQ(card_value(window, "Finish date"), shown_as(report::MetricId::finish_date));
  EXPECT_EQ(card_value(window, "Cost"), shown_as(report::MetricId::cost));
  EXPECT_EQ(card_value(window, "Goodput"), shown_as(report::MetricId::goodput));
  // And every metric of the table, to the last digit.
  const AnswerTable* metrics = window.tables().find("Metrics");
  ASSERT_NE(metrics, nullptr);
  std::size_t compared = 0;
  for (const auto& row : metrics->table().rows) {
    const auto* info = report::find_metric(row[0].tip.toStdString());
    ASSERT_NE(info, nullptr);
    const auto& metric = json.at("metrics").at(std::string(info->json_key));
    const bool varies = metric.contains("p50") && metric.at("p50") != metric.at("value");
    EXPECT_EQ(*row[1].order, metric.at(varies ? "p50" : "value").get<double>()) << info->name;
    ++compared;
  }
  EXPECT_EQ(compared, json.at("metrics").size());
}

TEST_F(Window, WelcomesWithTheShippedScenarios) {
  EXPECT_GT(window->welcome().examples().count(), 50);
  EXPECT_EQ(window->current_page(), nullptr);
  auto* list = window->findChild<QListWidget*>();
  ASSERT_NE(list, nullptr);
  QTest::keyClick(const_cast<QListWidget*>(&window->welcome().examples()), Qt::Key_Return);
  ASSERT_NE(window->current_page(), nullptr);
  EXPECT_EQ(window->current_page()->document().title(), "llama3-405b-16k.yaml");
}

TEST_F(Window, WelcomesWithQuestions) {
  auto& page = const_cast<WelcomePage&>(window->welcome());
  const QListWidget& list = page.examples();
  const auto is_question = [&](int row) { return list.item(row)->text().endsWith('?'); };
  const auto shown = [&](bool questions) {
    int count = 0;
    for (int row = 0; row < list.count(); ++row) {
      count += !list.isRowHidden(row) && is_question(row) == questions ? 1 : 0;
    }
    return count;
  };
  EXPECT_TRUE(is_question(0));
  EXPECT_FALSE(is_question(list.currentRow()));
  EXPECT_EQ(shown(true), 4);
  auto* search = page.findChild<QLineEdit*>();
  search->setText("plan fewest");
  EXPECT_EQ(shown(true), 1) << "a question without a scenario";
  EXPECT_EQ(shown(false), 1);
  EXPECT_FALSE(is_question(list.currentRow()));
  search->setText("no such words at all");
  EXPECT_EQ(shown(true) + shown(false), 0);
  for (QLabel* links : page.findChildren<QLabel*>()) {
    if (links->accessibleName() == "Questions") {
      emit links->linkActivated("0");
    }
  }
  EXPECT_EQ(shown(true), 4);
  EXPECT_EQ(list.currentRow(), 1);
  for (QLabel* links : page.findChildren<QLabel*>()) {
    if (links->accessibleName() == "Questions") {
      emit links->linkActivated("spot-70b");
    }
  }
  ASSERT_NE(window->current_page(), nullptr) << "a scenario to begin with";
  EXPECT_TRUE(window->current_page()->document().title().startsWith("spot-70b"));
}

TEST_F(Window, ACopyBeginsWithItsAnswer) {
  const DocumentPage* page = opened();
  DocumentPage* copy = window->duplicate_document();
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->answered(), page->answered());
  EXPECT_FALSE(copy->running());
}

TEST_F(Window, ShowsAnotherTrial) {
  DocumentPage* page = opened();
  const auto show = [&](const QString& which) {
    for (QAction* action : window->findChildren<QAction*>()) {
      if (action->text().remove('&') == "Timeline of the " + which) {
        action->trigger();
      }
    }
    EXPECT_TRUE(settled(page));
    return window->timeline().view().levels()[0].note;
  };
  EXPECT_EQ(show("next trial").substr(0, 8), "trial 1,");
  const std::string slowest = show("slowest trial");
  const std::size_t trials = page->answered()->evaluation->run->first.size();
  EXPECT_TRUE(slowest.ends_with(" of " + std::to_string(trials) + " faster")) << slowest;
  EXPECT_EQ(slowest.find("none"), std::string::npos) << slowest;
}

TEST_F(Window, ACardLeadsToTheTableThatHasMore) {
  opened();
  const auto click = [this](const QString& name) {
    for (QFrame* card : window->dashboard().findChildren<QFrame*>()) {
      if (card->accessibleName().startsWith(name + ":")) {
        QTest::mouseClick(card, Qt::LeftButton);
      }
    }
  };
  click("Goodput");
  EXPECT_EQ(window->tables().currentWidget()->objectName(), "The run");
  click("Failures");
  EXPECT_EQ(window->tables().currentWidget()->objectName(), kEvents);
  EXPECT_TRUE(window->timeline().view().selected()) << "the dearest stop";
}

TEST_F(Window, ALowWindowKeepsItsStatusBarForWhatItHasToSay) {
  opened();
  window->resize(960, 540);
  QTest::qWait(50);
  EXPECT_FALSE(window->statusBar()->isVisible());
  window->statusBar()->showMessage("Written.");
  EXPECT_TRUE(window->statusBar()->isVisible());
  window->statusBar()->clearMessage();
  EXPECT_FALSE(window->statusBar()->isVisible());
}

TEST_F(Window, ShowsTheNumbersThatTheCommandLinePrints) {
  opened();
  expect_printed_numbers(*window, file);
}

TEST_F(Window, AnswersAgainWhenTheFormChangesTensorParallelism) {
  DocumentPage* page = opened();
  const QString before = card_value(*window, "Step time");
  FormModel& form = page->form().model();
  ASSERT_TRUE(form.setData(form.find("layout.tensor"), "4", Qt::EditRole));
  EXPECT_TRUE(page->document().modified());
  ASSERT_TRUE(settled(page));
  EXPECT_NE(card_value(*window, "Step time"), before);
  ASSERT_TRUE(window->save(page));
  expect_printed_numbers(*window, file);
}

TEST_F(Window, AnswersAgainWhenTheTextChanges) {
  DocumentPage* page = opened();
  QTextCursor cursor = page->document().text_document()->find("tensor: 8");
  ASSERT_FALSE(cursor.isNull());
  cursor.insertText("tensor: 4");
  ASSERT_TRUE(settled(page));
  ASSERT_TRUE(window->save(page));
  EXPECT_EQ(read_text(file), replaced(run_scenario(), "tensor: 8", "tensor: 4"));
  expect_printed_numbers(*window, file);
  page->document().text_document()->undo();
  ASSERT_TRUE(settled(page));
  EXPECT_EQ(page->answered()->text, run_scenario());
}

TEST_F(Window, PagesHaveTheirTabsAboveTheDocks) {
  opened();
  window->new_document();
  auto* tabs = window->findChild<DocumentTabs*>();
  ASSERT_NE(tabs, nullptr);
  QTabBar* bar = tabs->bar();
  ASSERT_EQ(bar->count(), tabs->count());
  for (int i = 0; i < bar->count(); ++i) {
    EXPECT_EQ(bar->tabText(i), tabs->tabText(i));
  }
  bar->setCurrentIndex(1);
  EXPECT_EQ(window->current_page()->document().title(), "run.yaml");
  bar->moveTab(1, 2);
  EXPECT_EQ(tabs->tabText(2), "run.yaml");
  EXPECT_EQ(tabs->currentIndex(), bar->currentIndex());
  window->close_tab(2);
  EXPECT_EQ(bar->count(), tabs->count());
}

TEST_F(Window, TheWorstStopIsOneKeyAway) {
  DocumentPage* page = opened();
  const AnswerTable* events = window->tables().find(kEvents);
  ASSERT_NE(events, nullptr);
  const auto& rows = events->table().rows;
  ASSERT_GT(rows.size(), 1U);
  EXPECT_GE(*rows[0][3].order, *rows[1][3].order) << "the dearest first";
  window->timeline().setFocus();
  QTest::keyClick(&window->timeline(), Qt::Key_J);
  const timeline::TimeRange seen = window->timeline().view().window();
  EXPECT_TRUE(seen.contains(std::llround(*rows[0][0].order)));
  EXPECT_LT(seen.length(), page->answered()->levels.front().store->range().length());
  ASSERT_TRUE(window->timeline().view().selected());
  QTest::keyClick(&window->timeline(), Qt::Key_Return);
  QTest::keyClick(&window->timeline(), Qt::Key_Return);
  const timeline::View& view = window->timeline().view();
  EXPECT_EQ(view.level(), 1U) << "the first step that was lost";
  const std::int64_t stop = std::llround(*rows[0][0].order);
  EXPECT_LT(view.occurrence(1).range.begin, stop);
}

TEST_F(Window, BShowsTheBaselineAndXTakesItsText) {
  DocumentPage* page = opened();
  const QString before = card_value(*window, "Step time");
  EXPECT_EQ(page->document().set_key("layout.tensor", "4"), "");
  ASSERT_TRUE(settled(page));
  const QString after = card_value(*window, "Step time");
  ASSERT_NE(after, before);
  window->timeline().setFocus();
  QTest::keyClick(&window->timeline(), Qt::Key_B);
  EXPECT_EQ(card_value(*window, "Step time"), before);
  EXPECT_NE(page->document().utf8(), run_scenario()) << "the text stays";
  QTest::keyClick(&window->timeline(), Qt::Key_B);
  EXPECT_EQ(card_value(*window, "Step time"), after);
  QTest::keyClick(&window->timeline(), Qt::Key_X);
  EXPECT_EQ(page->document().utf8(), run_scenario());
  ASSERT_TRUE(settled(page));
  EXPECT_EQ(card_value(*window, "Step time"), before);
  EXPECT_NE(page->baseline()->text, run_scenario());
}

TEST_F(Window, EveryPaneHasAKey) {
  opened();
  ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));
  QTest::keyClick(window->focusWidget(), Qt::Key_3, Qt::ControlModifier);
  EXPECT_TRUE(window->timeline().hasFocus());
  // A dock that comes to the front does not cover the ring around the pane.
  window->findChild<QDockWidget*>("Timeline")->raise();
  const auto* last = qobject_cast<QWidget*>(window->children().back());
  EXPECT_TRUE(last != nullptr && last->testAttribute(Qt::WA_TransparentForMouseEvents));
  QTest::keyClick(window->focusWidget(), Qt::Key_4, Qt::ControlModifier);
  EXPECT_TRUE(window->charts().isAncestorOf(window->focusWidget()))
      << window->focusWidget()->accessibleName().toStdString();
  QTest::keyClick(window->focusWidget(), Qt::Key_2, Qt::ControlModifier);
  EXPECT_TRUE(window->current_page()->editor().hasFocus());
}

TEST_F(Window, TheTextCompletesKeysAndTheNamesThatTheyTake) {
  CodeEditor& editor = opened()->editor();
  auto* popup = editor.findChild<QCompleter*>()->popup();
  const auto typed = [&](const char* text, const QString& words) {
    editor.setPlainText(QString(text));
    editor.moveCursor(QTextCursor::End);
    QTest::keyClicks(&editor, words);
    if (popup->isVisible()) {
      QTest::keyClick(popup, Qt::Key_Return);
    }
    return editor.toPlainText().section('\n', -1);
  };
  EXPECT_EQ(typed("format: orrery/1\n", "lay"), "layout: ");
  EXPECT_EQ(typed("layout:\n  ", "seq"), "  sequence_parallel: ");
  EXPECT_EQ(typed("layout:\n  sharding: ", "zero3_"), "  sharding: zero3_") << "no such name";
  EXPECT_EQ(typed("cluster: {gpu: ", "h200-s"), "cluster: {gpu: h200-sxm");
  EXPECT_EQ(typed("# ", "lay"), "# lay") << "nothing in a comment";
}

TEST_F(Window, ThePaletteFindsActionsKeysAndPages) {
  EXPECT_GT(match_score("pl", "Plan layouts"), match_score("pl", "Open sample"));
  EXPECT_GT(match_score("spread", "Chart: Spread: goodput"),
            match_score("spread", "capacity.spot.ready"));
  EXPECT_LT(match_score("xyz", "Plan layouts"), 0);
  EXPECT_GT(match_score("spread", "Spread: goodput"), match_score("spread", "capacity.spot.ready"));
  EXPECT_GT(match_score("fabric", "Fabric: who sends how far"),
            match_score("fabric", "cluster.network.fabric"));
  DocumentPage* page = opened();
  const auto typed = [this](const QString& text) {
    for (QAction* action : window->findChildren<QAction*>()) {
      if (action->shortcut() == QKeySequence("Ctrl+P")) {
        action->trigger();
      }
    }
    auto* palette = window->findChild<QDialog*>("palette");
    ASSERT_NE(palette, nullptr);
    auto* line = palette->findChild<QLineEdit*>();
    line->setText(text);
    QTest::keyClick(line, Qt::Key_Return);
    QTest::qWait(10);
  };
  typed("layout.tensor");
  EXPECT_TRUE(page->form_shown());
  typed("Memory by stage");
  EXPECT_EQ(window->charts().findChild<ChartView*>()->plot().name, "Memory by stage");
  typed("Welcome page");
  EXPECT_EQ(window->current_page(), nullptr);
}

TEST_F(Window, MarksProblemsWhereTheyAreAndKeepsTheLastAnswer) {
  DocumentPage* page = opened();
  const QString before = card_value(*window, "Step time");
  page->editor().setPlainText(
      QString::fromStdString(replaced(run_scenario(), "mode: sync", "mode: asink")));
  ASSERT_TRUE(wait_for([page] { return !page->outcome()->evaluation; }));
  const Table& problems = window->problems().table().table();
  ASSERT_EQ(problems.rows.size(), 1U);
  EXPECT_EQ(problems.rows[0][1].text, "21");
  EXPECT_EQ(problems.rows[0][2].text, "checkpoint.mode");
  EXPECT_TRUE(problems.rows[0][4].text.contains("async"));
  EXPECT_EQ(card_value(*window, "Step time"), before);
  EXPECT_FALSE(window->timeline().visibleRegion().isEmpty()) << "what is in front stays";
  const QTextCursor mark = page->document().text_document()->find("asink");
  EXPECT_TRUE(page->editor().problem_at(mark.position() - 1).contains("Allowed:"));
  emit window->problems().table().row_chosen(0);
  EXPECT_EQ(page->editor().textCursor().blockNumber(), 20);
}

TEST_F(Window, PanelsLookStaleWhileTheTextIsWrong) {
  DocumentPage* page = opened();
  const auto stale = [](const QWidget& panel) {
    const auto* veil = panel.findChild<QWidget*>("stale");
    return veil != nullptr && veil->isVisible() && veil->size() == veil->parentWidget()->size();
  };
  page->editor().setPlainText("format: orrery/1\nmodel: {preset: [\n");
  ASSERT_TRUE(wait_for([page] { return !page->outcome()->evaluation; }));
  EXPECT_TRUE(stale(window->dashboard()));
  EXPECT_TRUE(stale(window->charts()));
  page->editor().setPlainText(QString::fromStdString(run_scenario()));
  EXPECT_TRUE(wait_for([&] { return !stale(window->dashboard()) && !stale(window->charts()); }));
}

TEST_F(Window, AnAnswerLooksStaleAfterItsTextChangedAndNobodyEvaluated) {
  DocumentPage* page = opened();
  const auto stale = [this] { return window->charts().findChild<QWidget*>("stale") != nullptr; };
  EXPECT_EQ(page->document().set_key("layout.tensor", "4"), "");
  page->cancel();  // before the answer came
  EXPECT_TRUE(stale());
  page->evaluate();
  ASSERT_TRUE(settled(page));
  EXPECT_FALSE(stale());
  page->set_live(false);
  EXPECT_EQ(page->document().set_key("layout.tensor", "8"), "");
  EXPECT_TRUE(stale());
}

TEST_F(Window, ANewScenarioAnswersAtOnce) {
  DocumentPage* page = window->new_document();
  ASSERT_TRUE(settled(page));
  ASSERT_NE(page->outcome()->evaluation, nullptr);
  EXPECT_TRUE(page->outcome()->evaluation->feasible);
  EXPECT_EQ(window->problems().count(), 0);
}

TEST_F(Window, DocksFitInASmallWindow) {
  opened();
  window->resize(1024, 700);
  QTest::qWait(50);
  EXPECT_LE(window->height(), 700);
}

TEST_F(Window, ChangesTheTextAsAProblemProposes) {
  DocumentPage* page = opened();
  const std::string wrong = replaced(run_scenario(), "mode: sync", "mode: asink");
  page->editor().setPlainText(QString::fromStdString(wrong));
  ASSERT_TRUE(wait_for([page] { return !page->outcome()->evaluation; }));
  auto buttons = window->problems().findChildren<QPushButton*>();
  ASSERT_FALSE(buttons.empty());
  EXPECT_EQ(window->problems().fixes().size(), static_cast<std::size_t>(buttons.size()));
  const auto async = std::find_if(buttons.begin(), buttons.end(), [](const QPushButton* button) {
    return button->text() == "Set checkpoint.mode to async";
  });
  ASSERT_NE(async, buttons.end());
  QTest::keyClick(*async, Qt::Key_Space);
  EXPECT_EQ(page->document().utf8(), replaced(run_scenario(), "mode: sync", "mode: async"));
  ASSERT_TRUE(settled(page));
  EXPECT_NE(page->outcome()->evaluation, nullptr);
  EXPECT_EQ(window->problems().count(), 0);
  EXPECT_TRUE(window->problems().fixes().empty());
  EXPECT_FALSE(window->timeline().visibleRegion().isEmpty()) << "nothing is left to be looked at";
  page->document().text_document()->undo();
  EXPECT_EQ(page->document().utf8(), wrong);
}

TEST_F(Window, ShowsExactDiagnosticsOfWhatIsNoYaml) {
  DocumentPage* page = opened();
  page->editor().setPlainText("format: orrery/1\nmodel: {preset: [\n");
  ASSERT_TRUE(wait_for([page] { return !page->outcome()->evaluation; }));
  const OutcomePtr expected =
      evaluate_text({.text = page->document().utf8(), .file_name = file.toStdString()});
  EXPECT_EQ(to_string(page->outcome()->diagnostics), to_string(expected->diagnostics));
  EXPECT_FALSE(page->outcome()->diagnostics.all().empty());
}

TEST_F(Window, AsksBeforeUnsavedChangesAreClosed) {
  DocumentPage* page = opened();
  EXPECT_EQ(page->document().set_key("capacity.spares", "5"), "");
  choice = UnsavedChoice::cancel;
  EXPECT_FALSE(window->close());
  EXPECT_FALSE(window->close_page(page));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(window->pages().size(), 1U);
  choice = UnsavedChoice::save;
  EXPECT_TRUE(window->close_page(page));
  EXPECT_TRUE(window->pages().empty());
  EXPECT_NE(read_text(file).find("spares: 5"), std::string::npos);
  page = opened();
  EXPECT_EQ(page->document().set_key("capacity.spares", "7"), "");
  choice = UnsavedChoice::discard;
  EXPECT_TRUE(window->close());
  EXPECT_NE(read_text(file).find("spares: 5"), std::string::npos);
}

TEST_F(Window, KeepsTheTextOfADeletedFile) {
  DocumentPage* page = opened();
  ASSERT_TRUE(QFile::remove(file));
  ASSERT_TRUE(wait_for([page] { return page->document().modified(); }));
  EXPECT_EQ(page->document().utf8(), run_scenario());
  ASSERT_TRUE(window->save(page));
  EXPECT_EQ(read_text(file), run_scenario());
}

TEST_F(Window, SaysWhyAFileCannotBeOpened) {
  EXPECT_EQ(window->open_file(folder.filePath("missing.yaml")), nullptr);
  write_text(folder.filePath("huge.yaml"), std::string(std::size_t{5} << 20U, 'x'));
  EXPECT_EQ(window->open_file(folder.filePath("huge.yaml")), nullptr);
  ASSERT_EQ(told.size(), 2);
  EXPECT_TRUE(told[0].contains("missing.yaml"));
  EXPECT_TRUE(told[1].contains("huge.yaml"));
  EXPECT_TRUE(window->pages().empty());
}

TEST_F(Window, BringsAnOpenFileToTheFront) {
  DocumentPage* page = window->open_file(file);
  window->new_document();
  EXPECT_EQ(window->open_file(file), page);
  EXPECT_EQ(window->pages().size(), 2U);
}

TEST_F(Window, CancelsAnEvaluation) {
  write_text(file, replaced(run_scenario(), "trials: 60", "trials: 100000"));
  DocumentPage* page = window->open_file(file);
  EXPECT_TRUE(page->running());
  QTest::qWait(50);
  page->cancel();
  EXPECT_FALSE(page->running());
  EXPECT_EQ(page->answered(), nullptr);
  EXPECT_EQ(page->document().set_key("simulation.trials", "20"), "");
  EXPECT_TRUE(settled(page));
}

TEST_F(Window, ComparesADuplicateWithItsOrigin) {
  DocumentPage* first = opened();
  DocumentPage* second = window->duplicate_document();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->document().set_key("checkpoint.mode", "async"), "");
  ASSERT_TRUE(settled(second));
  window->show_compare();
  const Table& keys = window->findChild<AnswerTable*>("Keys that differ")->table();
  ASSERT_EQ(keys.rows.size(), 1U);
  EXPECT_EQ(keys.rows[0][0].text, "checkpoint.mode");
  EXPECT_GT(window->findChild<AnswerTable*>("Differences")->table().rows.size(), 10U);
  EXPECT_FALSE(first->document().modified());
}

// From the welcome page: what if we used 64 spares and asynchronous checkpoints?
TEST_F(Window, AnswersTheQuestionOfANewUser) {
  DocumentPage* page = window->open_example(
      window->welcome().examples().currentItem()->data(Qt::UserRole).toString());
  ASSERT_NE(page, nullptr);
  ASSERT_TRUE(settled(page));
  page->show_form(true);
  page->find();
  QTest::keyClicks(page->form().findChild<QLineEdit*>(), "spares");
  FormModel& form = page->form().model();
  ASSERT_TRUE(form.setData(form.find("capacity.spares"), "64", Qt::EditRole));
  ASSERT_TRUE(form.setData(form.find("checkpoint.mode"), "async", Qt::EditRole));
  ASSERT_TRUE(settled(page));
  EXPECT_EQ(page->answered()->scenario->run->capacity.spares, 64);
  EXPECT_NE(page->baseline(), page->answered()) << "the change is shown against what was opened";
}

TEST_F(Window, ChartsFollowTheAnswer) {
  opened();
  const QStringList names = window->charts().names();
  EXPECT_TRUE(names.contains("Memory by stage"));
  EXPECT_TRUE(names.contains("Checkpoint interval"));
  window->charts().choose("Progress by date");
  ASSERT_TRUE(wait_for(
      [this] { return !window->charts().findChild<ChartView*>()->plot().series.empty(); }));
  EXPECT_EQ(window->charts().findChild<ChartView*>()->plot().name, "Progress by date");
  const QImage picture = window->charts().findChild<ChartView*>()->grab().toImage();
  EXPECT_FALSE(picture.isNull());
}

TEST_F(Window, RemembersItsThemeAndLayout) {
  window->set_theme(Theme::dark);
  window->resize(760, 730);
  const QSize size = window->size();
  EXPECT_TRUE(window->close());
  window = std::make_unique<MainWindow>();
  EXPECT_EQ(window->size(), size);
  EXPECT_LT(window->palette().color(QPalette::Base).lightness(), 128);
  window->set_theme(Theme::desktop);
}

TEST_F(Window, AQuestionMarkShowsAllKeys) {
  ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));
  QTest::keyClick(&window->timeline(), Qt::Key_Question);
  auto* keys = window->findChild<QDialog*>("keys");
  ASSERT_NE(keys, nullptr);
  EXPECT_LE(keys->sizeHint().width(), 1024);
  EXPECT_LE(keys->sizeHint().height(), 700);
  ASSERT_TRUE(QTest::qWaitForWindowActive(keys));
  QTest::keyClick(keys, Qt::Key_Escape);
  EXPECT_FALSE(keys->isVisible());
}

}  // namespace
}  // namespace orrery::gui
