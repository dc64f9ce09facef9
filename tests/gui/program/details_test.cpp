// What a click in the timeline says, and what a loss lights there.

#include <gtest/gtest.h>

#include <QDockWidget>
#include <QTemporaryDir>
#include <QTest>

#include "gui/models/plots/plot.hpp"
#include "gui/report/report_page.hpp"
#include "gui/widgets/charts_panel.hpp"
#include "gui/widgets/dashboard_view.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/details_drawer.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "sim/answer/report/text/slides.hpp"
#include "tests/gui/program/samples.hpp"

namespace orrery::gui {
namespace {

using testing::wait_for;

class DetailsOfTimeline : public ::testing::Test {
 protected:
  void SetUp() override {
    QSettings().clear();
    window = std::make_unique<MainWindow>();
    window->show();
    const QString file = folder.filePath("run.yaml");
    testing::write_text(file, testing::replaced(testing::run_scenario(), "{preset: rsc1-2024}",
                                                "{preset: rsc1-2024, node_rate: 0.5/d}"));
    page = window->open_file(file);
    ASSERT_TRUE(wait_for([this] { return page->answered() && !page->stale(); }));
    window->timeline().resize(900, 500);
    window->timeline().go_to_level(1);
  }

  // The first wait that is drawn.
  [[nodiscard]] timeline::SliceId first_wait() const {
    const timeline::Store& store = window->timeline().view().store();
    for (timeline::SliceId id = 0; id < store.slices().size(); ++id) {
      if (is_wait(store.slices()[id].category())) {
        return id;
      }
    }
    return 0;
  }

  [[nodiscard]] QString words() const { return window->findChild<DetailsView*>()->toPlainText(); }

  [[nodiscard]] bool drawer_open() const {
    return window->findChild<QDockWidget*>("Details")->isVisible();
  }

  QTemporaryDir folder;
  std::unique_ptr<MainWindow> window;
  DocumentPage* page = nullptr;
};

TEST_F(DetailsOfTimeline, AWaitSaysForWhatAndGoesThere) {
  EXPECT_FALSE(drawer_open());
  const timeline::SliceId wait = first_wait();
  window->timeline().choose(wait);
  ASSERT_TRUE(drawer_open());
  const QString text = words();
  EXPECT_TRUE(text.startsWith("Waits ")) << text.toStdString();
  EXPECT_TRUE(text.contains("this wait, in every step"));
  EXPECT_TRUE(text.contains("$"));
  ASSERT_TRUE(text.contains("which waited for nothing")) << text.toStdString();
  QTest::keyClick(&window->timeline(), Qt::Key_Return);
  const timeline::View& view = window->timeline().view();
  ASSERT_TRUE(view.selected());
  EXPECT_NE(*view.selected(), wait);
  EXPECT_FALSE(is_wait(view.store().slices()[*view.selected()].category()));
  EXPECT_TRUE(words().contains("takes "));
  QTest::keyClick(&window->timeline(), Qt::Key_Escape);
  EXPECT_FALSE(drawer_open());
}

TEST_F(DetailsOfTimeline, AnEditKeepsWhatIsSelected) {
  window->timeline().zoom(0.8);
  window->timeline().choose(first_wait());
  const auto selected = window->timeline().view().selected();
  page->document().text_document()->setPlainText(page->document().text_document()->toPlainText() +
                                                 "\n");
  ASSERT_TRUE(wait_for([this] { return !page->stale() && !page->running(); }));
  EXPECT_EQ(window->timeline().view().selected(), selected);
  EXPECT_TRUE(drawer_open());
}

TEST_F(DetailsOfTimeline, UndoOfAChangeOfNodesKeepsTheStepAndWhatIsSelected) {
  window->timeline().choose(first_wait());
  const auto selected = window->timeline().view().selected();
  const auto answered = [this] {
    return wait_for([this] { return !page->stale() && !page->running(); });
  };
  ASSERT_EQ(page->document().set_key("cluster.nodes", "16"), "");
  ASSERT_TRUE(answered());
  EXPECT_EQ(window->timeline().view().level(), 1U);
  page->document().text_document()->undo();
  ASSERT_TRUE(answered());
  EXPECT_EQ(window->timeline().view().level(), 1U);
  EXPECT_EQ(window->timeline().view().selected(), selected);
}

TEST_F(DetailsOfTimeline, AStopOfTheRunSaysWhatItCosts) {
  window->timeline().go_to_level(0);
  const timeline::Store& store = window->timeline().view().store();
  timeline::SliceId stop = 0;
  while (stop < store.slices().size() &&
         store.rows()[store.tracks()[store.track_of(stop)].row].name != "recovery") {
    ++stop;
  }
  ASSERT_LT(stop, store.slices().size()) << "a run without failures";
  window->timeline().choose(stop);
  ASSERT_TRUE(drawer_open());
  const QString text = words();
  EXPECT_TRUE(text.contains(" stops training for ")) << text.toStdString();
  EXPECT_TRUE(text.contains("this stop, with lost work"));
}

TEST_F(DetailsOfTimeline, ALossLightsItsSlicesAndTheSecondClickTakesItBack) {
  const QImage before = window->timeline().grab().toImage();
  emit window->dashboard().loss_chosen(step_hue(step::StepCategory::bubble), "pipeline bubble");
  EXPECT_NE(window->timeline().grab().toImage(), before);
  emit window->dashboard().loss_chosen(step_hue(step::StepCategory::bubble), "pipeline bubble");
  EXPECT_EQ(window->timeline().grab().toImage(), before);
  emit window->dashboard().loss_chosen(step_hue(step::StepCategory::bubble), "pipeline bubble");
  QTest::keyClick(&window->timeline(), Qt::Key_N);
  const timeline::View& view = window->timeline().view();
  ASSERT_TRUE(view.selected());
  const timeline::Slice longest = view.store().slices()[*view.selected()];
  EXPECT_EQ(longest.category(), timeline::Category::wait_bubble);
  for (const timeline::Slice& slice : view.store().slices()) {
    if (slice.category() == timeline::Category::wait_bubble) {
      EXPECT_LE(view.store().duration_of(slice), view.store().duration_of(longest));
    }
  }
}

TEST_F(DetailsOfTimeline, ALossOfTheStepIsLitInTheStep) {
  window->timeline().go_to_level(0);
  emit window->charts().loss_chosen(step_hue(step::StepCategory::bubble), "pipeline bubble");
  EXPECT_EQ(window->timeline().view().level(), 1U);
}

TEST_F(DetailsOfTimeline, SlidesAreThreePages) {
  const QByteArray pdf = slides_pdf(*page->answered()->evaluation);
  EXPECT_TRUE(pdf.startsWith("%PDF"));
  EXPECT_EQ(pdf.count("/Type /Page\n"), 3);
}

}  // namespace
}  // namespace orrery::gui
