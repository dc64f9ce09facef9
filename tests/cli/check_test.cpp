// `orrery check` for CI: baselines, Markdown, annotations, signatures, from the command itself.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/check/check_reports.hpp"
#include "sim/cli/frame/progress.hpp"
#include "tests/cli/cli_fixture.hpp"
#include "tests/support.hpp"

namespace orrery::cli::testing {
namespace {

using CheckTest = CliTest;
using Json = nlohmann::json;

// A scenario whose every metric is another: half the work between two saves.
std::string moved_scenario() {
  return replaced(small_scenario(), "recompute: selective", "recompute: full");
}

TEST_F(CheckTest, WhatWasJustWrittenHasNotMoved) {
  write("a.yaml", small_scenario("  - fits_memory\n"));
  const Finished written = run("check --write-baseline base.yaml a.yaml");
  EXPECT_EQ(written.code, 0) << written.err;
  const std::string text = read("base.yaml");
  EXPECT_TRUE(text.starts_with("format: orrery-baseline/1\n"));
  EXPECT_TRUE(has(text, "  exact: 0.1%\n  statistical: 0.5%\n"));
  EXPECT_TRUE(has(text, "  - file: \"a.yaml\"\n"));
  EXPECT_TRUE(has(text, "      goodput: {value: 0."));
  const Finished again = run("check --baseline base.yaml a.yaml");
  EXPECT_EQ(again.code, 0) << again.out;
  EXPECT_FALSE(has(again.out, "MOVED")) << again.out;
  EXPECT_TRUE(has(again.err, "baseline base.yaml: 0 scenarios moved, 0 new, 0 missing"));
}

TEST_F(CheckTest, AMovedMetricFailsWithBeforeAfterAndTolerance) {
  write("a.yaml", small_scenario());
  ASSERT_EQ(run("check --write-baseline base.yaml a.yaml").code, 0);
  write("a.yaml", moved_scenario());
  const Finished finished =
      run("check --baseline base.yaml --junit r.xml --markdown s.md --annotate github a.yaml");
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has(finished.out, "MOVED     a.yaml: step_time_s moved from "));
  EXPECT_TRUE(has(finished.out, " %), tolerance 0.1 %\n"));
  EXPECT_TRUE(has(finished.out, "edited    a.yaml: the scenario was edited since\n"));
  EXPECT_TRUE(has(finished.err, "::error file=a.yaml,title=baseline::step_time_s moved from "));
  EXPECT_TRUE(has(read("r.xml"), "name=\"baseline: step_time_s\""));
  EXPECT_TRUE(has(read("r.xml"), "<failure type=\"moved\" message=\"step_time_s moved from "));
  const std::string page = read("s.md");
  EXPECT_TRUE(page.starts_with("### orrery check: 1 of 1 files failed\n"));
  EXPECT_TRUE(
      has(page, "#### Moved against the baseline\n\n| Scenario | Metric | Before | After |"));
  EXPECT_TRUE(has(page, "\n| a.yaml | step\\_time\\_s | "));
  const Json json = Json::parse(run("check --json --baseline base.yaml a.yaml").out);
  EXPECT_EQ(json["files"][0]["baseline"]["pass"], false);
  EXPECT_EQ(json["files"][0]["baseline"]["scenario_edited"], true);
  bool found = false;
  for (const Json& change : json["files"][0]["baseline"]["changes"]) {
    found = found || (change["metric"] == "step_time_s" && change["verdict"] == "moved");
  }
  EXPECT_TRUE(found);
}

TEST_F(CheckTest, UpdatingAcceptsWhatMovedAndKeepsTolerances) {
  write("a.yaml", small_scenario());
  ASSERT_EQ(run("check --write-baseline base.yaml a.yaml").code, 0);
  write("base.yaml",
        replaced(replaced(read("base.yaml"), "  exact: 0.1%\n",
                          "  exact: 0.3%\n  mfu: {relative: 1%, absolute: 0.002}\n  cost: any\n"),
                 "    metrics:\n", "    tolerances:\n      step_time: 7%\n    metrics:\n"));
  write("a.yaml", moved_scenario());
  const Finished finished = run("check --baseline base.yaml --update-baseline a.yaml");
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(has(finished.out, "MOVED     a.yaml: step_time_s moved"))
      << "what is accepted is said";
  EXPECT_FALSE(has(finished.out, " cost_usd moved"));
  const std::string text = read("base.yaml");
  EXPECT_TRUE(has(text, "  exact: 0.3%\n"));
  EXPECT_TRUE(has(text, "  cost_usd: any\n  mfu: {relative: 1%, absolute: 0.002}\n"));
  EXPECT_TRUE(has(text, "    tolerances:\n      step_time_s: 7%\n"));
  EXPECT_EQ(run("check --baseline base.yaml a.yaml").code, 0);
}

TEST_F(CheckTest, NewAndMissingScenariosAreNamed) {
  write("a.yaml", small_scenario());
  write("b.yaml", small_scenario());
  ASSERT_EQ(run("check --write-baseline base.yaml a.yaml b.yaml").code, 0);
  write("c.yaml", small_scenario());
  const Finished finished =
      run("check --baseline base.yaml --junit r.xml --annotate github a.yaml c.yaml");
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has(finished.out, "new       c.yaml: not in the baseline\n"));
  EXPECT_TRUE(has(finished.out, "MISSING   b.yaml: in the baseline and not checked\n"));
  EXPECT_TRUE(has(finished.err, "baseline base.yaml: 0 scenarios moved, 1 new, 1 missing"));
  EXPECT_TRUE(has(finished.err,
                  "::error file=base.yaml,title=baseline::b.yaml is in the baseline and was not "
                  "checked\n"));
  EXPECT_TRUE(has(read("r.xml"), "<failure type=\"missing\""));
  // What was not checked stays while its file is there.
  ASSERT_EQ(run("check --baseline base.yaml --update-baseline a.yaml c.yaml").code, 0);
  EXPECT_TRUE(has(read("base.yaml"), "\"b.yaml\""));
  EXPECT_TRUE(has(read("base.yaml"), "\"c.yaml\""));
  std::filesystem::remove(path("b.yaml"));
  ASSERT_EQ(run("check --baseline base.yaml --update-baseline a.yaml c.yaml").code, 0);
  EXPECT_FALSE(has(read("base.yaml"), "\"b.yaml\""));
}

TEST_F(CheckTest, ABaselineServesFromAnyFolder) {
  std::filesystem::create_directories(path("ci"));
  std::filesystem::create_directories(path("scenarios"));
  write("scenarios/a.yaml", small_scenario());
  ASSERT_EQ(run("check --write-baseline ci/base.yaml scenarios/a.yaml").code, 0);
  EXPECT_TRUE(has(read("ci/base.yaml"), "\"../scenarios/a.yaml\""));
  EXPECT_EQ(run("check --baseline base.yaml ../scenarios/a.yaml", "cd ci &&").code, 0);
}

TEST_F(CheckTest, ABaselineThatCannotBeReadSaysWhy) {
  write("a.yaml", small_scenario());
  write("base.yaml", "format: orrery/1\n");
  const Finished finished = run("check --baseline base.yaml a.yaml");
  EXPECT_EQ(finished.code, 3);
  EXPECT_EQ(finished.err,
            "base.yaml:1:9: error: format: `orrery/1` is no baseline (orrery-baseline/1; `orrery "
            "check --write-baseline FILE` makes one)\n");
  EXPECT_EQ(run("check --baseline none.yaml a.yaml").code, 6);
}

TEST_F(CheckTest, OptionsThatContradictEachOtherAreRefused) {
  write("a.yaml", small_scenario());
  write("base.yaml", "format: orrery-baseline/1\n");
  EXPECT_EQ(run("check --update-baseline a.yaml").code, 2);
  EXPECT_EQ(run("check --baseline base.yaml --write-baseline b2.yaml a.yaml").code, 2);
  const Finished finished = run("check --write-baseline base.yaml a.yaml");
  EXPECT_EQ(finished.code, 2);
  EXPECT_EQ(finished.err,
            "orrery: check: base.yaml exists; --baseline base.yaml --update-baseline keeps its "
            "tolerances\n");
  EXPECT_EQ(run("check --annotate gitlab a.yaml").code, 2);
}

TEST_F(CheckTest, AnnotationsStandAtTheLineAndAreEscaped) {
  write("a.yaml", small_scenario("  - mfu >= 0.99\n"));
  write("bad.yaml", "format: orrery/1\nmodle: {preset: llama2-7b}\n");
  write("odd,name:50%.yaml", small_scenario("  - hfu >= 0.99\n"));
  const Finished finished = run("check -q --annotate github a.yaml bad.yaml 'odd,name:50%.yaml'");
  EXPECT_TRUE(has(finished.err, "::error file=a.yaml,line=17,col=5,title=mfu >= 0.99::mfu is "));
  EXPECT_TRUE(has(finished.err, "::error file=bad.yaml,line=2,col=1,title=modle::"));
  EXPECT_TRUE(has(finished.err, "::error file=odd%2Cname%3A50%25.yaml,line=17,"));
  EXPECT_FALSE(has(run("check -q a.yaml").err, "::error"));
}

TEST_F(CheckTest, MarkdownOfFailuresPassesAndBrokenFiles) {
  write("a.yaml", small_scenario("  - mfu >= 0.99 or hfu > 0.99\n"));
  write("b.yaml", small_scenario("  - fits_memory\n"));
  write("bad.yaml", "format: orrery/1\n");
  write("big.yaml", too_big_scenario());
  EXPECT_EQ(run("check --markdown s.md a.yaml b.yaml bad.yaml big.yaml").code, 3);
  const std::string page = read("s.md");
  EXPECT_TRUE(page.starts_with("### orrery check: 3 of 4 files failed\n\n1 of 2 expectations met"));
  EXPECT_TRUE(has(page, "#### Without an answer\n"));
  EXPECT_TRUE(has(page, "| big.yaml | does not fit in memory: "));
  EXPECT_TRUE(has(page, "| a.yaml:17 | mfu &gt;= 0.99 or hfu &gt; 0.99 | fail | "));
  EXPECT_TRUE(has(page, "<details><summary>All files</summary>"));
  EXPECT_TRUE(has(page, "| b.yaml | 1 of 1 |  | pass |"));
  EXPECT_EQ(run("check --markdown p.md b.yaml").code, 0);
  EXPECT_TRUE(read("p.md").starts_with("### orrery check: pass\n"));
}

TEST_F(CheckTest, SignaturesFollowAnswersAndNotNamesOfFiles) {
  write("a.yaml", small_scenario());
  write("b.yaml", "# a comment\n" + small_scenario());
  write("c.yaml", moved_scenario());
  const std::string text = run("check --signature -q a.yaml b.yaml c.yaml").out;
  const auto line = [&text](std::size_t at) {
    std::size_t begin = 0;
    for (; at > 0; --at) {
      begin = text.find('\n', begin) + 1;
    }
    return text.substr(begin, 16);
  };
  EXPECT_EQ(line(0), line(1));
  EXPECT_NE(line(0), line(2));
  EXPECT_TRUE(has(text, "  all 3 files\n"));
  EXPECT_EQ(run("check --signature -q --threads 1 a.yaml b.yaml c.yaml").out, text);
  const Json json = Json::parse(run("check --json a.yaml b.yaml c.yaml").out);
  EXPECT_EQ(json["files"][2]["signature"], line(2));
  EXPECT_EQ(json["signature"], line(3));
}

// Limits on the memory of a command, per byte of input and per trial. How soon a command ends is
// tested in interrupt_test.cpp.

constexpr double kMebibyte = 1024.0 * 1024.0;

class BudgetTest : public CliTest {
 protected:
  // The most memory that the command ever held, in bytes.
  static double peak_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program());
    std::vector<char*> raw;
    for (std::string& argument : arguments) {
      raw.push_back(argument.data());
    }
    raw.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, STDOUT_FILENO);
      dup2(nowhere, STDERR_FILENO);
      execv(raw.front(), raw.data());
      _exit(127);
    }
    int status = 0;
    rusage usage{};
    EXPECT_EQ(wait4(child, &status, 0, &usage), child);
    EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3));
    return static_cast<double>(usage.ru_maxrss) * 1024.0;  // KiB on Linux
  }

  static std::string repeated(std::string_view unit, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) {
      text += unit;
    }
    return text;
  }
};

// Trials are counted, not kept: a few buffers hold those in progress.
TEST_F(BudgetTest, MemoryDoesNotGrowWithTheTrials) {
  write("small.yaml", small_scenario());
  const auto peak = [this](const char* trials) {
    return peak_of({"run", path("small.yaml"), "--trials", trials, "-q", "-j", "1"});
  };
  EXPECT_LT(peak("100000") - peak("100"), 64.0 * kMebibyte);
}

// A bracket becomes a token and a level of nesting of the YAML library before it is refused.
TEST_F(BudgetTest, AByteOfAScenarioTakesNoMoreThan300Bytes) {
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  constexpr double kMost = 300.0 * kBytes;
  write("empty.yaml", "");
  const double empty = peak_of({"run", path("empty.yaml")});
  for (const std::string_view unit : {" ", "[", "{", "a: [b, c]\n", "- - - -\n", "&a [*a,", "'"}) {
    write("hostile.yaml", repeated(unit, kBytes));
    EXPECT_LT(peak_of({"run", path("hostile.yaml")}) - empty, kMost) << unit;
  }
  write("string.yaml", "name: \"" + repeated("a", kBytes) + "\"\n");
  EXPECT_LT(peak_of({"run", path("string.yaml")}) - empty, kMost);
}

TEST_F(BudgetTest, AByteOfASavedAnswerTakesNoMoreThanEightyBytes) {
  constexpr std::size_t kBytes = std::size_t{2} << 20U;
  const std::string head = R"({"schema":"orrery-evaluation/1","x":)";
  write("empty.json", head + "0}");
  const double empty = peak_of({"compare", path("empty.json"), path("empty.json")});
  const std::vector<std::pair<std::string, std::string>> around = {
      {repeated(" ", kBytes), "0}"},
      {"\"" + repeated("a", kBytes), "\"}"},
      {"[" + repeated("1,", kBytes), "1]}"},
      {"[" + repeated("{},", kBytes), "1]}"},
      {repeated("[", kBytes), ""}};
  for (const auto& [begin, end] : around) {
    write("hostile.json", head + begin + end);
    const double peak = peak_of({"compare", path("hostile.json"), path("hostile.json")});
    EXPECT_LT(peak - empty, 80.0 * kBytes) << begin.substr(0, 8);
  }
}

}  // namespace
}  // namespace orrery::cli::testing

namespace orrery::cli {
namespace {

// JUnit from odd names, and the progress line, without running anything.

TEST(Junit, NamesAreEscapedAndControlCharactersReplaced) {
  const std::string xml = to_junit(
      {.files = {{.file = "a<b>&\"\x01\xff.yaml", .evaluation = {}, .problem = "line\ntwo é"}}});
  EXPECT_TRUE(has(xml, "name=\"a&lt;b&gt;&amp;&quot;??.yaml\""));
  EXPECT_TRUE(has(xml, "message=\"line&#10;two é\""));
  EXPECT_TRUE(has(xml, "errors=\"1\""));
}

TEST(Junit, NoFilesIsAnEmptyReport) {
  EXPECT_TRUE(has(to_junit({}), "tests=\"0\" failures=\"0\" errors=\"0\""));
}

TEST(Junit, UndecidedIsAFailureOfItsOwnKind) {
  report::Evaluation evaluation;
  evaluation.expectations.push_back({.text = "p50(goodput) > 0.9",
                                     .verdict = report::Verdict::undecided,
                                     .detail = "cannot be decided",
                                     .value = 0.9,
                                     .where = {}});
  const std::string xml = to_junit({.files = {{.file = "x.yaml", .evaluation = evaluation}}});
  EXPECT_TRUE(has(xml, "<failure type=\"undecided\" message=\"cannot be decided\"/>"));
}

TEST(Progress, LineShowsShareAndCounts) {
  EXPECT_EQ(progress_text("x", 500, 1000),
            "x [===============               ]  50%  500 / 1,000 trials");
  EXPECT_EQ(progress_text("x", 0, 0), "x [                              ]   0%  0 / 0 trials");
}

}  // namespace
}  // namespace orrery::cli
