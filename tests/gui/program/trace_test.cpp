// Traces and saved answers in the window: beside the prediction, on one axis, and a sentence for
// each way in which a file can be wrong.

#include <gtest/gtest.h>

#include <QComboBox>
#include <QFile>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "gui/widgets/compare_view.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/pages/trace_page.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "tests/gui/program/samples.hpp"
#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::gui {
namespace {

using testing::printed_json;
using testing::replaced;
using testing::run_scenario;
using testing::wait_for;
using testing::write_text;
using trace::testing::KinetoWriter;

// Three steps of 2, 3 and 4 ms: half compute, half an all-reduce.
std::string three_steps(int rank = 0, int world = 64) {
  KinetoWriter writer(rank, world);
  double begin = 0.0;
  for (int step = 1; step <= 3; ++step) {
    const double length = 1000.0 * (step + 1);
    writer.annotation("ProfilerStep#" + std::to_string(step), begin, length)
        .kernel("nvjet_hsh", begin, length / 2.0)
        .kernel("ncclDevKernel_AllReduce", begin + length / 2.0, length / 2.0, {.stream = 20});
    begin += length;
  }
  return writer.text();
}

// By its accessible name.
QComboBox& list_of(TracePage& page, const QString& name) {
  const auto lists = page.findChildren<QComboBox*>();
  return **std::ranges::find(lists, name, &QComboBox::accessibleName);
}

class TraceWindow : public ::testing::Test {
 protected:
  TraceWindow() {
    QSettings().clear();
    window = std::make_unique<MainWindow>();
    window->tell = [this](const QString& sentence) { told.push_back(sentence); };
    window->ask_unsaved = [](const QString&) { return UnsavedChoice::discard; };
    window->show();
  }

  QString write(const QString& name, const std::string& text) {
    write_text(folder.filePath(name), text);
    return folder.filePath(name);
  }

  DocumentPage* opened(const QString& name, const std::string& text) {
    DocumentPage* page = window->open_file(write(name, text));
    EXPECT_TRUE(wait_for([page] { return page->answered() && !page->stale(); }));
    return page;
  }

  TracePage* traced(const QStringList& paths) {
    TracePage* page = window->open_traces(paths);
    EXPECT_TRUE(wait_for([page] { return !page->loading(); }));
    return page;
  }

  static std::vector<std::string> groups(const TimelineView& view) {
    std::vector<std::string> names;
    for (const timeline::Row& row : view.view().store().rows()) {
      if (row.depth == 0) {
        names.push_back(row.name);
      }
    }
    return names;
  }

  QTemporaryDir folder;
  QStringList told;
  std::unique_ptr<MainWindow> window;
};

TEST_F(TraceWindow, ShowsTheMeasuredStepBesideTheSimulatedOneOnOneAxis) {
  opened("run.yaml", run_scenario());
  TracePage* page = traced({write("rank0.json", three_steps())});
  ASSERT_TRUE(wait_for([page] { return page->answer() && page->answer()->comparison; }));
  EXPECT_TRUE(page->sentence().startsWith("The measured step takes 3.00 ms, the predicted one"))
      << page->sentence().toStdString();
  EXPECT_TRUE(page->answer()->warning.isEmpty()) << "a job of as many ranks";
  EXPECT_EQ(list_of(*page, "Scenario beside the trace").currentText(), "run.yaml");
  EXPECT_EQ(groups(page->timeline()),
            (std::vector<std::string>{"measured, rank 0", "predicted, run.yaml"}));
  // Drawn is the step of median length; both begin at zero.
  EXPECT_EQ(page->answer()->drawn_step, "ProfilerStep#2");
  EXPECT_EQ(page->timeline().view().store().range().begin, 0);
  // Closer in, the same with the operations of the prediction.
  const timeline::Levels& levels = page->answer()->beside;
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_EQ(levels[1].name, "operations");
  EXPECT_GT(levels[1].store->slices().size(), levels[0].store->slices().size());
  EXPECT_EQ(levels[1].store->rows()[0].name, "measured, rank 0");
  page->timeline().go_to_level(1);
  EXPECT_EQ(page->timeline().view().level(), 1U);
  EXPECT_EQ(groups(page->timeline()).back(), "predicted, run.yaml");
  EXPECT_EQ(page->answer()->tables.front().title, "Categories");
  EXPECT_EQ(page->answer()->tables.front().rows.back()[2].text, "3.00 ms");
}

TEST_F(TraceWindow, SaysThatATraceIsOfASmallerJob) {
  opened("run.yaml", run_scenario());
  TracePage* page = traced({write("rank0.json", three_steps(0, 2))});
  ASSERT_TRUE(wait_for([page] { return page->answer() && page->answer()->comparison; }));
  EXPECT_TRUE(page->sentence().contains("job: 2; GPUs of the prediction: 64."))
      << page->sentence().toStdString();
  write("own.pftrace", "\n");
  EXPECT_TRUE(traced({folder.filePath("own.pftrace")})->sentence().contains("of Perfetto alone"));
}

TEST_F(TraceWindow, ShowsTheStepThatIsChosen) {
  TracePage* page = traced({write("rank0.json", three_steps())});
  ASSERT_TRUE(page->answer());
  EXPECT_FALSE(page->answer()->comparison);
  EXPECT_EQ(list_of(*page, "Step of the trace").count(), 4);
  list_of(*page, "Step of the trace").setCurrentIndex(3);
  emit list_of(*page, "Step of the trace").activated(3);
  ASSERT_TRUE(wait_for([page] { return page->answer()->drawn_step == "ProfilerStep#3"; }));
  EXPECT_EQ(list_of(*page, "Step of the trace").currentText(), "ProfilerStep#3");
  EXPECT_EQ(page->sentence(), "The measured step takes 4.00 ms, mean of 1.");
  EXPECT_EQ(page->timeline().view().store().range().end, 4'000'000);
  // The whole file, as it was recorded.
  list_of(*page, "What the timeline shows").setCurrentIndex(1);
  emit list_of(*page, "What the timeline shows").activated(1);
  EXPECT_EQ(page->timeline().view().store().range().end, 9'000'000);
}

TEST_F(TraceWindow, FollowsTheScenarioThatItStandsBeside) {
  DocumentPage* document = opened("run.yaml", run_scenario());
  TracePage* page = traced({write("rank0.json", three_steps())});
  ASSERT_TRUE(wait_for([page] { return page->answer() && page->answer()->comparison; }));
  const QString before = page->sentence();
  EXPECT_EQ(document->document().set_key("layout.tensor", "4"), "");
  ASSERT_TRUE(wait_for([&] { return page->sentence() != before && !page->loading(); }));
  list_of(*page, "Scenario beside the trace").setCurrentIndex(0);
  emit list_of(*page, "Scenario beside the trace").activated(0);
  ASSERT_TRUE(wait_for([page] { return !page->answer()->comparison; }));
}

TEST_F(TraceWindow, ReadsTheRanksOfAJobTogetherPackedOrNot) {
  TracePage* page = traced({write("rank1.json", three_steps(1)),
                            write("rank0.json.gz", trace::testing::packed(three_steps(0)))});
  ASSERT_TRUE(page->answer()) << page->sentence().toStdString();
  EXPECT_EQ(groups(page->timeline()),
            (std::vector<std::string>{"measured, rank 0", "measured, rank 1"}));
  EXPECT_EQ(page->title(), "rank1.json and 1 more");
}

TEST_F(TraceWindow, SaysWhatIsWrongWithATraceAndStaysAlive) {
  const auto sentence = [this](const QString& path) {
    return traced({path})->sentence().toStdString();
  };
  EXPECT_EQ(sentence(write("cut.json", three_steps().substr(0, 300))),
            "cut.json: the file is cut off: it ends within or after event 2, at byte 300");
  EXPECT_EQ(sentence(write("empty.json", "")), "empty.json: the file is empty");
  EXPECT_EQ(sentence(write("other.json", "{\"a\": 1}")),
            "other.json: not a trace: it has no array `traceEvents`");
  EXPECT_EQ(sentence(folder.filePath("gone.json")),
            "cannot open " + folder.filePath("gone.json").toStdString());
  TracePage* host = traced({write(
      "host.json",
      R"([{"ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "name": "a", "cat": "cpu_op"}])")});
  EXPECT_TRUE(host->sentence().startsWith("There is no work of a GPU in it"));
  EXPECT_EQ(host->timeline().view().store().slices().size(), 1U);
  EXPECT_TRUE(told.empty());
}

TEST_F(TraceWindow, AFileThatIsDeletedAfterwardsKeepsItsPicture) {
  const QString path = write("rank0.json", three_steps());
  TracePage* page = traced({path});
  ASSERT_TRUE(QFile::remove(path));
  list_of(*page, "Step of the trace").setCurrentIndex(1);
  emit list_of(*page, "Step of the trace").activated(1);
  ASSERT_TRUE(wait_for([page] { return page->answer()->drawn_step == "ProfilerStep#1"; }));
}

TEST_F(TraceWindow, ReadingCanBeCancelledAndThePageClosedMeanwhile) {
  KinetoWriter writer;
  for (int i = 0; i < 60'000; ++i) {
    writer.kernel("gemm", 10.0 * i, 5.0);
  }
  const QString path = write("long.json", writer.text());
  TracePage* page = window->open_traces({path});
  page->cancel();
  EXPECT_TRUE(wait_for([page] { return !page->loading(); }));
  EXPECT_EQ(page->sentence(), "Reading was cancelled.");
  window->close_tab(window->findChild<QTabWidget*>()->count() - 1);
  TracePage* again = window->open_traces({path});
  EXPECT_TRUE(again->loading());
  window->close_tab(window->findChild<QTabWidget*>()->count() - 1);
  EXPECT_TRUE(window->pages_of<TracePage>().empty());
}

TEST_F(TraceWindow, OpensWhateverAFileIsByItsContent) {
  EXPECT_NE(qobject_cast<TracePage*>(window->open_path(write("a", three_steps()))), nullptr);
  const QString yaml = write("b", run_scenario());
  EXPECT_NE(qobject_cast<DocumentPage*>(window->open_path(yaml)), nullptr);
  const QString saved = write("c", printed_json(yaml));
  EXPECT_NE(qobject_cast<SavedPage*>(window->open_path(saved)), nullptr);
  EXPECT_EQ(window->open_path(folder.filePath("nothing")), nullptr);
  EXPECT_EQ(told.size(), 1);
}

TEST_F(TraceWindow, ASavedAnswerIsReadOnlyAndStandsInCompare) {
  opened("run.yaml", run_scenario());
  const std::string json = printed_json(folder.filePath("run.yaml"));
  SavedPage* page = window->open_saved(write("answer.json", json));
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->tables().tabText(0), "Metrics");
  window->show_compare();
  const Table& table = window->findChild<AnswerTable*>("Differences")->table();
  ASSERT_EQ(table.heads.size(), 4U);
  EXPECT_EQ(table.heads[2], "answer.json");
  for (const auto& row : table.rows) {
    EXPECT_EQ(row[1].text, row[2].text) << row[0].text.toStdString();
  }
  EXPECT_EQ(window->open_saved(write("cut.json", json.substr(0, 900))), nullptr);
  EXPECT_EQ(told.back(), "cut.json: the JSON is cut off");
}

TEST_F(TraceWindow, ComparedScenariosHaveTheirTimelinesOnOneRuler) {
  opened("a.yaml", run_scenario());
  opened("b.yaml", replaced(run_scenario(), "tensor: 8", "tensor: 4"));
  window->show_compare();
  TimelineView& timelines = *window->compare().findChild<TimelineView*>();
  EXPECT_EQ(groups(timelines), (std::vector<std::string>{"a.yaml", "b.yaml"}));
  timelines.zoom(0.8);
  const timeline::TimeRange zoomed = timelines.view().window();
  window->show_compare();  // nothing new to compare: what the user looks at stays
  EXPECT_EQ(timelines.view().window(), zoomed);
  window->compare().level().setCurrentIndex(1);
  emit window->compare().level().activated(1);
  EXPECT_EQ(groups(timelines), (std::vector<std::string>{"a.yaml", "b.yaml"}));
  EXPECT_EQ(timelines.view().levels().front().name, "run");
}

TEST_F(TraceWindow, ComparedStepsAreDrawnByTheirOperationsWhenSeenFromNear) {
  opened("a.yaml", run_scenario());
  opened("b.yaml", replaced(run_scenario(), "tensor: 8", "tensor: 4"));
  window->show_compare();
  TimelineView& timelines = *window->compare().findChild<TimelineView*>();
  timelines.zoom(0.8);
  const timeline::TimeRange zoomed = timelines.view().window();
  ASSERT_TRUE(wait_for([&] { return timelines.view().levels().size() == 2; }));
  EXPECT_EQ(timelines.view().window(), zoomed) << "what the user looks at stays";
  EXPECT_EQ(timelines.view().level(), 0U);
  timelines.go_to_level(1);
  EXPECT_EQ(timelines.view().level(), 1U);
  EXPECT_EQ(timelines.view().levels()[1].name, "operations");
  EXPECT_EQ(groups(timelines), (std::vector<std::string>{"a.yaml", "b.yaml"}));
  const timeline::Store& store = timelines.view().store();
  EXPECT_GT(store.slices().size(), timelines.view().levels()[0].store->slices().size());
}

}  // namespace
}  // namespace orrery::gui
