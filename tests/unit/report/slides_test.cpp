// Three slides of the sample: their parts add up, and no raw name is left.

#include "sim/answer/report/text/slides.hpp"

#include <gtest/gtest.h>

#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

TEST(Slides, PartsGoFromWhatIsPaidToWhatComputes) {
  const Slides slides = slides_of(testing::sample_evaluation());
  ASSERT_GE(slides.parts.size(), 3U);
  EXPECT_EQ(slides.parts.front().label, "paid");
  EXPECT_EQ(slides.parts.back().label, "computing");
  double left = 1.0;
  for (const SlidePart& part : slides.parts) {
    if (part.total) {
      EXPECT_NEAR(part.share, left, 1e-9) << part.label;
    } else {
      left -= part.share;
      EXPECT_NEAR(part.before, left, 1e-9) << part.label;
    }
  }
  EXPECT_NE(slides.titles[1].find("is the largest loss"), std::string::npos) << slides.titles[1];
}

TEST(Slides, ChangesAreSaidInWords) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.switches = {{"overlap.tensor", "true", seconds(1.0)}};
  evaluation.levers = {{"a pipeline without bubble", seconds(-7200.0), dollars(-90.0), {}},
                       {"`overlap.tensor: true`", seconds(-3600.0), dollars(-40.0), {}}};
  const Slides slides = slides_of(evaluation);
  ASSERT_EQ(slides.changes.size(), 2U);
  EXPECT_EQ(slides.changes[0].change, "Hiding tensor communication");
  EXPECT_TRUE(slides.changes[0].possible) << "a setting that can be made comes first";
  EXPECT_EQ(slides.changes[1].change, "A pipeline without bubble");
  EXPECT_EQ(slides.titles[2],
            "Hiding tensor communication saves $40.00; measure it before relying on it");
}

TEST(Slides, AStepAloneHasThemToo) {
  Evaluation evaluation = testing::sample_step_evaluation();
  evaluation.step.without_communication = to_sim_time(seconds(9.0));
  evaluation.echo.name = "sample";
  evaluation.echo.file = "somewhere/sample.yaml";
  const Slides slides = slides_of(evaluation);
  EXPECT_EQ(slides.name, evaluation.echo.model_name + " on " +
                             std::to_string(evaluation.step.gpus) + " x " + evaluation.echo.gpu)
      << "not the name of its file";
  ASSERT_EQ(slides.changes.size(), 3U) << "what a cause takes at most";
  EXPECT_EQ(slides.changes[0].change, "A pipeline without bubble");
  EXPECT_EQ(slides.changes[0].time_text, "1.25 s");
  EXPECT_EQ(slides.changes[1].change, "Hiding all exposed communication");
  const double mfu = evaluation.metrics.find(MetricId::mfu)->value;
  EXPECT_EQ(slides.changes[2].change, "One point of MFU more");
  EXPECT_NEAR(slides.changes[2].saving, 10.0 - 10.0 * mfu / (mfu + 0.01), 1e-9);
  EXPECT_EQ(slides.time_head, "a step");
  EXPECT_EQ(slides.titles[2], "A pipeline without bubble would save 1.25 s a step");
  ASSERT_FALSE(slides.parts.empty());
  EXPECT_EQ(slides.parts.front().label, "step");
  EXPECT_FALSE(slides.cards.empty());
  for (const std::string& title : slides.titles) {
    EXPECT_FALSE(title.empty());
  }
}

}  // namespace
}  // namespace orrery::report
