// What a stranger sees first: nothing covers anything else, and what is chosen is what is shown.

#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QScrollBar>
#include <QTest>
#include <set>
#include <utility>

#include "gui/charts/chart_parts.hpp"
#include "gui/charts/chart_view.hpp"
#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/plots/evaluation_plots.hpp"
#include "gui/models/plots/plot.hpp"
#include "gui/timeline/raster.hpp"
#include "gui/widgets/charts_panel.hpp"
#include "gui/widgets/dashboard_view.hpp"
#include "gui/widgets/window/command_palette.hpp"
#include "tests/checkout.hpp"
#include "tests/gui/program/samples.hpp"

namespace orrery::gui {
namespace {

using testing::read_text;
using testing::run_scenario;

// All words of a card that are seen can be read: they are as wide as their text, side by side.
void expect_readable(const QFrame& card) {
  std::vector<const QLabel*> seen;
  for (const QLabel* label : card.findChildren<QLabel*>()) {
    if (label->isVisible() && !label->text().isEmpty()) {
      seen.push_back(label);
    }
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const int words = seen[i]->fontMetrics().horizontalAdvance(seen[i]->text());
    EXPECT_TRUE(seen[i]->wordWrap() || seen[i]->width() >= words)
        << seen[i]->text().toStdString() << " in a card of " << card.width();
    for (std::size_t k = i + 1; k < seen.size(); ++k) {
      EXPECT_FALSE(seen[i]->geometry().intersects(seen[k]->geometry()))
          << seen[i]->text().toStdString() << " and " << seen[k]->text().toStdString();
    }
  }
}

TEST(DashboardView, AChangeNeverCoversTheNameOfItsCard) {
  DashboardView view;
  view.show();
  for (const int width : {230, 420, 600, 800}) {
    view.resize(width, 600);
    view.show_answer(
        {.title = "t",
         .step = {{.name = "MFU", .value = "38.6%", .change = "+4.53 points"}},
         .run = {{.name = "Cost per million tokens", .value = "$5.40", .change = "+$0.0818"},
                 {.name = "Finish date", .value = "2024-05-25 00:00", .change = "+12.3 d"},
                 {.name = "Goodput", .value = "91.1%", .change = "less than 0.01 points"}}});
    QTest::qWait(20);
    int cards = 0;
    for (const QFrame* frame : view.findChildren<QFrame*>()) {
      if (frame->frameShape() == QFrame::StyledPanel && frame->isVisible()) {
        expect_readable(*frame);
        ++cards;
      }
    }
    EXPECT_EQ(cards, 4);
  }
}

TEST(DashboardView, NoCardIsCutInASmallWindow) {
  DashboardView view;
  view.resize(560, 290);
  view.show();
  const Card card{.name = "Cost", .value = "$53.9M", .detail = "$50.1M to $60.0M in 8 of 10"};
  view.show_answer({.title = "Llama 3 405B",
                    .verdict = "Done in 54 d for $53.9M at 41.6% MFU; largest loss: bubble, 22%",
                    .subtitle = "405B",
                    .step = std::vector<Card>(4, card),
                    .run = std::vector<Card>(8, card)});
  QTest::qWait(20);
  EXPECT_EQ(view.verticalScrollBar()->maximum(), 0);
  view.resize(560, 1600);
  QTest::qWait(20);
  EXPECT_GT(view.widget()->sizeHint().height(), 290) << "with room cards have their details";
}

// Eight accounts with long names: a legend beside a low, wide chart would take a third of it.
TEST(ChartView, TheLegendOfAFlameGoesWhereItTakesLess) {
  Plot plot{.name = "Flame", .horizontal = true, .named = true};
  plot.x.categories = {"step", "account"};
  for (int i = 0; i < 8; ++i) {
    plot.series.push_back({.kind = PlotSeries::Kind::bars,
                           .name = QString("an account with a long name %1").arg(i),
                           .x = {1.0},
                           .y = {i + 1.0},
                           .low = {static_cast<double>(i)}});
  }
  ChartView chart;
  chart.show();
  chart.resize(700, 260);
  chart.show_plot(plot);
  chart.replot();
  EXPECT_GT(chart.axisRect()->outerRect().width(), 650);
  EXPECT_GT(chart.axisRect()->outerRect().height(), 130);
  EXPECT_LE(chart.axisRect()->outerRect().bottom(), chart.legend->outerRect().top());
  chart.resize(500, 900);
  chart.replot();
  EXPECT_GT(chart.axisRect()->outerRect().height(), 650);
  // A narrow chart of lines, and this one again.
  Plot lines{.name = "Lines"};
  lines.series = {{.name = "a", .x = {0, 1}, .y = {0, 1}}, {.name = "b", .x = {0, 1}, .y = {1, 0}}};
  chart.show_plot(lines);
  EXPECT_FALSE(chart.axisRect()->outerRect().intersects(chart.legend->outerRect()));
  chart.show_plot(plot);
  EXPECT_FALSE(chart.axisRect()->outerRect().intersects(chart.legend->outerRect()));
}

TEST(ChartsPanel, AFlameIsOfTheStageThatIsChosen) {
  const OutcomePtr outcome = evaluate_text({.text = run_scenario(), .file_name = "run.yaml"});
  ASSERT_NE(outcome->evaluation, nullptr);
  ChartsPanel panel;
  panel.set_outcome(outcome);
  panel.choose("Flame by layer");
  QComboBox& stages = panel.stages();
  ASSERT_EQ(stages.count(), 3) << "the busiest, and each of two";
  EXPECT_TRUE(stages.isVisibleTo(&panel));
  EXPECT_TRUE(stages.itemText(0).endsWith(", waits least"));
  for (const int stage : {0, 1}) {
    stages.setCurrentIndex(stage + 1);
    emit stages.activated(stage + 1);
    EXPECT_TRUE(
        panel.findChild<ChartView*>()->plot().title.contains(QString("stage %1").arg(stage)));
    EXPECT_EQ(to_csv(panel.findChild<ChartView*>()->plot()),
              to_csv(layer_flame_plot(*outcome->evaluation, stage)));
  }
  panel.choose("Flame by operation");
  EXPECT_EQ(stages.currentText(), "stage 1") << "kept from chart to chart";
  EXPECT_EQ(to_csv(panel.findChild<ChartView*>()->plot()),
            to_csv(operation_flame_plot(*outcome->evaluation, 1)));
  panel.choose("Roofline");
  EXPECT_FALSE(stages.isVisibleTo(&panel));
}

TEST(StepHues, AreThoseOfTheTimelineAndAllDifferent) {
  using step::StepCategory;
  using timeline::Category;
  for (const auto& [ledger, drawn] : {std::pair{StepCategory::compute, Category::forward},
                                      {StepCategory::exposed_tensor, Category::tensor},
                                      {StepCategory::exposed_pipeline, Category::pipeline},
                                      {StepCategory::exposed_data, Category::data_reduce},
                                      {StepCategory::optimizer, Category::optimizer}}) {
    const auto i = static_cast<std::size_t>(step_hue(ledger));
    EXPECT_EQ(hue(i, false).rgba(), timeline::light_palette().of(drawn)) << i;
    EXPECT_EQ(hue(i, true).rgba(), timeline::dark_palette().of(drawn)) << i;
  }
  std::set<int> hues;
  for (std::size_t i = 0; i < step::kStepCategories; ++i) {
    hues.insert(step_hue(static_cast<StepCategory>(i)));
  }
  EXPECT_EQ(hues.size(), step::kStepCategories);
}

TEST(Keys, TheGuideHasEachOfThem) {
  const QString guide = QString::fromStdString(read_text(QString(kSourceDir) + "/docs/gui.md"));
  for (const KeyHelp& key : all_keys()) {
    const QString row = QString("| %1 | %2 |").arg(key.keys, key.does);
    EXPECT_TRUE(guide.contains(row)) << row.toStdString();
  }
}

}  // namespace
}  // namespace orrery::gui
