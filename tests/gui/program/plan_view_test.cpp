// The plan in the window, as a user drives it.

#include <gtest/gtest.h>

#include <QComboBox>
#include <QDockWidget>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>

#include "gui/charts/chart_view.hpp"
#include "gui/widgets/compare_view.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/plan_panel.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "tests/gui/program/samples.hpp"
#include "tests/unit/plan_answer/plan_answer_fixture.hpp"

namespace orrery::gui {
namespace {

using testing::printed;
using testing::read_text;
using testing::replaced;
using testing::wait_for;
using testing::write_text;

class PlanView : public ::testing::Test {
 protected:
  PlanView() {
    QSettings().clear();
    write_text(file(), plan::test::small_text() + plan::test::narrow_block());
    window = std::make_unique<MainWindow>();
    window->tell = [](const QString& sentence) { FAIL() << sentence.toStdString(); };
    window->ask_unsaved = [](const QString&) { return UnsavedChoice::discard; };
    window->resize(1400, 900);
    window->show();
    page = window->open_file(file());
    EXPECT_TRUE(wait_for([this] { return page->answered() && !page->running(); }));
    page->show_plan();
  }

  [[nodiscard]] QString file() const { return folder.filePath("small.yaml"); }

  [[nodiscard]] PlanPanel& panel() const { return page->plan(); }

  [[nodiscard]] PlanResultView& result() const { return page->plan().result(); }

  [[nodiscard]] AnswerTable& ranking() const { return result().table(PlanResultView::ranking); }

  // With the button of the page that says what a plan is.
  void find_plan() {
    panel().start();
    ASSERT_TRUE(wait_for([this] { return panel().outcome() && !panel().running(); }));
    ASSERT_NE(panel().outcome()->plan, nullptr);
  }

  [[nodiscard]] const plan::Plan& plan() const { return *panel().outcome()->plan; }

  // The text of a scenario that an action opens.
  std::string opened(const std::function<void()>& action) {
    const std::size_t before = window->pages().size();
    action();
    EXPECT_TRUE(wait_for([&] { return window->pages().size() > before; }));
    return window->pages().back()->document().utf8();
  }

  std::string best_of_command_line() {
    const QString best = folder.filePath("best.yaml");
    printed({"plan", "--quiet", "-o", best, file()});
    return read_text(best);
  }

  QTemporaryDir folder;
  std::unique_ptr<MainWindow> window;
  DocumentPage* page = nullptr;
};

TEST_F(PlanView, HasTheWindowForItselfAndSaysWhatItDoes) {
  EXPECT_TRUE(page->plan_shown());
  for (const QDockWidget* dock : window->findChildren<QDockWidget*>()) {
    EXPECT_FALSE(dock->isVisible()) << dock->objectName().toStdString();
  }
  QPushButton* start = nullptr;
  for (auto* button : panel().findChildren<QPushButton*>()) {
    start = button->isVisible() && button->text() == "&Find the best layouts" ? button : start;
  }
  ASSERT_NE(start, nullptr) << "one button begins it";
  QTest::mouseClick(start, Qt::LeftButton);
  EXPECT_TRUE(panel().running());
  ASSERT_TRUE(wait_for([this] { return !panel().running(); }));
  EXPECT_TRUE(result().isVisible());
  page->show_form(false);
  EXPECT_TRUE(window->findChild<QDockWidget*>("Answer")->isVisible());
}

TEST_F(PlanView, ARowIsThePointAndThePointTheRow) {
  find_plan();
  ASSERT_GE(plan().finalists.size(), 2U);
  ASSERT_TRUE(result().chosen());
  EXPECT_EQ(result().chosen()->tag, plan().finalists.front().proposal.tag);
  const QModelIndex second = ranking().model()->index(1, 0);
  QTest::mouseClick(ranking().viewport(), Qt::LeftButton, {},
                    ranking().visualRect(second).center());
  EXPECT_EQ(result().chosen()->tag, plan().finalists[1].proposal.tag);
  ChartView& chart = *result().findChild<ChartView*>();
  ASSERT_TRUE(chart.read()) << "the point of the row is marked";
  EXPECT_TRUE(chart.accessibleDescription().contains("rank 2"))
      << chart.accessibleDescription().toStdString();
  // The last series is the best plan, and drawn on top.
  const PlotPoint best{chart.plot().series.size() - 1, 0};
  QTest::mouseClick(&chart, Qt::LeftButton, {}, chart.position_of(best).toPoint());
  EXPECT_EQ(result().chosen()->tag, plan().finalists.front().proposal.tag);
  EXPECT_EQ(ranking().currentIndex().row(), 0);
}

TEST_F(PlanView, OpensTheBestPlanAsTheCommandLineWritesIt) {
  find_plan();
  const std::string expected = best_of_command_line();
  ranking().setFocus();
  EXPECT_EQ(opened([this] { QTest::keyClick(&ranking(), Qt::Key_Return); }), expected);
  const DocumentPage* best = window->current_page();
  EXPECT_EQ(best->title(), "best plan of small.yaml");
  EXPECT_TRUE(window->pages().back()->document().modified()) << "no file holds it yet";
  EXPECT_EQ(read_text(file()), page->document().utf8()) << "the scenario stays as it is";
  ASSERT_TRUE(wait_for([&] { return best->answered() && !best->running(); }));
  const report::MetricId step = report::MetricId::step_time;
  EXPECT_EQ(best->answered()->evaluation->metrics.find(step)->value,
            plan().finalists.front().evaluation.metrics.find(step)->value);
}

TEST_F(PlanView, ADoubleClickOnAPointOpensIt) {
  find_plan();
  ChartView& chart = *result().findChild<ChartView*>();
  const PlotPoint best{chart.plot().series.size() - 1, 0};
  const QPoint place = chart.position_of(best).toPoint();
  EXPECT_EQ(opened([&] { QTest::mouseDClick(&chart, Qt::LeftButton, {}, place); }),
            best_of_command_line());
}

TEST_F(PlanView, ComparesAPlanWithTheScenario) {
  find_plan();
  window->new_document();
  page->show_plan();
  QPushButton* compare = nullptr;
  for (auto* button : result().findChildren<QPushButton*>()) {
    compare = button->text() == "Co&mpare" ? button : compare;
  }
  ASSERT_NE(compare, nullptr);
  opened([&] { compare->click(); });
  EXPECT_TRUE(window->compare().isVisible());
  const auto& heads = window->findChild<AnswerTable*>("Keys that differ")->table().heads;
  EXPECT_EQ(heads, (std::vector<QString>{"key", "small.yaml", "best plan of small.yaml"}))
      << "and not the new document";
}

TEST_F(PlanView, OptionsGoBeforeTheScenario) {
  EXPECT_TRUE(panel().findChild<PlanOptionsView*>()->choose("plan.objective", "cost"));
  EXPECT_TRUE(panel().findChild<PlanOptionsView*>()->choose("plan.search.spares", "0,2"));
  EXPECT_FALSE(panel().findChild<PlanOptionsView*>()->choose("plan.search.nothing", "1"));
  find_plan();
  EXPECT_EQ(plan().spec.objective, plan::Objective::cost);
  EXPECT_EQ(plan().spec.run[1].values, (std::vector<std::string>{"0", "2"}));
  EXPECT_EQ(ranking().table().heads[2], "mean cost");
  EXPECT_FALSE(page->document().modified());
}

TEST_F(PlanView, SaysWhatIsWrongWithAQuestionAndKeepsThePlanBefore) {
  find_plan();
  const PlanPtr before = panel().outcome();
  panel().findChild<PlanOptionsView*>()->choose("plan.finalists", "many");
  panel().start();
  ASSERT_TRUE(wait_for([this] { return !panel().running(); }));
  EXPECT_TRUE(panel().sentence().startsWith("plan.finalists: "))
      << panel().sentence().toStdString();
  EXPECT_EQ(panel().outcome(), before);
  panel().findChild<PlanOptionsView*>()->choose("plan.finalists", "");
  EXPECT_EQ(page->document().set_key("capacity.spares", "3"), "");
  EXPECT_TRUE(panel().sentence().startsWith("The scenario has changed"))
      << panel().sentence().toStdString();
}

TEST_F(PlanView, EscapeKeepsTheBestSoFar) {
  EXPECT_EQ(page->document().set_key("simulation.trials", "20000"), "");
  page->cancel();  // the evaluation of the edit
  bool stopped = false;
  QObject::connect(&panel(), &PlanPanel::progressed, [&] {
    if (!stopped && panel().sentence().startsWith("Simulating")) {
      stopped = true;
      QTest::keyClick(window.get(), Qt::Key_Escape);
    }
  });
  panel().start();
  ASSERT_TRUE(wait_for([this] { return !panel().running(); }));
  EXPECT_TRUE(stopped);
  ASSERT_NE(panel().outcome(), nullptr);
  EXPECT_FALSE(plan().complete());
  EXPECT_TRUE(panel().sentence().startsWith("interrupted")) << panel().sentence().toStdString();
}

TEST_F(PlanView, APageClosesWhileItPlans) {
  EXPECT_EQ(page->document().set_key("simulation.trials", "20000"), "");
  panel().start();
  EXPECT_TRUE(window->close_page(page));
  EXPECT_TRUE(window->pages().empty());
  QTest::qWait(50);
}

}  // namespace
}  // namespace orrery::gui
