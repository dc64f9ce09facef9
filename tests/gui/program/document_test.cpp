// The document: nothing is lost on the way from disk to text and back, and every problem is said.

#include <gtest/gtest.h>

#include <QFile>
#include <QTemporaryDir>

#include "gui/models/form_model.hpp"
#include "gui/models/scenario_document.hpp"
#include "gui/widgets/pages/welcome_page.hpp"
#include "tests/gui/program/samples.hpp"

namespace orrery::gui {
namespace {

using testing::read_text;
using testing::replaced;
using testing::run_scenario;
using testing::wait_for;
using testing::write_text;

class Document : public ::testing::Test {
 protected:
  [[nodiscard]] QString path(const char* name) const { return folder.filePath(name); }

  QTemporaryDir folder;
  ScenarioDocument document;
};

TEST_F(Document, WritesBackWhatItRead) {
  const std::string bytes =
      "a: 1\r\nb: \"no\xc2\xa0"
      "break \xe2\x82\xac\"\r\n# end without a line end";
  write_text(path("x.yaml"), bytes);
  ASSERT_EQ(document.open(path("x.yaml")), "");
  EXPECT_FALSE(document.modified());
  ASSERT_EQ(document.save_as(path("y.yaml")), "");
  EXPECT_EQ(read_text(path("y.yaml")), bytes);
  EXPECT_EQ(document.title(), "y.yaml");
}

TEST_F(Document, KnowsWhetherItIsSaved) {
  write_text(path("x.yaml"), run_scenario());
  ASSERT_EQ(document.open(path("x.yaml")), "");
  ASSERT_EQ(document.set_key("layout.tensor", "4"), "");
  EXPECT_TRUE(document.modified());
  document.text_document()->undo();
  EXPECT_FALSE(document.modified()) << "one undo takes the whole edit back";
  EXPECT_EQ(document.utf8(), run_scenario());
  document.text_document()->redo();
  ASSERT_EQ(document.save(), "");
  EXPECT_FALSE(document.modified());
  EXPECT_EQ(read_text(path("x.yaml")), replaced(run_scenario(), "tensor: 8 ", "tensor: 4 "));
}

TEST_F(Document, RefusesWhatIsNoText) {
  write_text(path("x.yaml"), "a: \xff\xfe");
  EXPECT_EQ(document.open(path("x.yaml")), path("x.yaml") + ": not a text in UTF-8.");
  EXPECT_NE(document.open(path("missing.yaml")), "");
  EXPECT_NE(document.open(folder.path()), "");
  write_text(path("huge.yaml"), std::string((std::size_t{4} << 20U) + 1, '#'));
  EXPECT_NE(document.open(path("huge.yaml")), "");
  EXPECT_EQ(document.utf8(), "");
  EXPECT_EQ(document.path(), "");
}

TEST_F(Document, SaysWhyItCannotBeSavedAndKeepsTheText) {
  document.start_new(QString::fromStdString(run_scenario()), "new");
  EXPECT_NE(document.save(), "") << "it has no file yet";
  EXPECT_NE(document.save_as(path("no/such/folder/x.yaml")), "");
  EXPECT_EQ(document.utf8(), run_scenario());
}

TEST_F(Document, OfAnExampleAsksWhereToBeSaved) {
  write_text(path("x.yaml"), run_scenario());
  ASSERT_EQ(document.open_example(path("x.yaml")), "");
  EXPECT_EQ(document.path(), "");
  EXPECT_EQ(document.title(), "x.yaml");
  EXPECT_EQ(document.file_name(), path("x.yaml").toStdString());
}

TEST_F(Document, TellsWhenItsFileVanishesOrChanges) {
  write_text(path("x.yaml"), run_scenario());
  ASSERT_EQ(document.open(path("x.yaml")), "");
  QSignalSpy told(&document, &ScenarioDocument::changed_on_disk);
  write_text(path("x.yaml"), "format: orrery/1\n");
  ASSERT_TRUE(wait_for([&] { return told.count() > 0; }));
  EXPECT_FALSE(told.last().front().toBool());
  ASSERT_TRUE(QFile::remove(path("x.yaml")));
  ASSERT_TRUE(wait_for([&] { return told.last().front().toBool(); }));
  EXPECT_TRUE(document.modified()) << "the text in memory is the only one";
  EXPECT_EQ(document.utf8(), run_scenario());
  ASSERT_EQ(document.save(), "");
  EXPECT_EQ(read_text(path("x.yaml")), run_scenario());
}

TEST_F(Document, IsQuietAboutItsOwnSaves) {
  write_text(path("x.yaml"), run_scenario());
  ASSERT_EQ(document.open(path("x.yaml")), "");
  QSignalSpy told(&document, &ScenarioDocument::changed_on_disk);
  ASSERT_EQ(document.set_key("capacity.spares", "3"), "");
  ASSERT_EQ(document.save(), "");
  constexpr int kAWhile = 300;
  told.wait(kAWhile);
  EXPECT_EQ(told.count(), 0);
}

TEST_F(Document, ShowsAFormOfItself) {
  document.start_new(QString::fromStdString(run_scenario()), "new");
  FormModel form(&document);
  const QModelIndex tensor = form.find("layout.tensor");
  ASSERT_TRUE(tensor.isValid());
  EXPECT_EQ(tensor.data().toString(), "8");
  EXPECT_TRUE(tensor.data(FormModel::kStatedRole).toBool());
  ASSERT_TRUE(form.setData(tensor, "4", Qt::EditRole));
  EXPECT_EQ(document.utf8(), replaced(run_scenario(), "tensor: 8 ", "tensor: 4 "));
  const QModelIndex mode = form.find("checkpoint.mode");
  EXPECT_TRUE(mode.data(FormModel::kChoicesRole).toStringList().contains("async"));
  const QStringList gpus = form.find("cluster.gpu").data(FormModel::kChoicesRole).toStringList();
  EXPECT_EQ(gpus.filter("h100-sxm-80gb\tNVIDIA H100").size(), 1) << "each with what it is";
  EXPECT_TRUE(gpus.contains("\tNVIDIA Hopper")) << "below the heading of its group";
  const QStringList models = form.find("model.preset").data(FormModel::kChoicesRole).toStringList();
  EXPECT_EQ(models.front(), "\tdense");
  // An empty value takes the key away; typing in the text changes the form.
  ASSERT_TRUE(form.setData(form.find("checkpoint.mode"), "", Qt::EditRole));
  EXPECT_EQ(document.utf8().find("mode:"), std::string::npos);
  document.text_document()->undo();
  EXPECT_TRUE(form.find("checkpoint.mode").data(FormModel::kStatedRole).toBool());
}

TEST_F(Document, SaysWhatAFormCannotChange) {
  document.start_new("name: |\n  two\n  lines\n", "new");
  FormModel form(&document);
  QSignalSpy refused(&form, &FormModel::refused);
  const QModelIndex spares = form.find("capacity.spares");
  EXPECT_FALSE(form.setData(spares, "1, x: [", Qt::EditRole));
  EXPECT_EQ(refused.count(), 1);
  EXPECT_EQ(document.utf8(), "name: |\n  two\n  lines\n");
  EXPECT_FALSE(form.find("name").flags().testFlag(Qt::ItemIsEditable));
}

TEST(RecentFiles, AreTheNewestFirstAndExist) {
  const QTemporaryDir folder;
  QSettings settings;
  settings.clear();
  for (const char* name : {"a.yaml", "b.yaml", "c.yaml"}) {
    write_text(folder.filePath(name), "x");
    add_recent_file(settings, folder.filePath(name));
  }
  add_recent_file(settings, folder.filePath("a.yaml"));
  ASSERT_TRUE(QFile::remove(folder.filePath("b.yaml")));
  EXPECT_EQ(recent_files(settings),
            QStringList({folder.filePath("a.yaml"), folder.filePath("c.yaml")}));
}

TEST(ShippedScenarios, HaveANameAndALine) {
  const auto all = shipped_scenarios();
  ASSERT_GT(all.size(), 50U);
  EXPECT_TRUE(all.front().path.endsWith("llama3-405b-16k.yaml"));
  for (const ShippedScenario& scenario : all) {
    EXPECT_FALSE(scenario.name.isEmpty()) << scenario.path.toStdString();
    EXPECT_FALSE(scenario.summary.isEmpty()) << scenario.path.toStdString();
  }
}

}  // namespace
}  // namespace orrery::gui
