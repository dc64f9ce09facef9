// `orrery check` for CI: baselines, Markdown, annotations, signatures, from the command itself.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using CheckTest = CliTest;
using Json = nlohmann::json;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

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

TEST_F(CheckTest, BaselinesOfTheWrongShapeSayWhereAndWhat) {
  write("a.yaml", small_scenario());
  const auto message = [this](const std::string& text) {
    write("base.yaml", text);
    const Finished finished = run("check --baseline base.yaml a.yaml");
    EXPECT_EQ(finished.code, 3) << text;
    return finished.err;
  };
  EXPECT_EQ(message("format: orrery/1\n"),
            "base.yaml:1:9: error: format: `orrery/1` is no baseline (orrery-baseline/1; `orrery "
            "check --write-baseline FILE` makes one)\n");
  EXPECT_EQ(message("tolerances: {mfuu: 1%}\n"),
            "base.yaml:1:1: error: format: is required but missing: this is no baseline (`format: "
            "orrery-baseline/1`; `orrery check --write-baseline FILE` makes one)\n");
  EXPECT_TRUE(has(message("format: orrery-baseline/1\ntolerances: {mfuu: 1%}\n"),
                  "base.yaml:2:14: error: tolerances.mfuu: unknown key"));
  EXPECT_TRUE(has(message("format: orrery-baseline/1\ntolerances: {mfu: 200%}\n"),
                  "base.yaml:2:19: error: tolerances.mfu: `200%`"));
  EXPECT_TRUE(
      has(message("format: orrery-baseline/1\nscenarios:\n  - {file: a.yaml, metrics: {mfu: "
                  "{value: 1, ci95: [2, 1]}}}\n"),
          "scenarios[0].metrics.mfu.ci95: is no interval ([low, high])"));
  EXPECT_TRUE(has(message("format: orrery-baseline/1\nscenarios:\n  - {file: a.yaml, metrics: {}}\n"
                          "  - {file: a.yaml, metrics: {}}\n"),
                  "base.yaml:4:12: error: scenarios[1].file: `a.yaml` stands here a second time"));
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

}  // namespace
}  // namespace orrery::cli::testing
