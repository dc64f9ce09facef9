#include <gtest/gtest.h>

#include <string>

#include "tests/repo/rules.hpp"

namespace orrery::repo {
namespace {

TEST(Text, NothingIsLeftUnfinished) {
  expect_none(unfinished_words(repository()));
}

TEST(Text, AnUnfinishedWordIsCaught) {
  const std::string later = std::string("TO") + "DO";
  const std::string broken = std::string("FIX") + "ME";
  const std::string empty = std::string("place") + "holder";
  const Tree tree{{{"docs/bad.md", "\na " + empty + " text\n"},
                   {"docs/good.md", "mastodons are fine\n"},
                   {"sim/a/bad.cpp", "// " + later + "(x): later\n// " + broken + "\n"}}};
  expect_offences(unfinished_words(tree),
                  {"docs/bad.md:2: unfinished: " + empty,
                   "sim/a/bad.cpp:1: unfinished: " + later,
                   "sim/a/bad.cpp:2: unfinished: " + broken});
}

TEST(Text, NoPathOfOneMachineIsLeft) {
  expect_none(machine_paths(repository()));
}

TEST(Text, AMachinePathIsCaught) {
  const std::string home = std::string("/ho") + "me/";
  const Tree tree{{{"docs/bad.md", "see " + home + "someone/file\n"},
                   {"docs/good.md", "see docs" + home + "page and ~/x\n"}}};
  expect_offences(machine_paths(tree), {"docs/bad.md:1: path of one machine:  " + home});
}

TEST(Scenarios, EveryScenarioStatesWhatItExpects) {
  expect_none(scenarios_without_expectation(repository()));
}

TEST(Scenarios, AScenarioWithoutExpectationIsCaught) {
  const Tree tree{{{"scenarios/bad.yaml", "name: x\n"},
                   {"scenarios/empty.yaml", "expect:\nname: x\n"},
                   {"scenarios/good.yaml", "name: x\nexpect:\n  - mfu >= 0.38\n"},
                   {"scenarios/profiles/gpu.yaml", "name: x\n"}}};
  expect_offences(scenarios_without_expectation(tree),
                  {"scenarios/bad.yaml:1: has no `expect:` with at least one expectation",
                   "scenarios/empty.yaml:1: has no `expect:` with at least one expectation"});
}

TEST(Scenarios, EveryScenarioNamesItsSchemaForEditors) {
  expect_none(scenarios_without_modeline(repository()));
}

TEST(Scenarios, AScenarioWithoutModelineIsCaught) {
  const std::string modeline = "# yaml-language-server: $schema=../docs/scenario.schema.json";
  const Tree tree{{{"scenarios/bad.yaml", "name: x\n" + modeline + "\n"},
                   {"scenarios/good.yaml", modeline + "\nname: x\n"}}};
  expect_offences(scenarios_without_modeline(tree),
                  {"scenarios/bad.yaml:1: starts without `" + modeline + "`"});
}

TEST(Documents, LinksLeadSomewhere) {
  expect_none(broken_links(repository()));
}

TEST(Documents, ABrokenLinkIsCaught) {
  const Tree tree{{
      {"README.md",
       "# Orrery\n"
       "[a](docs/model.md) [b](docs/none.md) [c](docs/model.md#the-step-time) ![d](docs/)\n"
       "[e](docs/model.md#nowhere) [f](#orrery) [g](#orreri) [h](https://example.org/x)\n"
       "```\n[i](none.md)\n```\n"
       "`[j](none.md)` and [`code`](none.md)\n"},
      {"docs/model.md", "## The step time\n[up](../README.md)\n```\n# nowhere\n```\n"},
  }};
  expect_offences(broken_links(tree),
                  {"README.md:2: docs/none.md leads nowhere",
                   "README.md:3: docs/model.md#nowhere names no heading of docs/model.md",
                   "README.md:3: #orreri names no heading of README.md",
                   "README.md:7: none.md leads nowhere"});
}

TEST(Documents, TheExpectedOnesExistAndNameTheCommands) {
  expect_none(missing_documents(repository()));
}

TEST(Documents, AMissingDocumentIsCaught) {
  const Tree tree{{{"README.md", "scripts/demo\n"},
                   {"LICENSE", "Apache License\n"},
                   {"CONTRIBUTING.md", "scripts/test\n"},
                   {"CHANGELOG.md", "### Accuracy\n### Features\n"},
                   {"docs/architecture.md", ""},
                   {"docs/scenario.schema.json", R"({"$schema": ""})"},
                   {"sim/README.md", "scenario.yaml\n"}}};
  expect_offences(missing_documents(tree),
                  {"README.md:1: does not name scripts/test",
                   "CHANGELOG.md:1: does not name ### Internals",
                   "docs/model.md is missing"});
}

TEST(Scripts, AreExecutableAndStopAtTheFirstError) {
  expect_none(unready_scripts(repository()));
}

TEST(Scripts, AnUnreadyScriptIsCaught) {
  const std::string ready = "#!/usr/bin/env bash\nset -euo pipefail\n";
  const Tree tree{{{".ci/run", ready, true},
                   {"scripts/demo", ready, false},
                   {"scripts/test", "#!/usr/bin/env bash\n", true}}};
  expect_offences(unready_scripts(tree),
                  {"scripts/setup is missing",
                   "scripts/demo:1: has no executable bit",
                   "scripts/test:1: has no `set -euo pipefail`"});
}

TEST(Snapshot, SeesTheWholeRepository) {
  // A loader that misses folders would let every rule pass.
  for (const std::string_view path : {"README.md",
                                      "LICENSE",
                                      "CMakeLists.txt",
                                      ".ci/run",
                                      "sim/base/units.hpp",
                                      "tests/repo/text_test.cpp",
                                      "scripts/demo",
                                      "docs/decisions/0001-units-and-time.md"}) {
    EXPECT_NE(repository().find(path), nullptr) << path;
  }
}

}  // namespace
}  // namespace orrery::repo
