// Jobs, tables and plots: what they show is what the simulator answers.

#include <gtest/gtest.h>

#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>
#include <algorithm>
#include <atomic>
#include <map>

#include "gui/charts/chart_view.hpp"
#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/plots/evaluation_plots.hpp"
#include "gui/models/tables/answer_tables.hpp"
#include "gui/models/tables/comparison.hpp"
#include "gui/models/tables/dashboard.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/report/report_page.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/answer/report/text/printed_sum.hpp"
#include "tests/checkout.hpp"
#include "tests/gui/program/samples.hpp"

namespace orrery::gui {
namespace {

using testing::read_text;
using testing::replaced;
using testing::run_scenario;
using testing::wait_for;

OutcomePtr sample() {
  static const OutcomePtr outcome = evaluate_text(
      {.text = run_scenario(), .file_name = std::string(kSourceDir) + "/scenarios/x.yaml"});
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
  job.request({.text = run_scenario(), .file_name = std::string(kSourceDir) + "/scenarios/x.yaml"});
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
  const report::Figures figures = report::figures_of(evaluation);
  const Table metrics = metrics_table(figures);
  std::size_t row = 0;
  for (const report::MetricInfo& info : report::metric_registry()) {
    if (const auto* metric = evaluation.metrics.find(info.id)) {
      ASSERT_LT(row, metrics.rows.size());
      EXPECT_EQ(metrics.rows[row][1].order, report::typical(*metric)) << info.name;
      ++row;
    }
  }
  EXPECT_EQ(row, metrics.rows.size());
  double sum = 0.0;
  for (const auto& line : ledger_table("One step", figures.step_ledger).rows) {
    if (line[0].text == "all") {
      EXPECT_EQ(line[1].text, "100.0%");
      break;  // what the rows above add up to
    }
    sum += *line[1].order;
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
  // In the seconds of a GPU they are the step.
  const double step = in_seconds(to_seconds(evaluation.step.step_time));
  const std::vector<Table> all = all_tables(evaluation);
  const auto one_step = std::ranges::find(all, "One step", &Table::title);
  ASSERT_NE(one_step, all.end());
  EXPECT_EQ(one_step->heads[2], "a GPU");
  double seconds = 0.0;
  for (const auto& line : one_step->rows) {
    if (line[0].text == "all") {
      EXPECT_EQ(line[2].order, step);
      break;
    }
    seconds += *line[2].order;
  }
  EXPECT_NEAR(seconds, step, 1e-9 * step);
  EXPECT_EQ(memory_table(figures).rows.size(), 2U);
  EXPECT_EQ(expectations_table(figures).rows.size(), 1U);
  EXPECT_FALSE(levers_table(figures).rows.empty());
  EXPECT_GE(all_tables(evaluation).size(), 7U);
}

// Column by column, with the row that says what was rounded.
void expect_digits_add_up(const Table& table) {
  const auto all =
      std::ranges::find(table.rows, "all", [](const auto& row) { return row[0].text; });
  ASSERT_NE(all, table.rows.end());
  for (std::size_t column = 1; column < all->size(); ++column) {
    std::vector<std::string> parts;
    for (auto row = table.rows.begin(); row != table.rows.end(); ++row) {
      if (row != all && column < row->size()) {
        parts.push_back((*row)[column].text.toStdString());
      }
    }
    EXPECT_EQ(report::printed_remainder(parts, (*all)[column].text.toStdString()), 0.0)
        << table.title.toStdString() << ", " << table.heads[column].toStdString();
  }
}

TEST(Tables, OfLedgersAddUpInTheirDigits) {
  const OutcomePtr other = evaluate_text(
      {.text = replaced(run_scenario(), "sync", "async"), .file_name = sample()->file_name});
  for (const OutcomePtr& outcome : {sample(), other}) {
    const report::Figures figures = report::figures_of(*outcome->evaluation);
    expect_digits_add_up(ledger_table("One step", figures.step_ledger));
    expect_digits_add_up(ledger_table("The run", figures.run_ledger));
  }
  const Candidate both[] = {{"a", sample()}, {"b", other}};
  expect_digits_add_up(losses_table(answers_of(both)));
}

TEST(Tables, BecomeCsvWithQuotes) {
  const Table table{"t", {"a", "b,c"}, {{{.text = "say \"x\""}, {.text = "1"}}}};
  EXPECT_EQ(to_csv(table), "a,\"b,c\"\n\"say \"\"x\"\"\",1\n");
}

TEST(Plots, OfLedgersEndWhereAllGpuTimeEnds) {
  const report::Evaluation& evaluation = *sample()->evaluation;
  const QString step =
      shown(report::Dimension::time, in_seconds(to_seconds(evaluation.step.step_time)));
  for (const auto& [plot, whole] :
       {std::pair{step_ledger_plot(evaluation), step.toStdString()},
        std::pair{run_ledger_plot(evaluation), std::string("100.0%")}}) {
    ASSERT_FALSE(plot.series.empty());
    double before = 0.0;
    std::vector<std::string> ends = {
        plot.note.section(": ", 1).replace(u'\u2212', '-').toStdString()};
    for (const PlotSeries& bar : plot.series) {
      EXPECT_EQ(bar.low.front(), before) << "each bar begins where the last one ended";
      before = bar.y.front();
      ends.push_back(bar.ends.front().toStdString());
    }
    EXPECT_EQ(report::printed_remainder(ends, whole), 0.0) << "what is rounded is said";
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

TEST(Plots, OfUtilisationHangTogether) {
  const Plot plot = step_utilisation_plot(*sample()->evaluation);
  // By category from the top: a bar ends where the next one begins.
  std::map<double, std::pair<double, double>> bars;
  for (const PlotSeries& series : plot.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      bars[series.x[i]] = {series.low[i], series.y[i]};
    }
  }
  ASSERT_EQ(bars.size(), plot.x.categories.size());
  EXPECT_EQ(std::ranges::count(plot.series, step_hue(step::StepCategory::bubble), &PlotSeries::hue),
            1)
      << "a loss has the colour of its row in the ledger";
  const auto* mfu = sample()->evaluation->metrics.find(report::MetricId::mfu);
  EXPECT_EQ(bars.begin()->second, std::pair(0.0, 1.0));
  EXPECT_EQ(bars.rbegin()->second, std::pair(0.0, mfu->value));
  double level = 1.0;
  for (std::size_t i = 1; i + 1 < bars.size(); ++i) {
    const auto [low, high] = bars[static_cast<double>(i)];
    EXPECT_TRUE(low == level || high == level) << plot.x.categories[i].toStdString();
    level = high == level ? low : high;
  }
  EXPECT_EQ(level, mfu->value);
}

TEST(Plots, OfMemoryOverTheStepReachThePeakOfEachStage) {
  const report::Evaluation& evaluation = *sample()->evaluation;
  const Plot plot = memory_course_plot(evaluation);
  ASSERT_EQ(plot.series.size(), evaluation.step.memory.size());
  for (std::size_t stage = 0; stage < plot.series.size(); ++stage) {
    const PlotSeries& line = plot.series[stage];
    EXPECT_NEAR(*std::max_element(line.y.begin(), line.y.end()),
                in_bytes(evaluation.step.memory[stage].peak()), 1.0);
    EXPECT_EQ(line.x.back(), in_seconds(to_seconds(evaluation.step.step_time)));
  }
}

TEST(Plots, OfCausesHaveHoursAndCounts) {
  const report::Evaluation& evaluation = *sample()->evaluation;
  const Plot plot = causes_plot(evaluation);
  const auto rows = cause_rows(evaluation);
  ASSERT_EQ(plot.x.categories.size(), rows.size());
  ASSERT_EQ(plot.series.size(), 1U);
  EXPECT_EQ(plot.series[0].y[0], in_hours(rows[0].gpu_time));
  EXPECT_EQ(plot.series[0].ends[0], shown(report::Dimension::count, rows[0].events) + " times");
}

// The bars of a figure that the error of the model moves are those of its band, not of luck alone.
TEST(Plots, OfSpreadsHaveTheBandOfTheCards) {
  const report::Evaluation& evaluation = *sample()->evaluation;
  const auto band = metric_band(evaluation, report::MetricId::finish_time);
  ASSERT_TRUE(band);
  const Plot plot = spread_plot(evaluation, report::MetricId::finish_time);
  ASSERT_EQ(plot.series.size(), 1U);
  double inside = 0.0;
  for (std::size_t i = 0; i < plot.series[0].x.size(); ++i) {
    const double middle = plot.series[0].x[i];
    inside += middle > band->low && middle < band->high ? plot.series[0].y[i] : 0.0;
  }
  EXPECT_NEAR(inside, 0.8, 0.03);
  EXPECT_EQ(plot.markers.front().at, band->low);
  EXPECT_EQ(plot.markers.back().at, band->high);
  EXPECT_TRUE(plot.note.startsWith("Chance alone: 8 of 10 trials from "));
  EXPECT_TRUE(spread_plot(evaluation, report::MetricId::failures).note.isEmpty());
}

// Each row of a flame view is as wide as the row above it, where that is divided.
TEST(Plots, OfFlamesDivideTheStep) {
  const report::Evaluation& evaluation = *sample()->evaluation;
  const double step = in_seconds(to_seconds(evaluation.step.step_time));
  for (const Plot& plot : {operation_flame_plot(evaluation), layer_flame_plot(evaluation)}) {
    ASSERT_FALSE(plot.series.empty());
    std::map<double, double> widths;
    for (const PlotSeries& series : plot.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        EXPECT_LE(series.low[i], series.y[i]);
        widths[series.x[i]] += series.y[i] - series.low[i];
      }
    }
    ASSERT_GE(widths.size(), 3U) << plot.name.toStdString();
    EXPECT_NEAR(widths[0.0], step, 1e-6 * step);
    EXPECT_NEAR(widths[1.0], step, 1e-6 * step);
  }
  EXPECT_FALSE(communication_plot(evaluation).series.empty());
}

TEST(Plots, OfTheRooflineStayBelowTheRoofs) {
  const Plot plot = roofline_plot(*sample()->evaluation);
  ASSERT_GE(plot.series.size(), 2U);
  const PlotSeries& roof = plot.series.front();
  ASSERT_EQ(roof.x.size(), 3U);
  const double bandwidth = roof.y[1] / roof.x[1];
  int points = 0;
  for (const PlotSeries& series : plot.series) {
    for (std::size_t i = 0; series.kind == PlotSeries::Kind::points && i < series.x.size(); ++i) {
      EXPECT_LT(series.y[i], 1.01 * std::min(roof.y[1], bandwidth * series.x[i]))
          << series.names[i].toStdString();
      ++points;
    }
  }
  EXPECT_GE(points, 6);
}

TEST(Charts, AreReadPointByPointWithTheKeyboard) {
  ChartView chart;
  chart.resize(700, 400);
  chart.show_plot(step_ledger_plot(*sample()->evaluation));
  EXPECT_EQ(chart.accessibleName(), "Chart: Step ledger");
  EXPECT_EQ(chart.accessibleDescription(), chart.plot().title);
  QTest::keyClick(&chart, Qt::Key_Down);
  ASSERT_EQ(chart.read(), (PlotPoint{0, 0}));
  QTest::keyClick(&chart, Qt::Key_Down);
  EXPECT_EQ(chart.read(), (PlotPoint{1, 0})) << "the next category";
  EXPECT_EQ(chart.accessibleDescription(), chart.plot().series[1].names[0]);
  EXPECT_EQ(chart.point_at(chart.position_of({1, 0})), (PlotPoint{1, 0})) << "the mouse agrees";
  QTest::keyClick(&chart, Qt::Key_Escape);
  EXPECT_EQ(chart.read(), std::nullopt);

  chart.show_plot(memory_course_plot(*sample()->evaluation));
  QTest::keyClick(&chart, Qt::Key_Right);
  QTest::keyClick(&chart, Qt::Key_Right);
  EXPECT_EQ(chart.read(), (PlotPoint{0, 1}));
  QTest::keyClick(&chart, Qt::Key_Down);
  EXPECT_EQ(chart.read()->series, 1U) << "the next stage";
  EXPECT_TRUE(chart.accessibleDescription().startsWith("stage 1, "));
  QTest::keyClick(&chart, Qt::Key_End);
  EXPECT_EQ(chart.read()->index, chart.plot().series[1].x.size() - 1);

  chart.show_plot(causes_plot(*sample()->evaluation));
  QTest::keyClick(&chart, Qt::Key_Down);
  QTest::keyClick(&chart, Qt::Key_Down);
  EXPECT_EQ(chart.read(), (PlotPoint{0, 0})) << "there is one cause alone";
}

TEST(Plots, OfAnswersHaveTheirCurves) {
  for (const AnswerChart& chart : answer_charts()) {
    const AnswerPtr outcome =
        answer_text({chart.answer, run_scenario(), std::string(kSourceDir) + "/scenarios/x.yaml"});
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
    const QString csv = folder.filePath("points.csv");
    ASSERT_EQ(chart.save(csv), "");
    std::size_t points = 0;
    for (const PlotSeries& series : plot.series) {
      points += series.x.size();
    }
    EXPECT_EQ(QString::fromStdString(read_text(csv)).count('\n'), points + 1)
        << plot.name.toStdString();
  }
  for (const auto& [ending, begin] : {std::pair{"png", "\x89PNG"},
                                      {"svg", "<?xml"},
                                      {"pdf", "%PDF"},
                                      {"csv", "series,x,y,low,name"}}) {
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
  const auto cost_of = [](const Dashboard& board) {
    const auto cost = std::ranges::find(board.run, "Cost", &Card::name);
    return cost == board.run.end() ? Card{} : *cost;
  };
  EXPECT_TRUE(cost_of(changed).change.startsWith("−$")) << "asynchronous checkpoints stall less";
  EXPECT_EQ(cost_of(changed).change_tone, Tone::good);
  const Dashboard unsure =
      dashboard(*other->evaluation, sample()->evaluation.get(), report::ChangeError{10.0, ""});
  EXPECT_EQ(cost_of(unsure).change_tone, Tone::plain) << "not told apart";
  EXPECT_TRUE(cost_of(unsure).tip.contains("within the error"));
}

TEST(Dashboard, SaysWhyARunDoesNotFit) {
  const OutcomePtr big =
      evaluate_text({.text = replaced(replaced(run_scenario(), "tensor: 8", "tensor: 4"),
                                      "recompute: full", "recompute: none"),
                     .file_name = sample()->file_name});
  ASSERT_NE(big->evaluation, nullptr);
  const Dashboard board = dashboard(*big->evaluation, nullptr);
  EXPECT_EQ(board.step.front().value, "does not fit");
  EXPECT_EQ(board.step.front().tone, Tone::bad);
  EXPECT_FALSE(board.reasons.empty());
  EXPECT_EQ(board.tone, Tone::bad);
  EXPECT_EQ(board.badge, "does not fit");
  EXPECT_TRUE(board.impossible);
  ASSERT_FALSE(board.advice.empty()) << "what would fit";
  EXPECT_FALSE(board.advice.front().second.empty()) << board.advice.front().first.toStdString();
  for (const auto& group : {board.step, board.run}) {
    for (const Card& card : group) {
      const bool figure =
          card.name != "Memory" && card.name != "Trust" && card.name != "Expectations";
      EXPECT_TRUE(!figure || (card.tone == Tone::faint && card.value.startsWith('(')))
          << card.name.toStdString() << " reads as a valid figure";
    }
  }
}

TEST(Dashboard, TrustIsNoPercentageOfWhatIsAssumed) {
  report::Evaluation evaluation = *sample()->evaluation;
  evaluation.band.reset();
  const Dashboard board = dashboard(evaluation, nullptr);
  for (const Card& card : board.run) {
    if (card.name == "Trust") {
      EXPECT_TRUE(card.value.startsWith("mostly ")) << card.value.toStdString();
      EXPECT_TRUE(card.detail.contains("% of the step time rests on "));
    }
  }
}

TEST(Comparison, ListsKeysAndFiguresThatDiffer) {
  const OutcomePtr other = evaluate_text(
      {.text = replaced(run_scenario(), "sync", "async"), .file_name = sample()->file_name});
  const Candidate both[] = {{"a", sample()}, {"b", other}};
  const Table keys = differing_keys_table(both);
  ASSERT_EQ(keys.rows.size(), 1U);
  EXPECT_EQ(keys.rows[0][0].text, "checkpoint.mode");
  EXPECT_EQ(keys.rows[0][2].text, "async");
  const Answers answers = answers_of(both);
  const Table losses = losses_table(answers);
  EXPECT_EQ(losses.heads, (std::vector<QString>{"loss", "a", "b", "of a step", "of the bill"}));
  ASSERT_GT(losses.rows.size(), 2U);
  EXPECT_EQ(losses.rows[0][0].text, "all");
  EXPECT_EQ(losses.rows[0][3].text, "same") << "a save is no part of a step";
  EXPECT_EQ(losses.rows[1][0].text, "checkpoints") << "the largest change leads";
  EXPECT_TRUE(losses.rows[1][4].text.startsWith("−$")) << losses.rows[1][4].text.toStdString();
  EXPECT_TRUE(losses_table(answers_of(std::span(both).first(1))).rows.empty());
  const Table figures = differences_table(answers);
  EXPECT_EQ(figures.heads, (std::vector<QString>{"figure", "a", "b", "change"}));
  ASSERT_FALSE(figures.rows.empty());
  for (const auto& row : figures.rows) {
    EXPECT_NE(row[0].text, "step time") << "which is the same";
    EXPECT_NE(row[3].text, "no change") << row[0].text.toStdString();
  }
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
  EXPECT_EQ(drawings, content.plots.size() + content.more.size());
  EXPECT_EQ(html.find("Qt SVG"), std::string::npos) << "a drawing is called what it shows";
  EXPECT_NE(html.find("<meta name=\"viewport\""), std::string::npos);
  EXPECT_NE(html.find("@media screen and (prefers-color-scheme:dark)"), std::string::npos);
  EXPECT_NE(html.find("<th class=\"number\">GPU-hours</th>"), std::string::npos);
  EXPECT_TRUE(report_svg(content).startsWith("<?xml"));
  ReportContent named = content;
  auto outcome = std::make_shared<EvaluationOutcome>(*content.outcome);
  auto evaluation = std::make_shared<report::Evaluation>(*outcome->evaluation);
  evaluation->echo.name = "R&D <script>alert(1)</script>\x1b[31m";
  outcome->evaluation = evaluation;
  named.outcome = outcome;
  QXmlStreamReader xml(report_svg(named));
  while (!xml.atEnd()) {
    if (xml.readNext() == QXmlStreamReader::StartElement && xml.name() == QString("title")) {
      EXPECT_EQ(xml.readElementText().toStdString(), "R&D <script>alert(1)</script>[31m");
    }
  }
  EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
  const QByteArray pdf = report_pdf(content);
  EXPECT_TRUE(pdf.startsWith("%PDF"));
  EXPECT_EQ(pdf.count("/Type /Page\n"), 1) << "one page";
  ReportContent full = content;
  full.full = true;
  EXPECT_GE(report_pdf(full).count("/Type /Page\n"), 2) << "and the charts that it has no room for";
}

TEST(Report, CommandSaysWhatIsWrong) {
  const QTemporaryDir folder;
  const QString scenario = folder.filePath("x.yaml");
  testing::write_text(scenario, run_scenario());
  EXPECT_EQ(report_command({}), 2);
  EXPECT_EQ(report_command({scenario}), 2);
  EXPECT_EQ(report_command({scenario, "-o", folder.filePath("x.doc")}), 2);
  EXPECT_EQ(report_command({scenario, "--slides", "-o", folder.filePath("x.html")}), 2);
  EXPECT_EQ(report_command({scenario, "--slides", "-o", folder.filePath("slides.pdf")}), 0);
  EXPECT_TRUE(QFile::exists(folder.filePath("slides.pdf")));
  EXPECT_EQ(report_command({folder.filePath("gone.yaml"), "-o", folder.filePath("x.pdf")}), 6);
  EXPECT_EQ(report_command({scenario, "-o", folder.filePath("no/folder.pdf")}), 6);
  const QString page = folder.filePath("scenario.html");
  ASSERT_TRUE(QFile::copy(scenario, page));
  EXPECT_EQ(report_command({page, "-o", page}), 2);  // an input is never the output
  EXPECT_EQ(report_command({scenario, "-o", folder.filePath("x.pdf")}), 0);
  EXPECT_TRUE(QFile::exists(folder.filePath("x.pdf")));
  testing::write_text(scenario, "format: orrery/1\n");
  EXPECT_EQ(report_command({scenario, "-o", folder.filePath("y.pdf")}), 3);
  EXPECT_FALSE(QFile::exists(folder.filePath("y.pdf")));
}

}  // namespace
}  // namespace orrery::gui
