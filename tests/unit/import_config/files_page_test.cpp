// docs/import-files.md says what comes of every file under configs/: it is made by this test, and
// compared with the page. ORRERY_UPDATE_GOLDEN=1 writes it.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

std::string grouped(std::int64_t count) {
  std::string text = std::to_string(count);
  constexpr std::size_t kGroup = 3;
  for (std::size_t at = text.size(); at > kGroup;) {
    at -= kGroup;
    text.insert(at, ",");
  }
  return text;
}

std::string accepted_row(const std::string& name) {
  const Imported imported = import_named({name}, {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}});
  EXPECT_EQ(imported.problems(), "") << name;
  const ImportResult& result = imported.result;
  std::string parameters = "-";
  if (result.model) {
    parameters = grouped(result.model->parameters);
    if (result.model->active != result.model->parameters) {
      parameters += "; active " + grouped(result.model->active);
    }
  }
  std::string asked;
  for (const AskedKey& key : result.asked) {
    asked += (asked.empty() ? "" : ", ") + key.path;
  }
  const std::string step = imported.value("measured.step_time");
  return fmt::format("| {} | {} | {} | {} | {} |\n",
                     name,
                     format_name(result.files.front().format),
                     parameters,
                     step.empty() ? "-" : step,
                     asked.empty() ? "nothing" : asked);
}

std::string refused_row(const std::string& name) {
  const Imported imported = import_named({name});
  EXPECT_FALSE(imported.diagnostics.all().empty()) << name;
  EXPECT_EQ(imported.result.scenario, "") << name;
  const Diagnostic& problem = imported.diagnostics.all().front();
  return fmt::format("| {} | line {}: {}{} |\n",
                     name.substr(name.find('/') + 1),
                     problem.where.line,
                     problem.key.empty() ? "" : problem.key + ": ",
                     problem.message);
}

std::string page() {
  std::string text =
      "# Files that imports are tested with\n\n"
      "Made by `import_config_test` from [its "
      "files](../tests/unit/import_config/configs/SOURCES.md)"
      ",\nwhich hold the facts of public configurations and logs. Each is imported with\n"
      "`--gpu h100-sxm-80gb`. Where a file does not hold the model or the batch, a second one "
      "does.\n"
      "\n| File | Format | Parameters | Measured step | Still to be stated |\n"
      "|---|---|---|---|---|\n";
  for (const std::string& name : config_names()) {
    text += accepted_row(name);
  }
  text +=
      "\nThese are refused, because the scenario would be wrong:\n\n| File | Why |\n|---|---|\n";
  for (const std::string& name : config_names("refused")) {
    text += refused_row(name);
  }
  return text;
}

TEST(FilesPage, SaysWhatComesOfEveryFile) {
  const std::filesystem::path path = std::filesystem::path(kSourceDir) / "docs/import-files.md";
  const std::string now = page();
  const char* update = std::getenv("ORRERY_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    write_file_atomically(path, now);
  }
  EXPECT_EQ(now, read_file(path, kMostBytes)) << "ORRERY_UPDATE_GOLDEN=1 writes the page anew";
}

}  // namespace
}  // namespace orrery::import_config::testing
