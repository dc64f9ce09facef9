// Jobs, tables and plots: what they show is what the simulator answers.

#include <gtest/gtest.h>

#include <QFile>
#include <QTemporaryDir>
#include <atomic>

#include "gui/charts/chart_view.hpp"
#include "gui/models/answer_job.hpp"
#include "gui/models/answer_tables.hpp"
#include "gui/models/comparison.hpp"
#include "gui/models/dashboard.hpp"
#include "gui/models/evaluation_job.hpp"
#include "gui/models/plot.hpp"
#include "gui/models/text.hpp"
#include "gui/report/report_page.hpp"
#include "tests/gui/program/samples.hpp"

namespace orrery::gui {
namespace {

using testing::read_text;
using testing::replaced;
using testing::run_scenario;
using testing::wait_for;

OutcomePtr sample() {
  static const OutcomePtr outcome =
      evaluate_text({.text = run_scenario(), .file_name = ORRERY_SOURCE_DIR "/scenarios/x.yaml"});
  return outcome;
}

TEST(LatestTask, DeliversOnlyTheNewest) {
  LatestTask task;
  std::atomic<int> begun = 0;
  std::vector<int> delivered;
  for (int i = 0; i < 20; ++i) {
    task.start([&, i](const std::stop_token& stop, const LatestTask::Report&) {
      ++begun;
      while (i < 19 && !stop.stop_requested()) {
        std::this_thread::yield();
      }
      return LatestTask::Delivery([&delivered, i] { delivered.push_back(i); });
    });
  }
  ASSERT_TRUE(wait_for([&] { return !task.running(); }));
  EXPECT_EQ(delivered, std::vector<int>{19});
}

TEST(LatestTask, ForgetsWhatWasCancelledAndTurnsExceptionsIntoSentences) {
  LatestTask task;
  QSignalSpy cancelled(&task, &LatestTask::cancelled);
  QSignalSpy failed(&task, &LatestTask::failed);
  bool delivered = false;
  task.start([&](const std::stop_token& stop, const LatestTask::Report&) {
    while (!stop.stop_requested()) {
      std::this_thread::yield();
    }
    return LatestTask::Delivery([&delivered] { delivered = true; });
  });
  task.cancel();
  EXPECT_FALSE(task.running());
  EXPECT_EQ(cancelled.count(), 1);
  task.start([](const std::stop_token&, const LatestTask::Report&) -> LatestTask::Delivery {
    throw std::runtime_error("the disk is full");
  });
  ASSERT_TRUE(wait_for([&] { return failed.count() == 1; }));
  EXPECT_EQ(failed.front().front().toString(), "the disk is full");
  EXPECT_FALSE(delivered);
}

TEST(EvaluationJob, AnswersOnAnotherThreadWithProgress) {
  EvaluationJob job;
  OutcomePtr got;
  QObject::connect(&job, &EvaluationJob::finished, [&](const OutcomePtr& o) { got = o; });
  QSignalSpy progress(&job, &EvaluationJob::progressed);
  job.request({.text = run_scenario(), .file_name = ORRERY_SOURCE_DIR "/scenarios/x.yaml"});
  EXPECT_TRUE(job.running());
  ASSERT_TRUE(wait_for([&] { return got != nullptr; }));
  ASSERT_NE(got->evaluation, nullptr);
  EXPECT_GT(progress.count(), 0);
  for (const report::MetricInfo& info : report::metric_registry()) {
    const auto* here = got->evaluation->metrics.find(info.id);
    const auto* there = sample()->evaluation->metrics.find(info.id);
    ASSERT_EQ(here == nullptr, there == nullptr) << info.name;
    EXPECT_EQ(here == nullptr ? 0.0 : here->value, there == nullptr ? 0.0 : there->value);
  }
}

TEST(EvaluationJob, GivesTheDiagnosticsOfTheReader) {
  const auto outcome = evaluate_text(
      {.text = replaced(run_scenario(), "tensor: 8 ", "tensor: x "), .file_name = "s.yaml"});
  EXPECT_EQ(outcome->evaluation, nullptr);
  ASSERT_EQ(outcome->diagnostics.all().size(), 1U);
  const Diagnostic& problem = outcome->diagnostics.all().front();
  EXPECT_EQ(problem.where, (SourceLocation{"s.yaml", 10, 11}));
  EXPECT_EQ(problem.key, "layout.tensor");
  const Table table = problems_table(outcome->diagnostics, "A profile is gone.");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][3].text, "A profile is gone.");
  EXPECT_EQ(table.rows[1][1].text, "10");
  EXPECT_EQ(table.rows[1][3].text, qt(problem.message));
  EXPECT_EQ(table.rows[1][4].text, qt(problem.allowed));
}

TEST(Tables, ShowTheRegistrysNumbers) {
  const report::Evaluation& evaluation = *sample()->evaluation;
  const Table metrics = metrics_table(evaluation);
  std::size_t row = 0;
  for (const report::MetricInfo& info : report::metric_registry()) {
    if (const auto* metric = evaluation.metrics.find(info.id)) {
      ASSERT_LT(row, metrics.rows.size());
      EXPECT_EQ(metrics.rows[row][1].order, metric->value) << info.name;
      ++row;
    }
  }
  EXPECT_EQ(row, metrics.rows.size());
  double sum = 0.0;
  for (const auto& line : step_ledger_table(evaluation).rows) {
    sum += *line[1].order;
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
  EXPECT_EQ(memory_table(evaluation).rows.size(), 2U);
  EXPECT_EQ(expectations_table(evaluation).rows.size(), 1U);
  EXPECT_FALSE(trust_table(evaluation).rows.empty());
  EXPECT_FALSE(levers_table(evaluation).rows.empty());
  EXPECT_GE(all_tables(evaluation).size(), 7U);
}

TEST(Tables, BecomeCsvWithQuotes) {
  const Table table{"t", {"a", "b,c"}, {{{.text = "say \"x\""}, {.text = "1"}}}};
  EXPECT_EQ(to_csv(table), "a,\"b,c\"\n\"say \"\"x\"\"\",1\n");
}

TEST(Plots, OfLedgersEndWhereAllGpuTimeEnds) {
  for (const Plot& plot :
       {step_ledger_plot(*sample()->evaluation), run_ledger_plot(*sample()->evaluation)}) {
    ASSERT_FALSE(plot.series.empty());
    double before = 0.0;
    for (const PlotSeries& bar : plot.series) {
      EXPECT_EQ(bar.low.front(), before) << "each bar begins where the last one ended";
      before = bar.y.front();
    }
    EXPECT_NEAR(before, 1.0, 1e-9);
  }
}

TEST(Plots, OfMemoryStackUpToThePeak) {
  const Plot plot = memory_plot(*sample()->evaluation);
  double sum = 0.0;
  for (const PlotSeries& term : plot.series) {
    sum += term.y[0];
  }
  EXPECT_NEAR(sum, in_bytes(sample()->evaluation->step.memory[0].peak()), 1.0);
  ASSERT_EQ(plot.markers.size(), 1U);
}

TEST(Plots, OfAnswersHaveTheirCurves) {
  for (const AnswerChart& chart : answer_charts()) {
    const AnswerPtr outcome =
        answer_text({chart.answer, run_scenario(), ORRERY_SOURCE_DIR "/scenarios/x.yaml"});
    ASSERT_NE(outcome->answer, nullptr) << chart.answer;
    const Plot plot = answer_plot(*outcome->answer);
    EXPECT_EQ(plot.name, chart.name);
    ASSERT_FALSE(plot.series.empty()) << chart.answer;
    for (const PlotSeries& series : plot.series) {
      EXPECT_FALSE(series.x.empty()) << chart.answer << " " << series.name.toStdString();
      EXPECT_EQ(series.x.size(), series.y.size());
    }
  }
}

TEST(Charts, ReachFilesOfEveryKind) {
  const QTemporaryDir folder;
  ChartView chart;
  for (const Plot& plot : evaluation_plots(*sample()->evaluation)) {
    chart.show_plot(plot);
  }
  for (const auto& [ending, begin] : {std::pair{"png", "\x89PNG"},
                                      {"svg", "<?xml"},
                                      {"pdf", "%PDF"},
                                      {"csv", "series,x,y,low"}}) {
    const QString path = folder.filePath(QString("chart.") + ending);
    ASSERT_EQ(chart.save(path), "");
    EXPECT_TRUE(read_text(path).starts_with(begin)) << ending;
  }
  EXPECT_NE(chart.save(folder.filePath("chart.bmp")), "");
  EXPECT_NE(chart.save(folder.filePath("no/folder/chart.svg")), "");
}

TEST(Dashboard, SaysWhatChangedAgainstTheBaseline) {
  const OutcomePtr other = evaluate_text(
      {.text = replaced(run_scenario(), "sync", "async"), .file_name = sample()->file_name});
  const Dashboard same = dashboard(*sample()->evaluation, sample()->evaluation.get());
  for (const Card& card : same.run) {
    EXPECT_EQ(card.change, "") << card.name.toStdString();
  }
  const Dashboard changed = dashboard(*other->evaluation, sample()->evaluation.get());
  bool cheaper = false;
  for (const Card& card : changed.run) {
    cheaper = cheaper || (card.name == "Cost" && card.change.startsWith("-$"));
  }
  EXPECT_TRUE(cheaper) << "asynchronous checkpoints stall less";
}

TEST(Dashboard, SaysWhyARunDoesNotFit) {
  const OutcomePtr big =
      evaluate_text({.text = replaced(replaced(run_scenario(), "tensor: 8", "tensor: 4"),
                                      "recompute: full",
                                      "recompute: none"),
                     .file_name = sample()->file_name});
  ASSERT_NE(big->evaluation, nullptr);
  const Dashboard board = dashboard(*big->evaluation, nullptr);
  EXPECT_EQ(board.step.front().value, "does not fit");
  EXPECT_EQ(board.step.front().tone, Tone::bad);
  EXPECT_FALSE(board.reasons.empty());
}

TEST(Comparison, ListsKeysAndFiguresThatDiffer) {
  const OutcomePtr other = evaluate_text(
      {.text = replaced(run_scenario(), "sync", "async"), .file_name = sample()->file_name});
  const Candidate both[] = {{"a", sample()}, {"b", other}};
  const Table keys = differing_keys_table(both);
  ASSERT_EQ(keys.rows.size(), 1U);
  EXPECT_EQ(keys.rows[0][0].text, "checkpoint.mode");
  EXPECT_EQ(keys.rows[0][2].text, "async");
  const Table figures = differences_table(both);
  EXPECT_EQ(figures.heads, (std::vector<QString>{"", "figure", "a", "b", "change"}));
  EXPECT_EQ(figures.rows[0][1].text, "step time");
  EXPECT_EQ(figures.rows[0][4].text, "no change");
  EXPECT_TRUE(differences_table({}).rows.empty());
}

TEST(Report, HasTheFiguresInEveryForm) {
  const ReportContent content = report_content(sample());
  EXPECT_GE(content.plots.size(), 5U);
  const std::string html = report_html(content).toStdString();
  const Dashboard board = dashboard(*sample()->evaluation, nullptr);
  for (const auto* cards : {&board.step, &board.run}) {
    for (const Card& card : *cards) {
      EXPECT_NE(html.find(card.value.toHtmlEscaped().toStdString()), std::string::npos)
          << card.name.toStdString();
    }
  }
  std::size_t drawings = 0;
  for (std::size_t at = html.find("<svg"); at != std::string::npos;
       at = html.find("<svg", at + 1)) {
    ++drawings;
  }
  EXPECT_EQ(drawings, content.plots.size());
  EXPECT_TRUE(report_svg(content).startsWith("<?xml"));
  const QByteArray pdf = report_pdf(content);
  EXPECT_TRUE(pdf.startsWith("%PDF"));
  EXPECT_EQ(pdf.count("/Type /Page\n"), 1) << "one page";
}

TEST(Report, CommandSaysWhatIsWrong) {
  const QTemporaryDir folder;
  const QString scenario = folder.filePath("x.yaml");
  testing::write_text(scenario, run_scenario());
  EXPECT_EQ(report_command({}), 2);
  EXPECT_EQ(report_command({scenario}), 2);
  EXPECT_EQ(report_command({scenario, "-o", folder.filePath("x.doc")}), 2);
  EXPECT_EQ(report_command({folder.filePath("gone.yaml"), "-o", folder.filePath("x.pdf")}), 6);
  EXPECT_EQ(report_command({scenario, "-o", folder.filePath("no/folder.pdf")}), 6);
  EXPECT_EQ(report_command({scenario, "-o", folder.filePath("x.pdf")}), 0);
  EXPECT_TRUE(QFile::exists(folder.filePath("x.pdf")));
  testing::write_text(scenario, "format: orrery/1\n");
  EXPECT_EQ(report_command({scenario, "-o", folder.filePath("y.pdf")}), 3);
  EXPECT_FALSE(QFile::exists(folder.filePath("y.pdf")));
}

}  // namespace
}  // namespace orrery::gui
