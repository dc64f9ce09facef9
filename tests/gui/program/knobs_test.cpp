// The knobs above the answer: one turn, what follows from it, and one undo.

#include <gtest/gtest.h>

#include <QAbstractItemView>
#include <QComboBox>
#include <QCompleter>
#include <QFrame>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QSlider>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "gui/widgets/knob_strip.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/pages/welcome_page.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "tests/gui/program/samples.hpp"

namespace orrery::gui {
namespace {

using testing::replaced;
using testing::run_scenario;
using testing::wait_for;
using testing::write_text;

class Knobs : public ::testing::Test {
 protected:
  Knobs() {
    QSettings().clear();
    window = std::make_unique<MainWindow>();
    window->show();
  }

  DocumentPage* opened(const std::string& text = run_scenario()) {
    const QString file = folder.filePath(QString("run%1.yaml").arg(window->pages().size()));
    write_text(file, text);
    DocumentPage* page = window->open_file(file);
    EXPECT_TRUE(settled(page));
    return page;
  }

  static bool settled(DocumentPage* page) {
    return wait_for([page] {
      return page->outcome() && page->outcome()->text == page->document().utf8() &&
             !page->running();
    });
  }

  [[nodiscard]] KnobStrip& strip() const { return *window->findChild<KnobStrip*>(); }

  template <typename Field>
  [[nodiscard]] Field* field(const char* name) const {
    for (Field* one : strip().findChildren<Field*>()) {
      if (one->accessibleName() == name) {
        return one;
      }
    }
    return nullptr;
  }

  [[nodiscard]] QString said() const {
    for (const QLabel* label : strip().findChildren<QLabel*>()) {
      if (label->textFormat() == Qt::RichText && label->isVisible()) {
        return label->text();
      }
    }
    return {};
  }

  QTemporaryDir folder;
  std::unique_ptr<MainWindow> window;
};

TEST_F(Knobs, NamesStandInGroupsThatTypingFilters) {
  DocumentPage* page = opened();
  auto* gpu = field<QComboBox>("GPU");
  ASSERT_NE(gpu, nullptr);
  const int hopper = gpu->findData("NVIDIA Hopper", Qt::ToolTipRole);
  ASSERT_GE(hopper, 0);
  EXPECT_FALSE(gpu->model()->index(hopper, 0).flags().testFlag(Qt::ItemIsEnabled));
  QCompleter* search = gpu->completer();
  search->setCompletionPrefix("h200-nvl");
  ASSERT_EQ(search->completionCount(), 2) << "the name below its heading";
  EXPECT_EQ(search->completionModel()->index(0, 0).data(Qt::ToolTipRole), "NVIDIA Hopper");
  search->setCompletionPrefix("gaudi");
  EXPECT_EQ(search->completionCount(), 3) << "a heading finds what stands below it";
  // The keyboard goes from the first name of a group to the last of the one before.
  gpu->setCurrentIndex(hopper + 1);
  QTest::keyClick(gpu, Qt::Key_Up);
  EXPECT_EQ(gpu->currentText(), "rtx-4090");
  EXPECT_NE(page->document().utf8().find("gpu: rtx-4090"), std::string::npos);
  // What is typed into the open list searches, too.
  gpu->showPopup();
  QTest::keyClick(gpu->view(), 'm');
  EXPECT_TRUE(search->popup()->isVisible());
  EXPECT_EQ(gpu->lineEdit()->text(), "m");
}

TEST_F(Knobs, AKnobChangesTheTextAndWhatFollowsFromIt) {
  DocumentPage* page = opened(replaced(run_scenario(), "pipeline: 2", "pipeline: 2\n  data: 4"));
  KnobStrip& knobs = strip();
  EXPECT_EQ(knobs.value_of("layout.tensor"), "8");
  EXPECT_EQ(knobs.value_of("capacity.spares"), "1");
  EXPECT_EQ(knobs.turn("layout.tensor", "4"), "");
  EXPECT_EQ(page->document().utf8(),
            replaced(replaced(run_scenario(), "pipeline: 2", "pipeline: 2\n  data: 8"), "tensor: 8",
                     "tensor: 4"))
      << "the stated data degree goes with it";
  EXPECT_EQ(said(), "Followed: <b>data 4 to 8</b>.");
  ASSERT_TRUE(settled(page));
  EXPECT_TRUE(page->outcome()->evaluation);
  EXPECT_EQ(knobs.value_of("layout.tensor"), "4");
  page->document().text_document()->undo();
  EXPECT_EQ(page->document().utf8(),
            replaced(run_scenario(), "pipeline: 2", "pipeline: 2\n  data: 4"))
      << "one step of undo";
  EXPECT_NE(knobs.turn("layout.tesor", "4"), "");
}

TEST_F(Knobs, WhatFollowsFromAKnobIsSaidAndUndoneWithIt) {
  DocumentPage* page = window->open_example(
      window->welcome().examples().currentItem()->data(Qt::UserRole).toString());
  ASSERT_TRUE(settled(page));
  const std::string before = page->document().utf8();
  KnobStrip& knobs = strip();
  ASSERT_EQ(knobs.turn("cluster.nodes", "1024"), "");
  ASSERT_TRUE(settled(page));
  ASSERT_TRUE(page->outcome()->evaluation);
  EXPECT_TRUE(page->outcome()->evaluation->feasible);
  EXPECT_EQ(page->outcome()->evaluation->step.gpus, 8192);
  page->document().text_document()->undo();
  EXPECT_EQ(page->document().utf8(), before) << "one step of undo";
}

TEST_F(Knobs, AKnobIsTurnedByItsArrows) {
  DocumentPage* page = opened();
  auto* tensor = field<QSpinBox>("Tensor");
  ASSERT_NE(tensor, nullptr);
  tensor->stepDown();
  EXPECT_EQ(page->document().utf8(), replaced(run_scenario(), "tensor: 8", "tensor: 4"));
  ASSERT_TRUE(settled(page));
  for (QPushButton* button : strip().findChildren<QPushButton*>()) {
    if (button->text() == "Back to A") {
      EXPECT_TRUE(button->isEnabled());
      button->click();
    }
  }
  EXPECT_EQ(page->document().utf8(), run_scenario());
}

TEST_F(Knobs, ListsHoldEveryNameAndAPartOfOneIsEnough) {
  DocumentPage* page = opened();
  auto* gpu = field<QComboBox>("GPU");
  ASSERT_NE(gpu, nullptr);
  EXPECT_GT(gpu->count(), 5);
  EXPECT_TRUE(gpu->itemData(gpu->currentIndex(), Qt::ToolTipRole)
                  .toString()
                  .startsWith("NVIDIA H100 SXM5 80 GB"))
      << "a name says what it is";
  EXPECT_EQ(gpu->currentIndex(), gpu->findText("h100-sxm-80gb")) << "from which arrow keys go on";
  EXPECT_GT(field<QComboBox>("Precision")->count(), 1);
  EXPECT_GT(field<QComboBox>("Recompute")->count(), 1);
  gpu->setFocus();
  gpu->lineEdit()->selectAll();
  QTest::keyClicks(gpu->lineEdit(), "h200");
  QTest::keyClick(gpu->lineEdit(), Qt::Key_Return);
  EXPECT_NE(page->document().utf8().find("h200"), std::string::npos);
}

TEST_F(Knobs, TheModelIsOneOfThemAndAPartOfItsNameStartsBeforeItIsWithin) {
  DocumentPage* page = opened();
  auto* model = field<QComboBox>("Model");
  ASSERT_NE(model, nullptr);
  model->setFocus();
  model->lineEdit()->selectAll();
  QTest::keyClicks(model->lineEdit(), "qwen3-32");
  QTest::keyClick(model->lineEdit(), Qt::Key_Return);
  EXPECT_NE(page->document().utf8().find("qwen3-32b"), std::string::npos);
  auto* gpu = field<QComboBox>("GPU");
  gpu->setFocus();
  gpu->lineEdit()->selectAll();
  QTest::keyClicks(gpu->lineEdit(), "h20");
  QTest::keyClick(gpu->lineEdit(), Qt::Key_Return);
  EXPECT_EQ(page->document().utf8().find("gh200"), std::string::npos);
}

TEST_F(Knobs, UndoWorksWhileAKnobHasTheFocus) {
  DocumentPage* page = opened();
  ASSERT_TRUE(QTest::qWaitForWindowActive(window.get()));
  auto* tensor = field<QSpinBox>("Tensor");
  tensor->setFocus();
  QTest::keyClick(tensor, Qt::Key_Down);
  EXPECT_NE(page->document().utf8(), run_scenario());
  QTest::keyClick(tensor, Qt::Key_Z, Qt::ControlModifier);
  EXPECT_EQ(page->document().utf8(), run_scenario());
}

TEST_F(Knobs, WhatIsSaidEndsWithTheNextEdit) {
  DocumentPage* page = window->open_example(
      window->welcome().examples().currentItem()->data(Qt::UserRole).toString());
  ASSERT_TRUE(settled(page));
  ASSERT_EQ(strip().turn("cluster.nodes", "1024"), "");
  EXPECT_TRUE(said().contains("Followed: ")) << said().toStdString();
  ASSERT_EQ(page->document().set_key("name", "mine"), "");
  EXPECT_EQ(said(), "") << "its link would undo the name";
}

TEST_F(Knobs, ANumberOfNodesThatCannotBeIsShownAndTakenBack) {
  DocumentPage* page = opened();
  ASSERT_EQ(strip().turn("cluster.nodes", "7"), "");
  ASSERT_TRUE(settled(page));
  ASSERT_FALSE(page->outcome()->evaluation);
  EXPECT_EQ(strip().value_of("cluster.nodes"), "7") << "as in the text";
  EXPECT_TRUE(said().contains("Back to 8")) << said().toStdString();
  EXPECT_TRUE(said().contains("cluster.nodes=8\"")) << "the nearest that works";
  for (QLabel* label : strip().findChildren<QLabel*>()) {
    if (label->textFormat() == Qt::RichText) {
      emit label->linkActivated("cluster.nodes=6");
    }
  }
  EXPECT_NE(page->document().utf8().find("nodes: 6"), std::string::npos);
}

TEST_F(Knobs, AMixtureOfExpertsHasAKnobForThem) {
  opened();
  EXPECT_FALSE(field<QSpinBox>("Expert")->isVisible());
  opened(replaced(run_scenario(), "llama3-70b", "mixtral-8x7b"));
  EXPECT_EQ(strip().value_of("layout.expert"), "1");
}

TEST_F(Knobs, ASliderStopsWhereTheFieldSteps) {
  DocumentPage* page = opened();
  auto* nodes = field<QSlider>("Nodes slider");
  ASSERT_NE(nodes, nullptr);
  EXPECT_EQ(field<QSlider>("GPU slider"), nullptr) << "names have a list";
  EXPECT_EQ(nodes->maximum(), 7) << "1 to 128 nodes";
  EXPECT_EQ(nodes->value(), 3);
  nodes->setValue(4);
  EXPECT_EQ(page->document().utf8(), replaced(run_scenario(), "nodes: 8", "nodes: 16"));
  ASSERT_TRUE(settled(page));
  EXPECT_EQ(nodes->value(), 4) << "around the baseline as before";
  auto* price = field<QSlider>("GPU hour slider");
  price->setValue(price->maximum());
  EXPECT_NE(page->document().utf8().find("gpu_hour: $10.0/h"), std::string::npos);
}

TEST_F(Knobs, TheTimeBetweenFailuresIsTurnedAsATime) {
  DocumentPage* page = opened();
  KnobStrip& knobs = strip();
  EXPECT_TRUE(knobs.value_of("failures.node_rate").endsWith('h'));
  ASSERT_EQ(knobs.turn("failures.node_rate", "20h"), "");
  ASSERT_TRUE(settled(page));
  EXPECT_NEAR(in_hours(*page->outcome()->evaluation->plan->mtbf), 20.0, 0.01);
  EXPECT_EQ(knobs.value_of("failures.node_rate"), "20.0h");
  ASSERT_EQ(knobs.turn("failures.node_rate", "0.01/d"), "") << "a rate is taken as it is";
  EXPECT_NE(page->document().utf8().find("node_rate: 0.01/d"), std::string::npos);
}

TEST_F(Knobs, ThoseThatDoNotFitAreBehindAButton) {
  DocumentPage* opened_page = opened();
  window->resize(1024, 700);
  QTest::qWait(50);
  auto* more = strip().findChild<QToolButton*>();
  ASSERT_TRUE(more->isVisible());
  EXPECT_TRUE(more->text().endsWith(" more"));
  auto* checkpoint = field<QLineEdit>("Checkpoint");
  EXPECT_FALSE(checkpoint->isVisible());
  more->click();
  EXPECT_TRUE(checkpoint->isVisible());
  auto* slider = field<QSlider>("GPU hour slider");
  ASSERT_TRUE(slider->isVisible()) << "in the list as well";
  EXPECT_FALSE(slider->isWindow()) << "whose list would close";
  slider->setValue(slider->maximum());
  EXPECT_NE(opened_page->document().utf8().find("gpu_hour: $10.0/h"), std::string::npos);
  checkpoint->window()->hide();
}

}  // namespace
}  // namespace orrery::gui
