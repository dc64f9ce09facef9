// What is offered at the end of a command line, and that it is what the parser takes.

#include "sim/cli/help/complete.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using CompleteTest = CliTest;

CommandInfo sample() {
  const ArgumentInfo output{
      .names = {"-o", "--output"}, .value = "FILE", .choices = {}, .meaning = "m", .group = ""};
  const ArgumentInfo form{.names = {"--format"},
                          .value = "FORMAT",
                          .choices = {"csv", "json"},
                          .meaning = "",
                          .group = ""};
  const ArgumentInfo gpu{
      .names = {"--gpu"}, .value = "GPU", .choices = {}, .meaning = "", .group = ""};
  const ArgumentInfo vary{.names = {"--vary"},
                          .value = "KEY=VALUES",
                          .choices = {},
                          .meaning = "",
                          .group = "",
                          .required = false,
                          .repeatable = true};
  const ArgumentInfo quiet{.names = {"-q"}, .value = "", .choices = {}, .meaning = "", .group = ""};
  const ArgumentInfo metrics{
      .names = {"--metrics"}, .value = "METRICS", .choices = {}, .meaning = "", .group = ""};
  CommandInfo run{.name = "run", .summary = "Runs\nit", .footer = ""};
  run.positionals = {
      {.names = {"METRIC"}, .value = "TEXT", .choices = {}, .meaning = "", .group = ""},
      {.names = {"FILE"}, .value = "TEXT", .choices = {}, .meaning = "", .group = ""}};
  run.options = {output, form, gpu, vary, quiet, metrics};
  CommandInfo program{.name = "orrery", .summary = "", .footer = ""};
  program.commands = {run, {.name = "rank", .summary = "Ranks", .footer = ""}};
  return program;
}

std::vector<Candidate> sample_words(std::string_view list) {
  if (list == "gpus") {
    return {{"h100", "H"}, {"h200", "H"}, {"b200", "B"}};
  }
  if (list == "metrics") {
    return {{"mfu", ""}, {"cost", ""}};
  }
  if (list == "keys") {
    return {{"layout.schedule", "s"}, {"layout.tensor", "t"}};
  }
  if (list == "values:layout.schedule") {
    return {{"1f1b", ""}, {"zb-v", ""}};
  }
  return {};
}

std::string offered(const std::vector<std::string>& line) {
  std::string text = to_lines(complete(sample(), line, sample_words), false);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST(Complete, OffersCommandsFirstAndThenTheirArgumentsInOrder) {
  EXPECT_EQ(offered({}), "words run rank ");
  EXPECT_EQ(offered({"ru"}), "words run ");
  EXPECT_EQ(offered({"run", ""}), "words mfu cost ");
  EXPECT_EQ(offered({"run", "mfu", ""}), "files ");
  EXPECT_EQ(offered({"run", "mfu", "x.yaml", ""}), "words ") << "it takes no third argument";
}

TEST(Complete, OffersOptionsThatMayStillCome) {
  EXPECT_EQ(offered({"run", "--"}), "words --output --format --gpu --vary --metrics ");
  EXPECT_EQ(offered({"run", "-o", "x", "-q", "--vary", "a=1", "-"}),
            "words --format --gpu --vary --metrics ");
  EXPECT_EQ(offered({"run", "--", "-"}), "words ") << "after -- no option comes";
}

TEST(Complete, KnowsWhatAnOptionTakes) {
  EXPECT_EQ(offered({"run", "--output", ""}), "files ");
  EXPECT_EQ(offered({"run", "--output=x"}), "files ");
  EXPECT_EQ(offered({"run", "--format", "c"}), "words csv ");
  EXPECT_EQ(offered({"run", "--format="}), "words --format=csv --format=json ");
  EXPECT_EQ(offered({"run", "--gpu", "h"}), "words h100 h200 ");
  EXPECT_EQ(offered({"run", "--gpu", "h100", ""}), "words mfu cost ") << "the value is no argument";
}

TEST(Complete, WritesKeysAndListsPieceByPiece) {
  EXPECT_EQ(offered({"run", "--vary", "layout.s"}), "words-open layout.schedule= ");
  EXPECT_EQ(offered({"run", "--vary", "layout.schedule=1f1b,z"}),
            "words-open layout.schedule=1f1b,zb-v ");
  EXPECT_EQ(offered({"run", "--metrics", "mfu,c"}), "words-open mfu,cost ");
}

TEST(Complete, TellsMeaningsInOneLine) {
  EXPECT_EQ(to_lines(complete(sample(), {"run"}, sample_words), true), "words\nrun\tRuns\n");
}

TEST(Complete, TableSurvivesTheWayThroughJson) {
  const std::string json = to_json(sample());
  const auto read = read_command(json);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_json(*read), json);
  EXPECT_FALSE(read_command("{}").has_value());
  EXPECT_FALSE(read_command("orrery: unknown").has_value());
}

// The options in the text of --help, in their order.
std::set<std::string> options_in(const std::string& help) {
  std::set<std::string> options;
  const std::regex pattern("^  (-[a-zA-Z],)?(--[a-z-]+)");
  std::size_t at = 0;
  while (at < help.size()) {
    const std::size_t end = std::min(help.find('\n', at), help.size());
    const std::string line = help.substr(at, end - at);
    std::smatch match;
    if (std::regex_search(line, match, pattern)) {
      options.insert(match[2]);
    }
    at = end + 1;
  }
  return options;
}

std::set<std::string> lines_after_first(const std::string& text) {
  std::set<std::string> lines;
  std::size_t at = text.find('\n') + 1;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    lines.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Every command, those of other programs too: its --help, its completion and its manual agree.
TEST_F(CompleteTest, EveryOptionOfEveryCommandIsOfferedAndInItsManual) {
  const auto table = nlohmann::json::parse(run("man --json").out);
  EXPECT_GE(table["commands"].size(), 15U);
  int asked = 0;
  for (const auto& command : table["commands"]) {
    const std::string name = command["name"];
    const Finished help = run(name + " --help");
    if (help.code == 6) {
      continue;  // its program is not built here
    }
    ++asked;
    const auto offered =
        lines_after_first(run("completion --candidates bash -- " + name + " --").out);
    const std::string page = run("man " + name).out;
    const auto options = options_in(help.out);
    EXPECT_FALSE(options.empty()) << name << help.err;
    for (const std::string& option : options) {
      EXPECT_TRUE(offered.contains(option)) << name << " " << option;
      const std::string in_page = std::regex_replace(option, std::regex("-"), "\\-");
      EXPECT_NE(page.find("\\fB" + in_page + "\\fR"), std::string::npos) << name << " " << option;
    }
  }
  EXPECT_GE(asked, 11);
}

TEST_F(CompleteTest, NamesComeFromTheProgram) {
  const auto line = [this](const std::string& words) {
    return run("completion --candidates bash -- " + words).out;
  };
  EXPECT_EQ(line("explain bubb"), "words\nbubble_fraction\n");
  EXPECT_EQ(line("list gp"), "words\ngpus\n");
  EXPECT_EQ(line("sweep --vary checkpoint.mo"), "words-open\ncheckpoint.mode=\n");
  EXPECT_EQ(line("sweep --vary cluster.gpu=h100-sxm-8"), "words-open\ncluster.gpu=h100-sxm-80gb\n");
  EXPECT_EQ(line("sweep --vary layout.schedule=zb-h"),
            "words-open\nlayout.schedule=zb-h1\nlayout.schedule=zb-h2\n");
  EXPECT_EQ(line("sweep --answer spo"), "words\nspot\n");
  EXPECT_EQ(line("run --color al"), "words\nalways\n");
  EXPECT_EQ(line("run --profiles ''"), "folders\n");
  EXPECT_EQ(line("man swe"), "words\nsweep\n");
}

// What bash does when Tab is pressed, without a terminal: the variables that it would set.
TEST_F(CompleteTest, BashScriptAnswersAsReadlineAsks) {
  write("ask.bash", R"bash(eval "$("$1" completion bash)"
COMP_LINE="$1 $2" COMP_POINT=$((${#1} + 1 + ${#2}))
COMP_WORDS=("$1" "${@:3}") COMP_CWORD=$(($# - 2))
_orrery 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
)bash");
  const auto ask = [this](const std::string& line, const std::string& words) {
    return run("--version >/dev/null",
               fmt::format("bash ask.bash '{}' '{}' {} ;", program(), line, words))
        .out;
  };
  EXPECT_EQ(ask("schem", "schem"), "schema\n");
  // Bash hands over --vary layout.schedule=zb-h as three words and completes only the last.
  EXPECT_EQ(ask("sweep --vary layout.schedule=zb-h", "sweep --vary layout.schedule = zb-h"),
            "zb-h1\nzb-h2\n");
  EXPECT_EQ(
      ask("sweep --vary layout.schedule=1f1b,zb-v", "sweep --vary layout.schedule = 1f1b,zb-v"),
      "1f1b,zb-v\n");
  EXPECT_NE(ask("sweep --vary layout.schedule=", "sweep --vary layout.schedule =").find("\nzb-v\n"),
            std::string::npos);
  EXPECT_EQ(ask("run --color al", "run --color al"), "always\n");
  EXPECT_EQ(ask("run -o ", "run -o ''"), "\n") << "files are the shell's to find";
  EXPECT_EQ(ask("run one-g", "run one-g"), "one-gpu\n");
  EXPECT_EQ(ask("run ask.b", "run ask.b"), "\n") << "no scenario is called so";
  EXPECT_TRUE(ask("run ", "run ''").starts_with("ask.bash\nairesim-default\n") ||
              ask("run ", "run ''").find("\nask.bash\n") != std::string::npos);
}

TEST_F(CompleteTest, FishScriptAnswersWithMeanings) {
  if (std::system("command -v fish >/dev/null") != 0) {
    GTEST_SKIP() << "fish is not installed";
  }
  write("ask.fish", R"fish(set -x PATH (dirname $argv[1]) $PATH
orrery completion fish | source
complete -C $argv[2]
)fish");
  const auto ask = [this](const std::string& line) {
    return run("--version >/dev/null",
               fmt::format("HOME=$PWD fish ask.fish '{}' '{}' ;", program(), line))
        .out;
  };
  EXPECT_EQ(ask("orrery schem"),
            "schema\tJSON Schema (draft 7) of scenario files, or their reference\n");
  EXPECT_NE(ask("orrery run one-g").find("one-gpu\t"), std::string::npos);
  EXPECT_EQ(ask("orrery run ask."), "ask.fish\n");
  EXPECT_EQ(ask("orrery sweep --vary layout.schedule=zb-v"),
            "layout.schedule=zb-v\tsplit backward over two chunks per device that turn at the last "
            "device\n");
}

TEST_F(CompleteTest, UsageMistakesAreTold) {
  EXPECT_EQ(run("completion").code, 2);
  EXPECT_EQ(run("completion tcsh").code, 2);
  EXPECT_EQ(run("completion bash run").code, 2);
  EXPECT_EQ(run("man swep").err,
            "orrery: man: there is no command `swep`, did you mean `sweep`?\n");
}

// The formatter of manuals has nothing to complain about.
TEST_F(CompleteTest, ManualPagesAreSoundTroff) {
  ASSERT_EQ(run("man --all pages").code, 0);
  const auto pages = std::filesystem::directory_iterator(path("pages"));
  const bool groff = std::system("command -v groff >/dev/null") == 0;
  int count = 0;
  for (const auto& page : pages) {
    ++count;
    const std::string text = read("pages/" + page.path().filename().string());
    EXPECT_TRUE(text.starts_with(".TH ORRERY")) << page;
    EXPECT_NE(text.find(".SH NAME\norrery"), std::string::npos) << page;
    if (groff) {
      const Finished formatted =
          run("--version >/dev/null", "groff -man -Tutf8 -ww -K utf8 -P -cbou pages/" +
                                          page.path().filename().string() + " ;");
      EXPECT_EQ(formatted.err, "") << page;
      EXPECT_NE(formatted.out.find("SYNOPSIS"), std::string::npos) << page;
    }
  }
  EXPECT_GE(count, 16);
}

// A shipped scenario may be named in place of a file, by every command that reads one.

using ScenarioNamesTest = CliTest;
using Json = nlohmann::json;

TEST_F(ScenarioNamesTest, EveryCommandThatReadsAScenarioTakesItsName) {
  for (const char* command :
       {"run", "check", "explain mfu", "export --format csv", "compare one-gpu",
        "sweep --vary batch.global=8,16", "plan --finalists 1"}) {
    const Finished finished = run(std::string(command) + " one-gpu");
    EXPECT_EQ(finished.code, 0) << command << "\n" << finished.err;
    EXPECT_TRUE(has(finished.err, "orrery: one-gpu is ")) << command << "\n" << finished.err;
    EXPECT_TRUE(has(finished.err, "/scenarios/one-gpu.yaml\n")) << command << "\n" << finished.err;
  }
}

TEST_F(ScenarioNamesTest, TheAnswerIsThatOfTheFile) {
  const Finished by_name = run("run --json one-gpu.yaml");
  const Finished by_path =
      run(std::string("run --json '") + kSourceDir + "/scenarios/one-gpu.yaml'");
  ASSERT_EQ(by_name.code, 0) << by_name.err;
  EXPECT_EQ(Json::parse(by_name.out)["metrics"], Json::parse(by_path.out)["metrics"]);
  EXPECT_EQ(by_path.err, "") << "a file that was named needs no word about it";
  EXPECT_EQ(run("run -q one-gpu").err, "");
}

TEST_F(ScenarioNamesTest, AFileOfThatNameGoesFirst) {
  write("one-gpu", small_scenario());
  write("mpt-7b.yaml", small_scenario());
  for (const char* name : {"one-gpu", "mpt-7b.yaml"}) {
    const Finished finished = run(std::string("run ") + name);
    EXPECT_EQ(finished.err, "") << name;
    EXPECT_TRUE(finished.out.starts_with("Small\n")) << finished.out;
  }
  EXPECT_TRUE(has(run("run mpt-7b").err, "/scenarios/mpt-7b.yaml"));
}

TEST_F(ScenarioNamesTest, AFolderOfThatNameDoesNot) {
  std::filesystem::create_directories(path("one-gpu"));
  EXPECT_EQ(run("run one-gpu").code, 0);
  std::filesystem::create_directories(path("results"));
  EXPECT_TRUE(has(run("run results").err, "results: "));
}

TEST_F(ScenarioNamesTest, UnknownNamesGetTheNearest) {
  const auto problem = [this](const std::string& words) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.code, 6) << words;
    EXPECT_EQ(finished.out, "") << words;
    return finished.err;
  };
  EXPECT_EQ(problem("run one-gpus"),
            "orrery: one-gpus: no such file and no shipped scenario, did you mean one-gpu?\n");
  EXPECT_EQ(problem("plan llama3-405b"),
            "orrery: llama3-405b: no such file and no shipped scenario, did you mean "
            "llama3-405b-16k, llama3-405b-flapping-nics, llama3-405b-half-nics?\n");
  EXPECT_EQ(problem("sweep --vary capacity.spares=0,8 on-gpu.yaml"),
            "orrery: on-gpu.yaml: no such file and no shipped scenario, did you mean one-gpu?\n");
  EXPECT_EQ(problem("explain mfu xyzzy"),
            "orrery: xyzzy: no such file and no shipped scenario (orrery list scenarios shows "
            "all)\n");
}

// Paths and words with another ending are no names: who reads them says what is wrong.
TEST_F(ScenarioNamesTest, PathsAreNoNames) {
  for (const char* word : {"./one-gpu", "nowhere/one-gpu.yaml", "rank0.json.gz"}) {
    const Finished finished = run(std::string("run ") + word);
    EXPECT_EQ(finished.code, 6) << word;
    EXPECT_FALSE(has(finished.err, "shipped")) << finished.err;
    EXPECT_TRUE(has(finished.err, word)) << finished.err;
  }
}

TEST_F(ScenarioNamesTest, OneUnknownNameDoesNotKeepTheOthersFromBeingChecked) {
  const Finished finished = run("check one-gpus mpt-7b");
  EXPECT_EQ(finished.code, 6);
  EXPECT_TRUE(has(finished.err, "one-gpus: no such file"));
  EXPECT_TRUE(has(finished.out, "pass"));
}

TEST_F(ScenarioNamesTest, TheListHoldsThemAllAndShellsOfferThem) {
  const Json list = Json::parse(run("list --json scenarios").out);
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kSourceDir) + "/scenarios")) {
    files += entry.path().extension() == ".yaml" ? 1U : 0U;
  }
  EXPECT_EQ(list["entries"].size(), files);
  for (const Json& entry : list["entries"]) {
    EXPECT_FALSE(entry["summary"].get<std::string>().empty()) << entry;
    EXPECT_TRUE(std::filesystem::exists(entry["source"].get<std::string>())) << entry;
  }
  for (const char* command :
       {"run", "check", "explain mfu", "export", "sweep", "plan", "compare"}) {
    EXPECT_EQ(run("completion --candidates bash -- " + std::string(command) + " one-g").out,
              "files\none-gpu\n")
        << command;
  }
  EXPECT_EQ(run("completion --candidates bash -- run ./").out, "files\n");
}

}  // namespace
}  // namespace orrery::cli::testing
