// Plans behind the window: the answer of `orrery plan`, its tables, its scatter and its files.

#include <gtest/gtest.h>

#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gui/charts/chart_view.hpp"
#include "gui/models/jobs/plan_job.hpp"
#include "gui/models/scenario_document.hpp"
#include "gui/models/tables/plan_tables.hpp"
#include "gui/models/tables/table.hpp"
#include "sim/answer/plan/result/plan_report.hpp"
#include "sim/answer/plan/result/plan_words.hpp"
#include "sim/answer/report/metrics.hpp"
#include "sim/base/text/format.hpp"
#include "tests/checkout.hpp"
#include "tests/gui/program/samples.hpp"
#include "tests/unit/plan_answer/plan_answer_fixture.hpp"

namespace orrery::gui {
namespace {

using nlohmann::json;
using plan::test::narrow_block;
using plan::test::small_text;
using testing::printed;
using testing::read_text;
using testing::replaced;
using testing::wait_for;
using testing::write_text;

// With the switches as they are: with BF16 gradients every layout fits, and none is a neighbour.
std::string sample_text() {
  return small_text() + replaced(narrow_block(), "offload]", "offload, switches]");
}

class Plans : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new QTemporaryDir;
    write_text(path(), sample_text());
    outcome_ = plan_text({.text = sample_text(), .file_name = path().toStdString()});
    ASSERT_NE(outcome_->plan, nullptr) << to_string(outcome_->diagnostics);
  }

  static void TearDownTestSuite() {
    outcome_.reset();
    delete folder_;
  }

  static QString path() { return folder_->filePath("small.yaml"); }

  static const plan::Plan& plan() { return *outcome_->plan; }

  static QTemporaryDir* folder_;
  static PlanPtr outcome_;
};

QTemporaryDir* Plans::folder_ = nullptr;
PlanPtr Plans::outcome_;

TEST_F(Plans, AreThoseThatTheCommandLinePrints) {
  EXPECT_EQ(plan::to_json(plan()), printed({"plan", "--json", "--quiet", path()}));
}

TEST_F(Plans, AreSavedAsTheCommandLinePrintsThem) {
  for (const QString ending : {"json", "csv"}) {
    const QString file = folder_->filePath("saved." + ending);
    EXPECT_EQ(save_plan_file(plan(), file), "");
    EXPECT_EQ(read_text(file), printed({"plan", "--" + ending, "--quiet", path()}));
  }
  EXPECT_EQ(save_plan_file(plan(), folder_->filePath("saved.txt")), "");
  EXPECT_EQ(read_text(folder_->filePath("saved.txt")), plan::to_text(plan(), {}));
  EXPECT_TRUE(save_plan_file(plan(), folder_->filePath("no/where.json")).contains("no/where.json"));
}

TEST_F(Plans, AreHeadedByTheirFigureAndNotByTheLayout) {
  const PlanHeadline headline = plan_headline(plan());
  const plan::Finalist& best = plan().finalists.front();
  EXPECT_TRUE(headline.title.contains(": " + qt(plan::figure_words(plan(), best.value))))
      << headline.title.toStdString();
  EXPECT_TRUE(headline.lines.startsWith(qt(format_integer(best.proposal.gpus)) + " GPUs: "))
      << headline.lines.toStdString();
}

// Every figure of the table against the JSON of the command line, through the names of the metrics.
TEST_F(Plans, RankingHasTheFiguresOfTheCommandLine) {
  const json printed_plan = json::parse(printed({"plan", "--json", "--quiet", path()}));
  const PlanTable ranking = ranking_table(plan());
  const json& finalists = printed_plan.at("finalists");
  ASSERT_GE(ranking.table.rows.size(), finalists.size());
  const std::map<QString, report::MetricId> metrics = {
      {"MFU", report::MetricId::mfu},
      {"done in", report::MetricId::finish_time},
      {"cost", report::MetricId::cost},
      {"free memory", report::MetricId::memory_headroom}};
  std::size_t compared = 0;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    const auto& row = ranking.table.rows[i];
    const auto standing = finalists[i].at("standing").get<std::string>();
    EXPECT_EQ(row[1].text.toStdString(), standing == "tie" ? "within error" : standing);
    EXPECT_EQ(row[2].order, finalists[i].at("value").get<double>());
    EXPECT_EQ(row[3].order, finalists[i].at("behind").at("mean").get<double>());
    for (std::size_t column = 0; column < row.size(); ++column) {
      const QString& head = ranking.table.heads[column];
      if (head == "why it loses") {
        EXPECT_EQ(row[column].text.toStdString(), finalists[i].at("reason").get<std::string>());
      }
      const auto metric = metrics.find(head);
      if (metric != metrics.end()) {
        const std::string key(report::info(metric->second).json_key);
        EXPECT_EQ(row[column].order, finalists[i].at("metrics").at(key).at("value").get<double>())
            << key;
        ++compared;
      }
    }
    ASSERT_TRUE(ranking.proposals[i]);
    EXPECT_EQ(ranking.proposals[i]->tag, finalists[i].at("tag").get<std::string>());
  }
  EXPECT_EQ(compared, metrics.size() * finalists.size());
  EXPECT_EQ(ranking.table.rows.back()[0].text, "now") << "the scenario as it stands, without rank";
}

TEST_F(Plans, NearlyAndFirmSayWhatThePlanSays) {
  const PlanTable nearly = neighbours_table(plan());
  ASSERT_EQ(nearly.table.rows.size(), plan().neighbours.size());
  for (std::size_t i = 0; i < plan().neighbours.size(); ++i) {
    const plan::Neighbour& one = plan().neighbours[i];
    EXPECT_EQ(nearly.table.rows[i][1].order, one.step_time);
    EXPECT_EQ(nearly.table.rows[i][3].order, one.short_by);
    EXPECT_EQ(nearly.proposals[i]->tag, one.remedy ? one.remedy->proposal.tag : one.proposal.tag);
  }
  EXPECT_EQ(firmness_table(plan()).table.rows.size(),
            plan().stability.rivals.size() + plan().stability.perturbations.size());
  EXPECT_FALSE(plan().stability.perturbations.empty());
}

// Every point once by its standing, and once more on the line where no other beats it.
TEST_F(Plans, ScatterTellsItsPointsApartByShape) {
  ASSERT_FALSE(plan().fronts.empty());
  for (const plan::Front& front : plan().fronts) {
    const Plot shown = front_plot(plan(), front);
    std::size_t marks = 0;
    std::size_t on_line = 0;
    std::set<PlotMark> shapes;
    for (const PlotSeries& series : shown.series) {
      const bool line = series.kind == PlotSeries::Kind::line;
      (line ? on_line : marks) += series.x.size();
      EXPECT_TRUE(line || shapes.insert(series.mark).second) << series.name.toStdString();
      ASSERT_EQ(series.targets.size(), series.x.size());
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        const auto& point = front.points[static_cast<std::size_t>(series.targets[i].at)];
        EXPECT_EQ(series.x[i], point.x);
        EXPECT_EQ(series.y[i], point.y);
        EXPECT_TRUE(
            QString(series.names[i]).replace(",\n", ", ").contains(qt(point.proposal.words)));
      }
    }
    EXPECT_EQ(marks, front.points.size());
    const auto on_front = std::count_if(front.points.begin(), front.points.end(),
                                        [](const auto& point) { return point.on_front; });
    EXPECT_EQ(on_line, static_cast<std::size_t>(on_front));
    EXPECT_EQ(shown.series.back().mark, PlotMark::star) << "the best is drawn on top";
    EXPECT_EQ(trade_off_table(plan(), front).table.rows.size(), on_line);
  }
}

TEST_F(Plans, ScatterIsSavedInEveryForm) {
  ChartView chart;
  chart.resize(600, 400);
  chart.show_plot(front_plot(plan(), plan().fronts.front()));
  for (const auto& [ending, begin] :
       {std::pair{"png", "\x89PNG"}, {"svg", "<?xml"}, {"pdf", "%PDF"}, {"csv", "series,x,y"}}) {
    const QString file = folder_->filePath(QString("front.") + ending);
    EXPECT_EQ(chart.save(file), "");
    EXPECT_TRUE(read_text(file).starts_with(begin)) << ending;
  }
}

// The text that -o writes, byte by byte; plans behind it say their rank.
TEST_F(Plans, AreWrittenAsTheCommandLineWritesThem) {
  const QString best = folder_->filePath("best.yaml");
  printed({"plan", "--quiet", "-o", best, path()});
  const PlanFile file = plan_file({outcome_, plan().finalists.front().proposal});
  EXPECT_EQ(file.problem, "");
  EXPECT_EQ(file.text.toStdString(), read_text(best));
  ASSERT_GE(plan().finalists.size(), 2U);
  const PlanFile second = plan_file({outcome_, plan().finalists[1].proposal});
  EXPECT_TRUE(second.text.startsWith("# Ranked 2 by orrery plan: ")) << second.text.toStdString();
  ASSERT_FALSE(plan().neighbours.empty());
  const PlanFile other = plan_file({outcome_, plan().neighbours.front().proposal});
  EXPECT_EQ(other.problem, "");
  EXPECT_TRUE(other.text.startsWith("# Considered by orrery plan: "));
}

TEST(PlanJob, KeepsTheBestSoFarWhenItIsStopped) {
  PlanJob job;
  PlanPtr outcome;
  QObject::connect(&job, &PlanJob::finished, [&](const PlanPtr& done) { outcome = done; });
  std::set<plan::Stage> stages;
  QObject::connect(&job, &PlanJob::advanced, [&](const PlanProgress& progress) {
    EXPECT_LE(progress.done, progress.all);
    stages.insert(progress.stage);
    if (progress.stage == plan::Stage::simulate) {
      job.keep_best();
    }
  });
  job.request({.text = replaced(sample_text(), "trials: 20", "trials: 20000"),
               .file_name = std::string(kSourceDir) + "/scenarios/x.yaml"});
  EXPECT_TRUE(job.running());
  ASSERT_TRUE(wait_for([&] { return outcome != nullptr; }));
  ASSERT_NE(outcome->plan, nullptr);
  EXPECT_FALSE(outcome->plan->complete());
  EXPECT_TRUE(stages.contains(plan::Stage::search));
  const PlanHeadline headline = plan_headline(*outcome->plan);
  EXPECT_TRUE(headline.notes.startsWith("interrupted")) << headline.notes.toStdString();
}

TEST(PlanJob, DeliversNothingAfterItIsCancelled) {
  PlanJob job;
  QSignalSpy finished(&job, &PlanJob::finished);
  job.request({.text = replaced(sample_text(), "trials: 20", "trials: 20000"),
               .file_name = std::string(kSourceDir) + "/scenarios/x.yaml"});
  job.cancel();
  EXPECT_FALSE(job.running());
  QTest::qWait(100);
  EXPECT_EQ(finished.count(), 0);
}

TEST(PlanJob, SaysWhatTheQuestionLacks) {
  const PlanPtr outcome =
      plan_text({.text = sample_text(),
                 .file_name = std::string(kSourceDir) + "/scenarios/x.yaml",
                 .changes = plan_changes(sample_text(), {{"plan.objective", "fewest_gpus"}})});
  EXPECT_EQ(outcome->plan, nullptr);
  EXPECT_EQ(problem_lines(outcome->diagnostics),
            "plan.objective: fewest_gpus needs a deadline (plan.deadline: 60d)");
  const PlanPtr broken = plan_text({.text = "format: orrery/1\n", .file_name = "x.yaml"});
  EXPECT_EQ(broken->plan, nullptr);
  EXPECT_TRUE(problem_lines(broken->diagnostics).contains("model"));
}

TEST(PlanProgress, SaysHowFarAndHowLong) {
  EXPECT_EQ(progress_text({plan::Stage::search, 12345, 60000, seconds(12.0)}).toStdString(),
            "Searching: 12,345 of 60,000 layouts, 12.0 s left");
  EXPECT_EQ(progress_text({plan::Stage::search, 60000, 60000, seconds(0.0)}).toStdString(),
            "Searching: the best of 60,000 layouts");
  EXPECT_EQ(
      progress_text({plan::Stage::search, 600, 60000, seconds(12.0), seconds(6.36)}).toStdString(),
      "Searching: 600 of 60,000 layouts, 12.0 s left; best step so far 6.36 s");
  EXPECT_EQ(progress_text({plan::Stage::rank, 8, 8, seconds(0.0)}).toStdString(),
            "Ranking: 8 of 8 plans");
}

const PlanOption& option(const std::vector<PlanOption>& options, const std::string& key) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const PlanOption& one) { return one.key == key; });
  EXPECT_NE(found, options.end()) << key;
  return *found;
}

TEST(PlanOptions, SayWhatHoldsWithoutThem) {
  const std::vector<PlanOption> options = plan_options(sample_text());
  EXPECT_EQ(options.front().key, "plan.objective") << "what counts is asked first";
  EXPECT_EQ(options.front().choices.size(), static_cast<qsizetype>(plan::kObjectiveNames.size()));
  EXPECT_EQ(options.front().without, "step_time");
  EXPECT_EQ(option(options, "plan.search.pipeline").without, "[1, 2]");
  EXPECT_TRUE(option(options, "plan.search.pipeline").stated);
  EXPECT_EQ(option(options, "plan.search.context").without, "fixed");
  EXPECT_EQ(option(options, "plan.search.nodes").without, "as the scenario states it");
  EXPECT_FALSE(option(options, "plan.search.nodes").stated);
  EXPECT_EQ(option(options, "plan.finalists").without, "4");
}

TEST(PlanOptions, GoBeforeTheScenarioAndTakeTheSpellingOfTheCommand) {
  const auto changes = plan_changes(sample_text(), {{"plan.search.nodes", "2,4"},
                                                    {"plan.search.context", "1, 2"},
                                                    {"plan.search.tensor", " fixed "},
                                                    {"plan.search.micro", ""},
                                                    {"plan.search.sharding", "auto"},
                                                    {"plan.finalists", "6"}});
  std::map<std::string, std::string> said;
  for (const scenario::KeyValue& change : changes) {
    said[change.key] = change.value;
  }
  const std::map<std::string, std::string> expected = {
      {"plan.search.nodes", "[2,4]"}, {"plan.search.context", "[1, 2]"},
      {"plan.search.tensor", "auto"}, {"plan.search.sharding", "auto"},
      {"plan.finalists", "6"},        {"plan.fix", "[shard_group, offload, switches, tensor]"}};
  EXPECT_EQ(said, expected);
  Diagnostics diagnostics;
  auto base = scenario::ScenarioTemplate::from_text(sample_text(), "x.yaml", diagnostics);
  ASSERT_TRUE(base);
  const auto question = plan::question_of(*std::move(base), changes, diagnostics);
  ASSERT_TRUE(question) << to_string(diagnostics);
  using Mode = plan::AxisChoice::Mode;
  EXPECT_EQ(question->spec[plan::Axis::tensor].mode, Mode::fixed);
  EXPECT_EQ(question->spec[plan::Axis::context].mode, Mode::listed);
  EXPECT_EQ(question->spec[plan::Axis::nodes].values, (std::vector<std::string>{"2", "4"}));
  EXPECT_EQ(question->spec.finalists, 6);
}

TEST(ScenarioDocument, DerivesAnUnsavedTextThatKeepsItsOrigin) {
  const QTemporaryDir folder;
  const QString path = folder.filePath("small.yaml");
  write_text(path, sample_text());
  ScenarioDocument document;
  ASSERT_EQ(document.open(path), "");
  const ScenarioDocument* derived = document.derive("format: orrery/1\n", "best plan", &document);
  EXPECT_TRUE(derived->modified());
  EXPECT_EQ(derived->path(), "");
  EXPECT_EQ(derived->title(), "best plan");
  EXPECT_EQ(derived->file_name(), path.toStdString()) << "names in it are found as before";
}

}  // namespace
}  // namespace orrery::gui
