// The screen: one page, every section when it has content, none without.

#include "sim/answer/report/text/text_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/unit/report/sample_evaluation.hpp"

namespace orrery::report {
namespace {

constexpr TextStyle kUncoloured = {.colour = false, .unicode = true};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Lines joined, so that wrapping does not hide a sentence.
std::string flat(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const char plain = c == '\n' ? ' ' : c;
    if (plain != ' ' || out.empty() || out.back() != ' ') {
      out += plain;
    }
  }
  return out;
}

TEST(TextReport, FitsOneScreen) {
  const std::string text = to_text(testing::sample_evaluation(), kUncoloured);
  std::istringstream in(text);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    EXPECT_LE(text_columns(line), kPageWidth) << line;
  }
  EXPECT_LE(lines, 52) << text;
}

TEST(TextReport, TheBriefAnswerHas32Lines) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.diagnostics = {};
  for (ExpectationResult& result : evaluation.expectations) {
    result.verdict = Verdict::pass;
  }
  const std::string text = to_text(evaluation, kUncoloured, Detail::brief);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 32) << text;
  EXPECT_TRUE(has(text, "largest loss: idle spares"));
  for (const std::string_view section : {"MEMORY", "ONE STEP", "THE RUN", "LEVERS", "EXPECTED"}) {
    EXPECT_TRUE(has(text, section)) << section;
  }
}

TEST(TextReport, ColourAddsOnlyEscapeSequences) {
  const std::string plain = to_text(testing::sample_evaluation(), kUncoloured);
  const std::string painted =
      to_text(testing::sample_evaluation(), {.colour = true, .unicode = true});
  std::string stripped;
  bool in_escape = false;
  for (const char c : painted) {
    if (c == '\x1b') {
      in_escape = true;
    } else if (in_escape) {
      in_escape = c != 'm';
    } else {
      stripped += c;
    }
  }
  EXPECT_FALSE(has(plain, "\x1b"));
  EXPECT_TRUE(has(painted, "\x1b"));
  EXPECT_EQ(stripped, plain);
}

TEST(TextReport, AsciiStyleIsAscii) {
  const std::string text =
      to_text(testing::sample_evaluation(), {.colour = false, .unicode = false});
  EXPECT_TRUE(std::all_of(text.begin(), text.end(),
                          [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

TEST(TextReport, EmptyCategoriesAreLeftOut) {
  const std::string text = to_text(testing::sample_evaluation(), kUncoloured);
  EXPECT_TRUE(has(text, "tensor communication"));
  EXPECT_FALSE(has(text, "expert communication"));
  EXPECT_FALSE(has(text, "planned maintenance"));
}

TEST(TextReport, ScenarioWithoutRunShowsOnlyTheStep) {
  const std::string text = to_text(testing::sample_step_evaluation(), kUncoloured);
  EXPECT_TRUE(has(text, "ONE STEP"));
  for (const std::string_view section : {"THE RUN", "LEVERS", "EXPECTED", "WARNINGS"}) {
    EXPECT_FALSE(has(text, section)) << section;
  }
}

TEST(TextReport, GivenStepTimeIsSaid) {
  Evaluation evaluation = testing::sample_step_evaluation();
  evaluation.step.given = true;
  const std::string text = to_text(evaluation, kUncoloured);
  EXPECT_TRUE(has(text, "10.0 s as the scenario states it (not predicted)"));
  EXPECT_FALSE(has(text, "optimizer  "));
}

TEST(TextReport, WhatDoesNotFitSaysByHowMuch) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.feasible = false;
  evaluation.step.feasibility = {.fits = false, .worst_stage = 1, .headroom = -gibibytes(3.0)};
  const std::string text = flat(to_text(evaluation, kUncoloured));
  EXPECT_TRUE(has(text, "DOES NOT FIT"));
  EXPECT_TRUE(has(text, "3.00 GiB too much"));
}

TEST(TextReport, TheThreeBiggestLeversComeFirst) {
  const std::string text = to_text(testing::sample_evaluation(), kUncoloured);
  EXPECT_TRUE(has(text, "a pipeline without bubble"));
  EXPECT_TRUE(has(text, "saves $104.00, done 3.00 h earlier"));
  EXPECT_FALSE(has(text, "one minute less recovery"));
  EXPECT_LT(text.find("a pipeline without bubble"), text.find("one point of MFU more"));
}

TEST(TextReport, TrialsThatGaveUpAreSaid) {
  Evaluation evaluation = testing::sample_evaluation();
  evaluation.run->finished = 3;
  evaluation.run->gave_up = run::StopReason::horizon;
  EXPECT_TRUE(has(flat(to_text(evaluation, kUncoloured)),
                  "1 of 4 trials gave up (horizon reached before the target)"));
}

// Ten failures in 106 h of four trials are one every 10.6 h.
TEST(TextReport, FailuresThatAreFarFromTheStatedRatesAreSaid) {
  Evaluation evaluation = testing::sample_evaluation();
  const std::string near = flat(to_text(evaluation, kUncoloured));
  EXPECT_TRUE(
      has(near, "one failure every 10 h; a checkpoint of 98.0 GB every 60 min (360 steps)"));
  evaluation.plan->mtbf = hours(100.0);
  evaluation.plan->checkpoint_steps = 1;
  const std::string far = flat(to_text(evaluation, kUncoloured));
  EXPECT_TRUE(has(far, "one failure every 4.17 d as stated, every 10.6 h in the trials; a"));
  EXPECT_TRUE(has(far, "every 10 s (1 step) stops"));
}

TEST(TextReport, ManyPassedExpectationsAreCounted) {
  Evaluation evaluation = testing::sample_step_evaluation();
  for (int i = 0; i < 20; ++i) {
    evaluation.expectations.push_back(
        {.text = "mfu > 0.1", .verdict = Verdict::pass, .detail = "", .value = 0.4, .where = {}});
  }
  evaluation.expectations.push_back(
      {.text = "hfu > 0.9", .verdict = Verdict::fail, .detail = "why", .value = 0.4, .where = {}});
  const std::string text = to_text(evaluation, kUncoloured);
  EXPECT_TRUE(has(text, "20 of 21 met"));
  EXPECT_TRUE(has(text, "and 12 more that pass"));
  EXPECT_TRUE(has(text, "FAIL      hfu > 0.9"));
}

TEST(TextReport, ExpectationLineIsClickableAndExplainsFailures) {
  const TextPage painter(kUncoloured);
  const Evaluation evaluation = testing::sample_evaluation();
  EXPECT_EQ(expectation_line(evaluation.expectations[0], painter),
            "pass      sample.yaml:10: fits_memory");
  EXPECT_EQ(expectation_line(evaluation.expectations[1], painter),
            "FAIL      sample.yaml:11: mfu >= 0.5 -- mfu is 40.0%, at least 50.0% is needed");
}

}  // namespace
}  // namespace orrery::report
