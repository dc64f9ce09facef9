#include "sim/cli/frame/output_files.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "sim/base/files/file.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/evaluate/inputs/named_files.hpp"

namespace orrery::cli {

namespace {

constexpr std::array<std::string_view, 5> kOutputs = {
    "output", "junit", "markdown", "write-baseline", "fragment"};
constexpr std::string_view kStandardStream = "-";

bool is_output(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return std::find(kOutputs.begin(), kOutputs.end(), name) != kOutputs.end();
  });
}

bool is_plain_file(const std::string& name) {
  std::error_code error;
  return std::filesystem::is_regular_file(name, error);
}

[[noreturn]] void refuse(std::string_view command, const std::string& file, std::string_view why) {
  throw UsageError(fmt::format("{}: {} {}: choose another file", command, file, why));
}

}  // namespace

void check_outputs(const CLI::App& command, std::string_view name) {
  std::vector<std::string> outputs;
  std::vector<std::string> others;
  for (const CLI::Option* option : command.get_options()) {
    std::vector<std::string>& words = is_output(*option) ? outputs : others;
    for (const std::string& word : option->results()) {
      if (!word.empty() && word != kStandardStream) {
        words.push_back(word);
      }
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& output = outputs[i];
    for (const std::string& word : others) {
      if (is_plain_file(output) && is_same_file(output, word)) {
        refuse(name, output, "is read by this command");
      }
    }
    if (std::find(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(i), output) !=
            outputs.begin() + static_cast<std::ptrdiff_t>(i) &&
        output.rfind("/dev/", 0) != 0) {
      refuse(name, output, "is written twice");
    }
    check_writable(output);
  }
}

void check_not_read(const std::optional<std::string>& output, const scenario::Scenario& scenario) {
  if (!output || !is_plain_file(*output)) {
    return;
  }
  for (const FileStamp& file : evaluate::named_files(scenario)) {
    if (is_same_file(*output, file.path)) {
      throw UsageError(
          fmt::format("{} is read by the scenario: choose another file to write", *output));
    }
  }
}

}  // namespace orrery::cli
