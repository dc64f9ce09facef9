// Scenarios with a measured step and logs of training are rows of a fit, as they stand.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "calibrate/fit/stack_fit.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/scenario/load.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "tests/calibrate/fit_fixture.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::fit {
namespace {

namespace fs = std::filesystem;

const fs::path& shipped() {
  static const fs::path folder = fs::path(kSourceDir) / "scenarios" / "profiles";
  return folder;
}

const fs::path& log_file() {
  static const fs::path file = fs::path(kSourceDir) / "tests" / "unit" / "import_config" /
                               "configs" / "megatron-core-dense-8gpu.log";
  return file;
}

std::string own_run_text(const std::string& measured, const std::string& more = "") {
  return fmt::format(
      "format: orrery/1\nmodel: {{preset: llama3-8b}}\n"
      "cluster: {{gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {{preset: "
      "infiniband-400g}}}}\n"
      "layout: {{tensor: 2, data: 8, sharding: zero1, sequence_parallel: true}}\n"
      "batch: {{global: 64, micro: 1}}\nsoftware: megatron-core\n{}{}",
      more, measured);
}

struct Loaded {
  Observations observations;
  Diagnostics diagnostics;
};

Loaded load_own(const std::string& text, const OwnStack& own = {}) {
  const TempFolder folder;
  folder.write("run.yaml", text);
  Loaded loaded;
  loaded.observations =
      load_observations({folder / "run.yaml"}, {shipped()}, loaded.diagnostics, own);
  return loaded;
}

// The row that a fit starts from is what `orrery run` answers, to the last bit.
TEST(OwnRuns, AreSimulatedAsTheyStand) {
  const std::string text = own_run_text("measured: {step_time: 4.5s}\n");
  const Loaded loaded = load_own(text, {.name = "mine", .gpu = {}, .software = {}});
  EXPECT_EQ(to_string(loaded.diagnostics), "");
  ASSERT_EQ(loaded.observations.rows.size(), 1U);
  const Observation& row = loaded.observations.rows.front();
  EXPECT_EQ(row.stack, "mine");
  EXPECT_EQ(row.software, "megatron-core");
  EXPECT_EQ(row.gpus, 16);
  EXPECT_DOUBLE_EQ(row.measured, 4.5);
  EXPECT_TRUE(row.own);
  const auto search = evaluate::profile_search({}, {shipped()});
  Diagnostics problems;
  const auto scenario = scenario::load_text(text, "run.yaml", problems, search);
  ASSERT_TRUE(scenario.has_value());
  evaluate::EvaluateOptions options;
  options.search = search;
  const auto evaluation = evaluate::evaluate(*scenario, options, problems);
  ASSERT_TRUE(evaluation.has_value()) << to_string(problems);
  EXPECT_EQ(predict({&row}, *row.run.software, 1).front(),
            in_seconds(to_seconds(evaluation->step.step_time)));
}

TEST(OwnRuns, WithoutANameAreOfTheirProfile) {
  const Loaded loaded = load_own(own_run_text("measured: {step_time: 4.5s}\n"));
  ASSERT_EQ(loaded.observations.rows.size(), 1U);
  EXPECT_EQ(loaded.observations.rows.front().stack, "megatron-core");
}

TEST(OwnRuns, AreRefusedAtTheirKey) {
  struct Refused {
    std::string text;
    std::string message;
  };

  for (const Refused& refused :
       {Refused{own_run_text(""), "measured.step_time: is missing"},
        Refused{own_run_text("measured: {tokens_per_second: 5}\n"),
                "measured.step_time: is missing"},
        Refused{own_run_text("measured: {step_time: soon}\n"), "does not begin with a number"},
        Refused{own_run_text("measured: {step_time: 0s}\n"), "is no time of a step"},
        Refused{own_run_text("measured: {step_time: 1s}\n", "step: {time: 2s}\n"),
                "states the time of its step"},
        Refused{own_run_text("measured: {step_time: 1s}\n", "layouts: 1\n"), "layouts"}}) {
    const Loaded loaded = load_own(refused.text);
    const std::string problems = to_string(loaded.diagnostics);
    EXPECT_TRUE(loaded.observations.rows.empty()) << refused.text;
    EXPECT_NE(problems.find("run.yaml"), std::string::npos);
    EXPECT_NE(problems.find(refused.message), std::string::npos) << problems;
  }
}

TEST(OwnRuns, ComeFromALogOfTraining) {
  Diagnostics diagnostics;
  const Observations observations =
      load_observations({log_file()}, {shipped()}, diagnostics,
                        {.name = "mine", .gpu = "h100-sxm-80gb", .software = {}});
  EXPECT_FALSE(diagnostics.has_errors()) << to_string(diagnostics);
  ASSERT_EQ(observations.rows.size(), 1U);
  EXPECT_EQ(observations.rows.front().stack, "mine");
  EXPECT_EQ(observations.rows.front().gpus, 8);
  EXPECT_DOUBLE_EQ(observations.rows.front().measured, 419.104);
}

// The GPU stands in no log: it is asked for, not assumed.
TEST(OwnRuns, OfALogWithoutItsGpuAreRefused) {
  Diagnostics diagnostics;
  const Observations observations = load_observations({log_file()}, {shipped()}, diagnostics);
  EXPECT_TRUE(observations.rows.empty());
  EXPECT_NE(to_string(diagnostics).find("cluster.gpu: is not in the log"), std::string::npos)
      << to_string(diagnostics);
}

TEST(ProfileText, TakesAnotherName) {
  EXPECT_EQ(with_name("format: orrery-software/1\nname: generic\nversion: \"1\"\n", "mine"),
            "format: orrery-software/1\nname: \"mine\"\nversion: \"1\"\n");
}

TEST(ProfileText, OfAnotherNameIsNotWhatTheFirstOneIsCalledOrTakenFor) {
  EXPECT_EQ(with_name("name: torchtitan-fsdp2\naliases: [torchtitan]\n\n# Layouts.\ndefault_for:\n"
                      "  - when: {}\n    other: nemo\n\nattention: fused\n",
                      "mine"),
            "name: \"mine\"\n\n\nattention: fused\n");
}

// New values in the text of a profile: everything else stays byte for byte.

constexpr const char* kFile = R"(# A stack.
format: orrery-software/1

# First the kernels.
gemm_efficiency:
  value: 1.05  # high
  source: published
  citation: "fitted to the old rows (measured-runs data set): near the
    burst rate"
  residual: 0.2
kernel_gap: {value: 2us, source: assumed, citation: a guess}

# Then the rest.
jitter_per_doubling:
  value: 0.002
  source: assumed
  citation: why
)";

TEST(ProfileText, ReplacesTheBlockOfAKeyAndNothingElse) {
  const std::string text = with_new_values(
      kFile,
      {{.key = "gemm_efficiency",
        .value = "0.9",
        .source = "published",
        .citation = "fitted",
        .residual = 0.0312},
       {.key = "kernel_gap", .value = "3us", .source = "assumed", .citation = "a \"bound\""}});
  EXPECT_EQ(text, R"(# A stack.
format: orrery-software/1

# First the kernels.
gemm_efficiency:
  value: 0.9
  source: published
  citation: "fitted"
  residual: 0.0312
kernel_gap:
  value: 3us
  source: assumed
  citation: "a \"bound\""

# Then the rest.
jitter_per_doubling:
  value: 0.002
  source: assumed
  citation: why
)");
}

TEST(ProfileText, AppendsAKeyThatTheFileLacks) {
  const std::string text = with_new_values(
      kFile, {{.key = "new_key", .value = "1", .source = "assumed", .citation = "x"}});
  EXPECT_EQ(text,
            std::string(kFile) + "new_key:\n  value: 1\n  source: assumed\n  citation: \"x\"\n");
}

TEST(ProfileText, FoldsALongCitationAtBlanks) {
  std::string citation;
  for (int i = 0; i < 60; ++i) {
    citation += (i == 0 ? "" : " ") + std::string("word") + std::to_string(i);
  }
  const std::string text = with_new_values(
      "k: {}\n", {{.key = "k", .value = "1", .source = "assumed", .citation = citation}});
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    EXPECT_LE(end - start, 100U);
    start = end + 1;
  }
  Diagnostics diagnostics;
  const auto document = yaml::parse(text, "profile", {}, diagnostics);
  ASSERT_TRUE(document.has_value()) << to_string(diagnostics) << text;
  const validate::DataRow row(*document);
  EXPECT_EQ(row.row("k").text("citation"), citation);
}

TEST(ProfileText, KeepsTheExplanationBehindWhereAValueCameFrom) {
  EXPECT_EQ(explanation_in(kFile, "gemm_efficiency"), "near the burst rate");
  EXPECT_EQ(explanation_in(kFile, "jitter_per_doubling"), "");
  EXPECT_EQ(explanation_in(kFile, "no_such_key"), "");
}

}  // namespace
}  // namespace orrery::fit
