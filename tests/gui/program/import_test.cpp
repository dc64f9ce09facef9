// Configuration files of other stacks in the window: chosen, dropped or named on the command line,
// they become the document that `orrery import` would write, and nothing else happens to them.

#include <gtest/gtest.h>

#include <QApplication>
#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QLineEdit>
#include <QMimeData>
#include <QProcess>
#include <QPushButton>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "gui/models/config_import.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/pages/trace_page.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "tests/checkout.hpp"
#include "tests/gui/program/samples.hpp"

namespace orrery::gui {
namespace {

using testing::run_scenario;
using testing::wait_for;
using testing::write_text;

constexpr const char* kModel = R"({
  "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
  "vocab_size": 128256, "tie_word_embeddings": false, "torch_dtype": "bfloat16"
})";

constexpr const char* kZero = R"({
  "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4,
  "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "wall_clock_breakdown": false
})";

const Table* table_of(const ImportAnswer& answer, const QString& title) {
  const auto found = std::find_if(answer.tables.begin(), answer.tables.end(),
                                  [&](const Table& table) { return table.title == title; });
  return found == answer.tables.end() ? nullptr : &*found;
}

std::vector<QString> asked_keys(const ImportAnswer& answer) {
  std::vector<QString> paths;
  for (const ImportKey& key : answer.keys) {
    if (key.asked) {
      paths.push_back(key.path);
    }
  }
  return paths;
}

class ImportWindow : public ::testing::Test {
 protected:
  ImportWindow() {
    QSettings().clear();
    window = std::make_unique<MainWindow>();
    window->tell = [this](const QString& sentence) { told.push_back(sentence); };
    window->ask_unsaved = [this](const QString&) {
      ++asked;
      return UnsavedChoice::cancel;
    };
    window->show();
    model = write("config.json", kModel);
    zero = write("ds.json", kZero);
  }

  QString write(const QString& name, const std::string& text) {
    write_text(folder.filePath(name), text);
    return folder.filePath(name);
  }

  static bool settled(const ImportPage* page) {
    return wait_for([page] { return page->answer() && !page->loading(); });
  }

  ImportPage* imported(const QStringList& paths) {
    ImportPage* page = window->import_files(paths);
    EXPECT_TRUE(settled(page));
    return page;
  }

  // All that these two files do not say.
  static void state_the_rest(ImportPage* page) {
    page->editor_of("cluster.gpu")->setText("h100-sxm-80gb");
    page->editor_of("cluster.nodes")->setText("2");
    page->editor_of("cluster.network.preset")->setText("infiniband-400g");
    page->editor_of("model.sequence_length")->setText("8192");
    EXPECT_TRUE(settled(page));
  }

  QTemporaryDir folder;
  QString model;
  QString zero;
  QStringList told;
  int asked = 0;
  std::unique_ptr<MainWindow> window;
};

TEST_F(ImportWindow, AsksForWhatNoFileSaysAndNamesWhereTheRestComesFrom) {
  const ImportPage* page = imported({model, zero});
  const ImportAnswer& answer = *page->answer();
  EXPECT_TRUE(page->sentence().startsWith(
      "Read from config.json (config.json of a model (Hugging Face)), ds.json (DeepSpeed "
      "configuration (JSON)): a model of 8.03B parameters. 5 keys are still to be stated"))
      << page->sentence().toStdString();
  EXPECT_EQ(asked_keys(answer),
            (std::vector<QString>{"cluster.gpu", "cluster.nodes", "cluster.network.preset",
                                  "model.sequence_length", "batch.global"}))
      << "the batch follows from the number of GPUs";
  EXPECT_FALSE(answer.sound);
  const Table* keys = table_of(answer, "Keys");
  ASSERT_NE(keys, nullptr);
  const auto layers = std::find_if(keys->rows.begin(), keys->rows.end(), [](const auto& row) {
    return row[0].text == "model.num_layers";
  });
  ASSERT_NE(layers, keys->rows.end());
  EXPECT_EQ((*layers)[1].text, "32");
  EXPECT_EQ((*layers)[2].text, "read");
  EXPECT_EQ((*layers)[3].text, "config.json:3");
  EXPECT_EQ((*layers)[4].text, "num_hidden_layers");
  const Table* idle = table_of(answer, "Without effect on cost");
  ASSERT_NE(idle, nullptr);
  EXPECT_TRUE(std::any_of(idle->rows.begin(), idle->rows.end(),
                          [](const auto& row) { return row[1].text == "wall_clock_breakdown"; }));
}

TEST_F(ImportWindow, OpensTheTextThatTheCommandLineWrites) {
  ImportPage* page = imported({model, zero});
  state_the_rest(page);
  EXPECT_TRUE(page->answer()->sound);
  EXPECT_TRUE(asked_keys(*page->answer()).empty());
  QTest::mouseClick(&page->open_button(), Qt::LeftButton);
  DocumentPage* document = window->current_page();
  ASSERT_NE(document, nullptr);
  QProcess process;
  process.setWorkingDirectory(folder.path());
  process.start(QString(kBinaryDir) + "/bin/orrery",
                {"import", model, zero, "--name", QDir(folder.path()).dirName(), "--set",
                 "cluster.gpu=h100-sxm-80gb", "--set", "cluster.nodes=2", "--set",
                 "cluster.network.preset=infiniband-400g", "--set", "model.sequence_length=8192"});
  ASSERT_TRUE(process.waitForFinished());
  QString printed = QString::fromUtf8(process.readAllStandardOutput());
  EXPECT_EQ(printed.count("given: --set"), 4);
  EXPECT_EQ(document->document().text(),
            printed.replace("given: --set", "given: stated on import"));
  ASSERT_TRUE(wait_for([document] { return document->answered() != nullptr; }));
  EXPECT_EQ(document->answered()->scenario->model.num_layers, 32);
  EXPECT_TRUE(window->pages_of<ImportPage>().empty());
}

TEST_F(ImportWindow, WhatWasImportedIsAskedForBeforeItIsClosed) {
  ImportPage* page = imported({model, zero});
  QTest::keyClick(&page->open_button(), Qt::Key_Space);
  DocumentPage* document = window->current_page();
  ASSERT_NE(document, nullptr)
      << "incomplete text can be opened: its problems name what is missing";
  EXPECT_TRUE(document->document().modified());
  EXPECT_TRUE(document->document().path().isEmpty());
  EXPECT_FALSE(window->close_page(document));
  EXPECT_EQ(asked, 1);
  ASSERT_TRUE(wait_for([document] { return document->outcome() != nullptr; }));
  EXPECT_FALSE(document->outcome()->diagnostics.all().empty());
  EXPECT_EQ(document->outcome()->diagnostics.all().front().message, "has no value");
}

TEST_F(ImportWindow, SaysWhatDoesNotGoTogether) {
  ImportPage* page = imported({model, zero});
  state_the_rest(page);
  page->state("batch.global", "7");  // of 16 data-parallel ranks
  ASSERT_TRUE(settled(page));
  EXPECT_FALSE(page->answer()->sound);
  const Table* problems = table_of(*page->answer(), "Problems");
  ASSERT_NE(problems, nullptr);
  EXPECT_EQ(problems->rows.front()[0].text, "error");
  page->state("batch.global", "");
  ASSERT_TRUE(settled(page));
  EXPECT_TRUE(page->answer()->sound);
}

TEST_F(ImportWindow, FilesGivenTogetherAreOneImport) {
  const QString scenario = write("run.yaml", run_scenario());
  window->open_paths({zero, scenario, model});
  ASSERT_EQ(window->pages().size(), 1U);
  ASSERT_EQ(window->pages_of<ImportPage>().size(), 1U);
  ImportPage* page = window->pages_of<ImportPage>().front();
  EXPECT_EQ(page->paths(), QStringList({zero, model}));
  EXPECT_EQ(page->title(), "Import ds.json and 1 more");
  EXPECT_TRUE(told.isEmpty());
}

TEST_F(ImportWindow, DroppedFilesJoinTheImportInFront) {
  ImportPage* page = imported({model});
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(zero)});
  QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window.get(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window.get(), &drop);
  ASSERT_EQ(window->pages_of<ImportPage>().size(), 1U);
  EXPECT_EQ(page->paths(), QStringList({model, zero}));
  page->remove_file(0);
  ASSERT_TRUE(settled(page));
  EXPECT_EQ(page->paths(), QStringList({zero}));
}

TEST_F(ImportWindow, AFileThatIsNothingIsASentence) {
  EXPECT_EQ(window->open_path(write("notes.json", R"({"a": 1})")), nullptr);
  ASSERT_EQ(told.size(), 1);
  EXPECT_EQ(told[0],
            "notes.json is no scenario, no saved answer, no trace and no configuration file that "
            "can be imported (Hugging Face, DeepSpeed, Megatron-LM, NeMo, torchtitan).");
  EXPECT_TRUE(window->pages().empty());
}

TEST_F(ImportWindow, AFileThatIsChosenForImportCanBeReadAsWhatTheUserSays) {
  ImportPage* page = imported({write("notes.txt", "just words\n")});
  const Table* problems = table_of(*page->answer(), "Problems");
  ASSERT_NE(problems, nullptr);
  EXPECT_EQ(problems->rows.front()[1].text, "notes.txt");
  EXPECT_EQ(problems->rows.front()[3].text, "is no configuration that is known");
  EXPECT_FALSE(page->open_button().isEnabled());
  page->set_format(0, import_config::ConfigFormat::megatron_args);
  ASSERT_TRUE(settled(page));
  problems = table_of(*page->answer(), "Problems");
  EXPECT_TRUE(problems == nullptr ||
              problems->rows.front()[3].text != "is no configuration that is known");
}

TEST_F(ImportWindow, AScenarioAndAGoneFileAreProblems) {
  ImportPage* page = imported({write("run.yaml", run_scenario()), folder.filePath("gone.json")});
  const Table* problems = table_of(*page->answer(), "Problems");
  ASSERT_NE(problems, nullptr);
  EXPECT_TRUE(problems->rows.front()[3].text.contains("gone.json"));
  page->remove_file(1);
  ASSERT_TRUE(settled(page));
  problems = table_of(*page->answer(), "Problems");
  ASSERT_NE(problems, nullptr);
  EXPECT_EQ(problems->rows.front()[3].text, "is a file of Orrery already");
}

TEST(TextKind, ScenariosThatAreWrongAreScenariosStill) {
  EXPECT_EQ(text_kind(run_scenario(), "a"), TextKind::scenario);
  EXPECT_EQ(text_kind("model:\n  num_layers: 4\ncluster: {gpu: x}\n", "a.yaml"),
            TextKind::scenario);
  EXPECT_EQ(text_kind("model: {preset: [\n", "a.yaml"), TextKind::scenario);
  EXPECT_EQ(text_kind("", "a"), TextKind::scenario);
  EXPECT_EQ(text_kind("num_layers: 4\nhidden_size: 64\n", "a.yaml"), TextKind::configuration);
  EXPECT_EQ(text_kind("torchrun x.py --num-layers 4\n", "a.sh"), TextKind::configuration);
  EXPECT_EQ(text_kind("hello\n", "a.txt"), TextKind::unknown);
}

}  // namespace
}  // namespace orrery::gui
