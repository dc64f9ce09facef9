// The examples of docs/ci: YAML that parses, scripts that exist, commands that run as they stand.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/files/file.hpp"
#include "sim/base/yaml/document.hpp"
#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using CiExamplesTest = CliTest;
namespace fs = std::filesystem;

const std::vector<std::string> kExamples = {"github-actions.yml", "gitlab-ci.yml"};

std::vector<std::string> text_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Every line of shell in the example: those of `run:`, `script:` and `before_script:`.
std::vector<std::string> commands_of(const std::string& example) {
  Diagnostics diagnostics;
  const fs::path path = fs::path(kSourceDir) / "docs" / "ci" / example;
  const auto tree = yaml::parse_file(path, {}, diagnostics);
  EXPECT_TRUE(tree.has_value()) << to_string(diagnostics);
  std::vector<std::string> commands;
  const std::function<void(const yaml::Value&, bool)> visit = [&](const yaml::Value& value,
                                                                  bool is_shell) {
    if (is_shell && value.kind == yaml::Value::Kind::scalar) {
      for (const std::string& line : text_lines(value.text)) {
        commands.push_back(line);
      }
    }
    for (const yaml::Value& item : value.items) {
      visit(item, is_shell);
    }
    for (const yaml::Entry& entry : value.entries) {
      visit(entry.value,
            entry.key == "run" || entry.key == "script" || entry.key == "before_script");
    }
  };
  if (tree) {
    visit(*tree, false);
  }
  return commands;
}

TEST_F(CiExamplesTest, ScriptsExist) {
  for (const std::string& example : kExamples) {
    int found = 0;
    for (const std::string& command : commands_of(example)) {
      const std::string folder = "orrery-source/";
      if (command.starts_with(folder)) {
        const std::string script = command.substr(folder.size(), command.find(' ') - folder.size());
        EXPECT_TRUE(fs::exists(fs::path(kSourceDir) / script)) << command;
        ++found;
      }
    }
    EXPECT_EQ(found, 2) << example;
  }
}

TEST_F(CiExamplesTest, CommandsRunAndWriteWhatTheNextStepsTake) {
  fs::create_directories(path("scenarios"));
  fs::create_directories(path("ci"));
  write("scenarios/a.yaml", small_scenario("  - fits_memory\n"));
  write("scenarios/b.yaml", small_scenario("  - mfu >= 0.01\n"));
  ASSERT_EQ(run("check --write-baseline ci/baseline.yaml scenarios/*.yaml").code, 0);
  for (const std::string& example : kExamples) {
    int ran = 0;
    for (const std::string& command : commands_of(example)) {
      const std::string name = "orrery ";
      if (command.starts_with(name)) {
        const Finished finished = run(command.substr(name.size()));
        EXPECT_EQ(finished.code, 0) << example << ": " << command << "\n" << finished.err;
        ++ran;
      }
    }
    EXPECT_EQ(ran, 1) << example;
    for (const std::string output : {"report.xml", "summary.md"}) {
      EXPECT_TRUE(fs::remove(path(output))) << example << " lacks " << output;
    }
  }
}

}  // namespace
}  // namespace orrery::cli::testing
