// The accepted looks of the reports, on evaluations built by hand.

#include <gtest/gtest.h>

#include "sim/answer/report/files/flat_report.hpp"
#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/text/text_report.hpp"
#include "tests/golden/golden.hpp"
#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

TEST(GoldenReport, Screen) {
  golden::expect_golden("report.txt",
                        to_text(testing::sample_evaluation(), {.colour = false, .unicode = true}));
}

TEST(GoldenReport, ScreenInBrief) {
  golden::expect_golden(
      "report_brief.txt",
      to_text(testing::sample_evaluation(), {.colour = false, .unicode = true}, Detail::brief));
}

TEST(GoldenReport, ScreenInAscii) {
  golden::expect_golden("report_ascii.txt",
                        to_text(testing::sample_evaluation(), {.colour = false, .unicode = false}));
}

TEST(GoldenReport, ScreenOfAStepAlone) {
  golden::expect_golden("report_step.txt", to_text(testing::sample_step_evaluation(),
                                                   {.colour = false, .unicode = true}));
}

TEST(GoldenReport, ScreenOfWhatDoesNotFit) {
  Evaluation evaluation = testing::sample_step_evaluation();
  evaluation.feasible = false;
  evaluation.step.memory[0].activations = gibibytes(60.0);
  evaluation.step.feasibility = {.fits = false, .worst_stage = 0, .headroom = -gibibytes(2.5)};
  golden::expect_golden("report_does_not_fit.txt",
                        to_text(evaluation, {.colour = false, .unicode = true}));
}

TEST(GoldenReport, Json) {
  golden::expect_golden("report.json", to_json(testing::sample_evaluation()));
}

TEST(GoldenReport, Csv) {
  golden::expect_golden("metrics.csv", metrics_csv(testing::sample_evaluation()));
}

}  // namespace
}  // namespace orrery::report
