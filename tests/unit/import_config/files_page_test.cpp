// docs/import-files.md says what comes of every file under configs/: it is made by this test, and
// compared with the page. ORRERY_UPDATE_GOLDEN=1 writes it.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "sim/base/files/file.hpp"
#include "sim/base/text/text.hpp"
#include "sim/import_config/trees/key_fates.hpp"
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

// Two logs of torchtitan say by their use of memory on which other GPU they ran.
Given gpu_of(const std::string& name) {
  const std::string gpu = name == "torchtitan-llama3-8b-8gpu.log" ? "h200-sxm"
                          : name == "torchtitan-ranks.log"        ? "b200-sxm"
                                                                  : "h100-sxm-80gb";
  return {{"cluster.gpu", gpu, "--gpu"}};
}

std::string accepted_row(const std::string& name) {
  const Imported imported = import_named({name}, gpu_of(name));
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
  return fmt::format("| {} | {} | {} | {} | {} |\n", name, format_name(result.files.front().format),
                     parameters, step.empty() ? "-" : step, asked.empty() ? "nothing" : asked);
}

std::string refused_row(const std::string& name) {
  const Imported imported = import_named({name});
  EXPECT_FALSE(imported.diagnostics.all().empty()) << name;
  EXPECT_EQ(imported.result.scenario, "") << name;
  const Diagnostic& problem = imported.diagnostics.all().front();
  return fmt::format("| {} | line {}: {}{} |\n", name.substr(name.find('/') + 1),
                     problem.where.line, problem.key.empty() ? "" : problem.key + ": ",
                     problem.message);
}

// A file of a stranger: what was read of it at the first attempt stands in its heading.
struct Stranger {
  std::string name;
  std::string source;
  std::string first;
  std::string text;
};

// configs/strangers/*.txt: `=== name | source | first attempt`, then the text of the file.
std::vector<Stranger> strangers() {
  std::vector<Stranger> all;
  for (const std::string& file : config_names("strangers")) {
    const std::string whole = config_text(file);
    std::string_view rest = whole;
    while (!rest.empty()) {
      std::string_view line = cut(rest, '\n');
      if (!line.starts_with("=== ")) {
        all.back().text += std::string(line) + "\n";
        continue;
      }
      line.remove_prefix(4);
      Stranger& one = all.emplace_back();
      one.name = orrery::trimmed(cut(line, '|'), " ");
      one.source = orrery::trimmed(cut(line, '|'), " ");
      one.first = orrery::trimmed(line, " ");
    }
  }
  return all;
}

std::string stranger_row(const Stranger& stranger) {
  const Imported imported = import_texts({{stranger.name, stranger.text}}, gpu_of(stranger.name));
  std::string now;
  for (const AskedKey& key : imported.result.asked) {
    now += (now.empty() ? "asks for " : ", ") + key.path;
  }
  now = now.empty() ? "complete" : now;
  if (imported.diagnostics.has_errors()) {
    const Diagnostic& problem = imported.diagnostics.all().front();
    now = fmt::format("refused: {}{}", problem.key.empty() ? "" : problem.key + ": ",
                      problem.message);
    std::replace(now.begin(), now.end(), '|', '/');
  }
  const std::string step = imported.value("measured.step_time");
  return fmt::format("| {} | {} | {} | {}{} |\n", stranger.name, stranger.source, stranger.first,
                     step.empty() ? "" : step + " a step; ", now);
}

std::string strangers_page() {
  const std::vector<Stranger> all = strangers();
  std::map<std::string, int> counts;
  std::string rows;
  for (const Stranger& stranger : all) {
    std::string_view first = stranger.first;
    ++counts[std::string(cut(first, ':'))];
    rows += stranger_row(stranger);
  }
  std::string text = fmt::format(
      "\n## Files of strangers\n\n"
      "{} public files that nobody had tried were imported once, as they are; what came of them "
      "then "
      "stands\nin the third column. The test holds their facts: keys that change nothing are left "
      "out. At the first\nattempt:",
      all.size());
  for (const auto& [first, count] : counts) {
    text += fmt::format(" {} {}{}", count, first, first == counts.rbegin()->first ? ".\n" : ";");
  }
  return text + "\n| File | Source | First attempt | Now |\n|---|---|---|---|\n" + rows;
}

std::string page() {
  std::string text =
      "# Files that imports are tested with\n\n"
      "Made by `import_config_test` from [its "
      "files](../tests/unit/import_config/configs/SOURCES.md)"
      ",\nwhich hold the facts of public configurations and logs. Each is imported with\n"
      "`--gpu h100-sxm-80gb`, or with the GPU that the log tells. Where a file does not hold the "
      "model or\nthe batch, a second one does.\n"
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
  return text + strangers_page();
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
