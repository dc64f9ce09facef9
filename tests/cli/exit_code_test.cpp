// Every exit code of the contract, from the command itself.

#include "sim/cli/frame/exit_code.hpp"

#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using ExitCodeTest = CliTest;

TEST_F(ExitCodeTest, CheckPassesWithZero) {
  write("small.yaml", small_scenario("  - fits_memory\n  - mfu >= 0.01\n"));
  const Finished finished = run("check small.yaml");
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "pass      small.yaml:17: fits_memory\npass      small.yaml:18: mfu >= 0.01\n");
  EXPECT_EQ(finished.err, "orrery: 2 of 2 expectations met in 1 file\n");
}

TEST_F(ExitCodeTest, AFailedExpectationIsOne) {
  write("small.yaml", small_scenario("  - mfu >= 0.01\n  - mfu >= 0.99\n"));
  const Finished finished = run("check small.yaml");
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has(finished.out, "FAIL      small.yaml:18: mfu >= 0.99 -- mfu is "));
  EXPECT_FALSE(has(run("check -q small.yaml").out, "pass"));
  EXPECT_EQ(run("run small.yaml").code, 0);
}

TEST_F(ExitCodeTest, UsageIsTwo) {
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run("run").code, 2);
  EXPECT_EQ(run("run --trials none x.yaml").code, 2);
  EXPECT_EQ(run("run --trials 0 x.yaml").code, 2);
  EXPECT_EQ(run("list gpu").code, 2);
  EXPECT_EQ(run("export --format xml x.yaml").code, 2);
  EXPECT_EQ(run("export --format csv --what run x.yaml").code, 2);
}

TEST_F(ExitCodeTest, TypingErrorsGetTheNearestName) {
  EXPECT_EQ(run("chekc x.yaml").err, "orrery: unknown command `chekc`, did you mean `check`?\n");
  EXPECT_EQ(run("run --jsn x.yaml").err,
            "orrery: run: unexpected option `--jsn`, did you mean `--json`?\n");
  EXPECT_EQ(run("explain mfuu x.yaml").err,
            "orrery: explain: unknown metric `mfuu` (did you mean `mfu`?)\n");
  EXPECT_EQ(run("list gpu").err,
            "orrery: list: there is no list of `gpu` (did you mean `gpus`?)\n");
}

TEST_F(ExitCodeTest, AnInvalidScenarioIsThreeAndSaysWhere) {
  write("bad.yaml", "format: orrery/1\nmodle: {preset: llama2-7b}\n");
  for (const std::string command : {"run", "check", "explain mfu", "export --format csv"}) {
    const Finished finished = run(command + " bad.yaml");
    EXPECT_EQ(finished.code, 3) << command;
    EXPECT_TRUE(has(finished.err, "bad.yaml:2:1: error: modle")) << finished.err;
  }
  EXPECT_EQ(run("run bad.yaml").out, "");
}

TEST_F(ExitCodeTest, AnExpectationThatCannotBeReadIsThree) {
  write("small.yaml", small_scenario("  - mfuu >= 0.1\n"));
  const Finished finished = run("check small.yaml");
  EXPECT_EQ(finished.code, 3);
  EXPECT_TRUE(has(finished.err, "small.yaml:17:")) << finished.err;
  EXPECT_TRUE(has(finished.err, "did you mean `mfu`?")) << finished.err;
}

TEST_F(ExitCodeTest, WhatDoesNotFitIsFourUnlessTheMemoryIsExpected) {
  write("silent.yaml", too_big_scenario("  - mfu >= 0.01\n"));
  const Finished silent = run("check silent.yaml");
  EXPECT_EQ(silent.code, 4) << silent.err;
  EXPECT_TRUE(has(silent.out, "does not fit in memory: "));
  write("expected.yaml", too_big_scenario("  - not fits_memory\n"));
  EXPECT_EQ(run("check expected.yaml").code, 0);
  write("wrong.yaml", too_big_scenario("  - fits_memory\n"));
  EXPECT_EQ(run("check wrong.yaml").code, 1);
  const Finished report = run("run silent.yaml");
  EXPECT_EQ(report.code, 0);
  EXPECT_TRUE(has(report.out, "DOES NOT FIT"));
}

TEST_F(ExitCodeTest, ARunThatMostTrialsGaveUpIsFour) {
  std::string text = small_scenario();
  text.replace(text.find("0.05/d"), std::string("0.05/d").size(), "1000/d");
  write("hopeless.yaml", text);
  const Finished finished = run("run hopeless.yaml");
  EXPECT_EQ(finished.code, 4) << finished.err;
  EXPECT_TRUE(has(finished.out, "trials gave up")) << finished.out;
}

TEST_F(ExitCodeTest, AMissingProfileIsFive) {
  std::string text = small_scenario();
  text.replace(text.find("h100-sxm-80gb"), std::string("h100-sxm-80gb").size(), "h101");
  write("foreign.yaml", text);
  const Finished finished = run("run foreign.yaml");
  EXPECT_EQ(finished.code, 5);
  EXPECT_TRUE(has(finished.err, "foreign.yaml:4:16: error: cluster.gpu")) << finished.err;
}

TEST_F(ExitCodeTest, AMissingFileIsSix) {
  const Finished finished = run("check missing.yaml");
  EXPECT_EQ(finished.code, 6);
  EXPECT_TRUE(has(finished.err, "orrery: missing.yaml: no such file\n"));
  EXPECT_EQ(run("run .").code, 6);
}

TEST_F(ExitCodeTest, TheWorstOfSeveralFilesDecides) {
  write("good.yaml", small_scenario("  - fits_memory\n"));
  write("failing.yaml", small_scenario("  - mfu >= 0.99\n"));
  write("big.yaml", too_big_scenario("  - mfu >= 0.01\n"));
  write("bad.yaml", "format: orrery/1\n");
  EXPECT_EQ(run("check good.yaml failing.yaml").code, 1);
  EXPECT_EQ(run("check failing.yaml big.yaml good.yaml").code, 4);
  EXPECT_EQ(run("check big.yaml bad.yaml failing.yaml").code, 3);
  // The broken file does not keep the others from being judged.
  EXPECT_TRUE(has(run("check bad.yaml good.yaml").out, "pass      good.yaml"));
}

TEST_F(ExitCodeTest, VersionAndHelpAreZero) {
  const Finished version = run("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.out.starts_with("orrery "));
  const Finished help = run("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(has(help.out, "Exit codes:"));
  EXPECT_TRUE(has(run("export --help").out, "Usage: orrery export"));
  EXPECT_TRUE(has(run("").err, "Usage: orrery"));
}

TEST(ExitCodes, TheOrderIsThatOfTheContract) {
  using enum ExitCode;
  EXPECT_EQ(worse(ok, expectation_failed), expectation_failed);
  EXPECT_EQ(worse(does_not_fit, expectation_failed), does_not_fit);
  EXPECT_EQ(worse(does_not_fit, invalid), invalid);
  EXPECT_EQ(worse(invalid, io), io);
  EXPECT_EQ(worse(ok, ok), ok);
}

}  // namespace
}  // namespace orrery::cli::testing
