// Data on stdout, messages on stderr; nothing that was not written is called written.

#include <nlohmann/json.hpp>

#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using StreamsTest = CliTest;
using Json = nlohmann::json;

TEST_F(StreamsTest, TheAnswerGoesToStdoutAndNothingToStderr) {
  write("small.yaml", small_scenario());
  const Finished finished = run("run small.yaml");
  EXPECT_EQ(finished.code, 0);
  EXPECT_NE(finished.out.find("ONE STEP"), std::string::npos);
  EXPECT_EQ(finished.err, "");
}

TEST_F(StreamsTest, NoEscapeSequencesUnlessATerminalReads) {
  write("small.yaml", small_scenario());
  EXPECT_EQ(run("run small.yaml").out.find('\x1b'), std::string::npos);
  EXPECT_NE(run("run --color always small.yaml").out.find('\x1b'), std::string::npos);
  EXPECT_EQ(run("run --color never small.yaml").out.find('\x1b'), std::string::npos);
}

// script(1) gives the command a terminal.
TEST_F(StreamsTest, NoColorIsHonouredOnATerminal) {
  if (std::system("command -v script >/dev/null") != 0) {
    GTEST_SKIP() << "script(1) is missing";
  }
  write("small.yaml", small_scenario());
  const std::string command = "script -qec \"" + program() + " run small.yaml\" /dev/null; true ";
  const Finished coloured = run("--version", "TERM=xterm NO_COLOR= " + command + ";");
  const Finished plain = run("--version", "TERM=xterm NO_COLOR=1 " + command + ";");
  EXPECT_NE(coloured.out.find("\x1b[1m"), std::string::npos);
  EXPECT_EQ(plain.out.find("\x1b[1m"), std::string::npos);
}

TEST_F(StreamsTest, BarsAreAsciiInACLocale) {
  write("small.yaml", small_scenario());
  const auto is_ascii = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0; });
  };
  EXPECT_TRUE(is_ascii(run("run small.yaml", "LC_ALL=C").out));
  EXPECT_FALSE(is_ascii(run("run small.yaml", "LC_ALL=en_US.UTF-8").out));
}

TEST_F(StreamsTest, OutputFileHoldsTheDataAndStdoutNone) {
  write("small.yaml", small_scenario());
  const Finished finished = run("run --json -o result.json small.yaml");
  EXPECT_EQ(finished.code, 0);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(Json::parse(read("result.json"))["schema"], "orrery-evaluation/1");
  EXPECT_EQ(files(), (std::vector<std::string>{"result.json", "small.yaml"}));
}

TEST_F(StreamsTest, ADashIsStdout) {
  write("small.yaml", small_scenario());
  EXPECT_EQ(run("run --json -o - small.yaml").out, run("run --json small.yaml").out);
  EXPECT_EQ(files(), (std::vector<std::string>{"small.yaml"}));
}

TEST_F(StreamsTest, AFailureLeavesTheOldOutputFileAlone) {
  write("bad.yaml", "format: orrery/1\n");
  write("result.json", "old");
  EXPECT_EQ(run("run --json -o result.json bad.yaml").code, 3);
  EXPECT_EQ(read("result.json"), "old");
}

TEST_F(StreamsTest, AFullDeviceIsAnError) {
  write("small.yaml", small_scenario());
  const Finished finished = run("run small.yaml", "", ">/dev/full");
  EXPECT_EQ(finished.code, 6);
  EXPECT_EQ(finished.err, "orrery: standard output: cannot write: No space left on device\n");
  EXPECT_EQ(run("run -o /dev/full small.yaml").code, 6);
  EXPECT_EQ(run("--version", "", ">/dev/full").code, 6);
}

TEST_F(StreamsTest, AClosedStdoutIsAnError) {
  write("small.yaml", small_scenario());
  const Finished finished = run("run small.yaml", "", ">&-");
  EXPECT_EQ(finished.code, 6);
  EXPECT_EQ(finished.err, "orrery: standard output: cannot write: Bad file descriptor\n");
}

TEST_F(StreamsTest, AReaderThatHasGoneIsNoNews) {
  // The reader ends at once; the exit code of the writer is kept in a file.
  const Finished finished = run("schema", "{ sleep 0.3;", "; echo $? >code; } | true; sleep 0.6");
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(read("code"), "6\n");
}

TEST_F(StreamsTest, OutputIntoAMissingFolderIsAnError) {
  const Finished finished = run("schema -o missing/x.json");
  EXPECT_EQ(finished.code, 6);
  EXPECT_NE(finished.err.find("missing/x.json: cannot"), std::string::npos);
}

TEST_F(StreamsTest, ADashReadsTheScenarioFromStdin) {
  write("small.yaml", small_scenario());
  const Finished finished = run("run --json -", "cat small.yaml |");
  EXPECT_EQ(finished.code, 0);
  EXPECT_EQ(Json::parse(finished.out)["scenario"]["file"], "<stdin>");
}

TEST_F(StreamsTest, SeveralFilesAreOneJsonArray) {
  write("small.yaml", small_scenario());
  const Json json = Json::parse(run("run --json small.yaml small.yaml").out);
  ASSERT_TRUE(json.is_array());
  EXPECT_EQ(json.size(), 2U);
}

TEST_F(StreamsTest, ResultsDoNotDependOnTheNumberOfThreads) {
  write("small.yaml", small_scenario());
  const std::string one = run("run --json --threads 1 small.yaml").out;
  EXPECT_EQ(run("run --json --threads 2 small.yaml").out, one);
  EXPECT_NE(run("run --json --seed 4 small.yaml").out, one);
}

TEST_F(StreamsTest, TrialsOfTheCommandLineReplaceThoseOfTheScenario) {
  write("small.yaml", small_scenario());
  EXPECT_NE(run("run --trials 7 small.yaml").out.find("7 trials, seed 3"), std::string::npos);
}

}  // namespace
}  // namespace orrery::cli::testing
