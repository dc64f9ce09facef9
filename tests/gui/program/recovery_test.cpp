// Unsaved scenarios outlive a program that is killed, and only then.

#include <gtest/gtest.h>

#include <QDir>
#include <QPushButton>
#include <QTemporaryDir>
#include <QToolBar>
#include <csignal>

#include "gui/models/scenario_document.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "tests/gui/program/samples.hpp"

namespace orrery::gui {
namespace {

using testing::replaced;
using testing::run_scenario;
using testing::wait_for;
using testing::write_text;

std::size_t files_in(const QString& folder) {
  std::size_t files = 0;
  for (const QString& one : QDir(folder).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
    files += static_cast<std::size_t>(QDir(folder + "/" + one).entryList({"*.json"}).size());
  }
  return files;
}

TEST(Autosave, KeepsATextWhileItIsNotSaved) {
  const QTemporaryDir folder;
  const QTemporaryDir kept;
  const auto recovery = std::make_shared<Recovery>(kept.path());
  const QString path = folder.filePath("run.yaml");
  write_text(path, run_scenario());
  ScenarioDocument document;
  ASSERT_EQ(document.open(path), "");
  const Autosave autosave(recovery, &document);
  EXPECT_EQ(document.set_key("capacity.spares", "5"), "");
  EXPECT_TRUE(wait_for([&] { return files_in(kept.path()) == 1; }));
  EXPECT_EQ(document.save(), "");
  EXPECT_EQ(files_in(kept.path()), 0U);
  EXPECT_EQ(document.set_key("capacity.spares", "6"), "");
  EXPECT_TRUE(wait_for([&] { return files_in(kept.path()) == 1; }));
  document.text_document()->undo();
  EXPECT_EQ(files_in(kept.path()), 0U) << "it is as the file holds it";
}

TEST(Autosave, SaysWhyThereIsNoCopy) {
  const QTemporaryDir folder;
  write_text(folder.filePath("file"), "");
  const Recovery recovery(folder.filePath("file"));
  EXPECT_TRUE(recovery.write("x", {}).startsWith("No recovery copy: "));
}

TEST(Recovery, LeavesTheTextsOfARunningProgramAlone) {
  const QTemporaryDir kept;
  Recovery running(kept.path());
  EXPECT_EQ(running.write("x", {.text = "format: orrery/1\n"}), "");
  Recovery other(kept.path());
  EXPECT_TRUE(other.take_lost().empty());
  EXPECT_TRUE(running.take_lost().empty()) << "its own are not lost";
}

TEST(Recovery, RestoresADocumentWhoseFileIsGone) {
  ScenarioDocument document;
  document.restore({.path = "/no/where.yaml",
                    .origin = "/no/where.yaml",
                    .title = "where.yaml",
                    .text = "format: orrery/1\n"});
  EXPECT_EQ(document.utf8(), "format: orrery/1\n");
  EXPECT_TRUE(document.modified());
  EXPECT_EQ(document.path(), "") << "saving asks for a place";
  EXPECT_EQ(document.title(), "where.yaml");
}

// Two documents, one of a file and one of none, and then `kill -9`.
void edit_and_be_killed(const QString& path) {
  MainWindow window;
  DocumentPage* page = window.open_file(path);
  DocumentPage* fresh = window.new_document();
  static_cast<void>(page->document().set_key("capacity.spares", "5"));
  static_cast<void>(fresh->document().set_key("capacity.spares", "7"));
  const QString kept = qEnvironmentVariable("XDG_DATA_HOME") + "/orrery-test/orrery-gui-test/";
  static_cast<void>(wait_for([&] { return files_in(kept + "recovery") == 2; }));
  static_cast<void>(std::raise(SIGKILL));
}

TEST(RecoveryDeathTest, BringsBackWhatAKilledProgramHeld) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const QString path = qEnvironmentVariable("XDG_DATA_HOME") + "/killed.yaml";
  write_text(path, run_scenario());
  EXPECT_EXIT(edit_and_be_killed(path), ::testing::KilledBySignal(SIGKILL), "");
  MainWindow window;
  QToolBar* bar = offer_lost_texts(window);
  ASSERT_NE(bar, nullptr);
  EXPECT_EQ(offer_lost_texts(window), nullptr) << "offered once";
  bar->findChildren<QPushButton*>().front()->click();
  const std::vector<DocumentPage*> pages = window.pages();
  ASSERT_EQ(pages.size(), 2U);
  for (DocumentPage* page : pages) {
    EXPECT_TRUE(page->document().modified());
    const bool of_file = page->document().path() == path;
    EXPECT_NE(page->document().utf8().find(of_file ? "spares: 5" : "spares: 7"), std::string::npos);
    if (of_file) {
      page->document().text_document()->undo();
      EXPECT_EQ(page->document().utf8(), run_scenario()) << "undo leads back to the file";
    }
  }
}

}  // namespace
}  // namespace orrery::gui
