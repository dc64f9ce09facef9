#include "sim/answer/evaluate/doubts/step_evidence.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "sim/base/files/file.hpp"
#include "tests/support.hpp"

namespace orrery::evaluate::test {
namespace {

using report::Novelty;

const StepKind kAsked = {
    .software = "nemo", .gpu = "h100-sxm-80gb", .arch = "hopper", .model = "32x4096", .gpus = 64};

MeasuredStep measured(const char* id, double error, const StepKind& kind) {
  return {id, kind, error};
}

constexpr double kDenseDrift = 0.03;

// Of measured steps, with what releases and sites move by.
double drifting(double error) { return std::hypot(error, kDenseDrift); }

report::StepBand band_of(const std::vector<MeasuredStep>& steps, const StepKind& kind,
                         double time = 1.0, std::string_view own = {}) {
  return step_band(steps, {.kind = kind, .time = time}, own);
}

StepKind with(const char* gpu, const char* arch, const char* model) {
  StepKind kind = kAsked;
  kind.gpu = gpu;
  kind.arch = arch;
  kind.model = model;
  return kind;
}

TEST(StepBand, WhereNothingIsAlikeTheErrorIsThatOfNewStacks) {
  const report::StepBand band = band_of({}, kAsked, 10.0);
  EXPECT_DOUBLE_EQ(band.error, drifting(0.10));
  EXPECT_EQ(band.novelty, Novelty::stack);
  EXPECT_DOUBLE_EQ(band.low, 10.0 * std::exp(-1.6 * drifting(0.10)));
  EXPECT_DOUBLE_EQ(band.high, 10.0 * std::exp(1.6 * drifting(0.10)));
  EXPECT_TRUE(band.nearest.empty());
}

TEST(StepBand, EachLevelIsPulledToTheWiderOne) {
  std::vector<MeasuredStep> steps = {
      measured("other-gpu", -0.04, with("h200-sxm", "hopper", "32x4096"))};
  const double of_arch = (3.0 * 0.10 + 0.04) / 4.0;
  EXPECT_DOUBLE_EQ(band_of(steps, kAsked).error, drifting(of_arch));
  EXPECT_EQ(band_of(steps, kAsked).novelty, Novelty::gpu);
  steps.push_back(measured("other-model", 0.03, with("h100-sxm-80gb", "hopper", "80x8192")));
  const double of_gpu = (4.0 * of_arch + 0.03) / 5.0;
  EXPECT_DOUBLE_EQ(band_of(steps, kAsked).error, drifting(of_gpu));
  EXPECT_EQ(band_of(steps, kAsked).novelty, Novelty::model);
  steps.push_back(measured("same", -0.01, kAsked));
  EXPECT_DOUBLE_EQ(band_of(steps, kAsked).error, drifting((of_gpu + 0.01) / 2.0));
  EXPECT_EQ(band_of(steps, kAsked).novelty, Novelty::none);
}

TEST(StepBand, AModelMeasuredOftenWeighsAsOneMeasuredOnce) {
  std::vector<MeasuredStep> once = {
      measured("a", 0.03, with("h100-sxm-80gb", "hopper", "80x8192"))};
  const double error = band_of(once, kAsked).error;
  once.insert(once.end(), 20, once.front());
  EXPECT_NEAR(band_of(once, kAsked).error, error, 1e-15);
}

TEST(StepBand, OtherArchitecturesAndKindsOfModelsSayNothing) {
  StepKind mixture = kAsked;
  mixture.experts = true;
  const std::vector<MeasuredStep> steps = {
      measured("ampere", 0.01, with("a100-sxm-80gb", "ampere", "32x4096")),
      measured("mixture", 0.01, mixture)};
  EXPECT_DOUBLE_EQ(band_of(steps, kAsked).error, drifting(0.10));
}

TEST(StepBand, NoStepVouchesForItself) {
  const std::vector<MeasuredStep> steps = {measured("own", 0.0, kAsked)};
  EXPECT_DOUBLE_EQ(band_of(steps, kAsked, 1.0, "own").error, drifting(0.10));
  EXPECT_TRUE(band_of(steps, kAsked, 1.0, "own").nearest.empty());
}

TEST(StepBand, SwitchesThatNobodyStatesWidenIt) {
  const PredictedStep step = {
      .kind = kAsked, .time = 1.0, .open = open_choice(seconds(1.0), seconds(2.0))};
  EXPECT_NEAR(step_band({}, step).error, std::hypot(drifting(0.10), 12.0 / 49.0 * std::log(2.0)),
              1e-12);
}

TEST(StepBand, NoBandEndsBelowWhatTheHardwareCanDo) {
  EXPECT_DOUBLE_EQ(step_band({}, {.kind = kAsked, .time = 1.0, .fastest = 0.9}).low, 0.9);
  EXPECT_DOUBLE_EQ(step_band({}, {.kind = kAsked, .time = 1.0, .fastest = 1.1}).low, 1.0);
}

// The steps of a table, or what is wrong with it.
std::string read_back(const std::string& table) {
  const TempFolder folder;
  folder.write("evidence/steps.csv", table);
  Diagnostics diagnostics;
  const auto steps = load_evidence({.directories = {folder}}, diagnostics);
  const std::string problems = to_string(diagnostics);
  return problems.empty() ? to_csv(steps) : problems.substr(problems.find("steps.csv"));
}

TEST(Evidence, IsReadAsItIsWritten) {
  StepKind mixture = kAsked;
  mixture.experts = true;
  const std::string table = to_csv({measured("a", -0.0125, kAsked), measured("b", 1.5, mixture)});
  EXPECT_EQ(read_back(table), table);
}

TEST(Evidence, SaysWhichLineIsNoStep) {
  const std::string table = to_csv({measured("a", 0.01, kAsked)});
  constexpr std::string_view kWrong =
      "error: is no measured step (id,software,gpu,arch,model,experts,gpus,error)\n";
  for (const char* line : {"b,nemo,h100,hopper,32x4096,0,64", "b,nemo,h100,hopper,32x4096,0,0,0.1",
                           "b,nemo,h100,hopper,32x4096,yes,64,0.1", ",nemo,h,h,m,0,64,0.1",
                           "b,nemo,h100,hopper,32x4096,0,64,nan", "b,n,h,h,m,0,64,0.1,0.2"}) {
    EXPECT_EQ(read_back(table + line), fmt::format("steps.csv:6:1: {}", kWrong)) << line;
  }
  EXPECT_EQ(read_back("format: orrery-measured-steps/1\n"),
            fmt::format("steps.csv:1:1: {}", kWrong));
}

TEST(StepBand, TheNearestStepsComeFirst) {
  StepKind larger = kAsked;
  larger.gpus = 1024;
  const std::vector<MeasuredStep> steps = {
      measured("ampere", 0.1, with("a100-sxm-80gb", "ampere", "32x4096")),
      measured("larger", 0.2, larger),
      measured("other-model", 0.3, with("h100-sxm-80gb", "hopper", "80x8192")),
      measured("same", std::log(1.05), kAsked)};
  const report::StepBand band = band_of(steps, kAsked);
  ASSERT_EQ(band.nearest.size(), 3U);
  EXPECT_EQ(band.nearest[0].id, "same");
  EXPECT_NEAR(band.nearest[0].error, 0.05, 1e-12);
  EXPECT_EQ(band.nearest[1].id, "larger");
  EXPECT_EQ(band.nearest[2].id, "other-model");
}

}  // namespace
}  // namespace orrery::evaluate::test
