#include "sim/cli/frame/output_files.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/inputs/named_files.hpp"
#include "sim/answer/evaluate/shipped_scenarios.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kOutputs = {
    "output", "junit", "markdown", "write-baseline", "fragment", "failures", "journal"};
constexpr std::string_view kStandardStream = "-";

bool is_output(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return std::find(kOutputs.begin(), kOutputs.end(), name) != kOutputs.end();
  });
}

bool is_plain_file(const std::string& name) {
  std::error_code error;
  return fs::is_regular_file(name, error);
}

[[noreturn]] void refuse(std::string_view command, const std::string& file, std::string_view why) {
  throw UsageError(fmt::format("{}: {} {}: choose another file", command, file, why));
}

// Two names of one place, whether a file is there or not.
bool is_same_place(const std::string& one, const std::string& other) {
  std::error_code error;
  const auto place = [&error](const std::string& name) {
    return fs::weakly_canonical(fs::absolute(name, error), error);
  };
  return one == other || is_same_file(one, other) || place(one) == place(other);
}

// The words of a command: what it writes, and what may name a file that it reads.
struct Words {
  std::vector<std::string> outputs;
  std::vector<std::string> inputs;     // also the value of KEY=VALUE
  std::vector<std::string> scenarios;  // without an option in front, files or shipped names
  std::vector<fs::path> profiles;      // of --profiles
  bool of_scenario = false;            // the command answers for a scenario
};

Words words_of(const CLI::App& command) {
  Words words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& word : option->results()) {
      if (word.empty() || word == kStandardStream) {
        continue;
      }
      if (is_output(*option)) {
        words.outputs.push_back(word);
        continue;
      }
      words.inputs.push_back(word);
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) {
        words.inputs.push_back(word.substr(equals + 1));
      }
      if (option->get_positional()) {
        words.scenarios.push_back(word);
        words.of_scenario = words.of_scenario || option->get_name(true) == "SCENARIO" ||
                            option->get_type_name() == "SCENARIO";
      }
      if (option->check_lname("profiles")) {
        words.profiles.emplace_back(word);
      }
    }
  }
  return words;
}

// Whether a word names the file by the name of a profile, preset or shipped scenario.
bool is_found_by_name(const Words& words, const std::string& output) {
  const std::string name = fs::path(output).stem().string();
  const auto is_named = [&](const std::string& word) { return word == name; };
  const auto leads_there = [&](const std::string& word) {
    return is_same_file(output, evaluate::find_scenario(word).path);
  };
  if (std::any_of(words.scenarios.begin(), words.scenarios.end(), leads_there) ||
      (words.of_scenario && hardware::is_profile_in(words.profiles, output))) {
    return true;
  }
  if (std::none_of(words.inputs.begin(), words.inputs.end(), is_named)) {
    return false;
  }
  std::vector<fs::path> directories = words.profiles;
  const std::string beside = words.scenarios.empty() ? std::string() : words.scenarios.front();
  for (const fs::path& directory : hardware::default_search(beside).directories) {
    directories.push_back(directory);
  }
  return hardware::is_profile_in(directories, output);
}

}  // namespace

void check_outputs(const CLI::App& command, std::string_view name) {
  const Words words = words_of(command);
  for (auto output = words.outputs.begin(); output != words.outputs.end(); ++output) {
    if (is_plain_file(*output)) {
      const auto reads = [&](const std::string& word) { return is_same_file(*output, word); };
      if (std::any_of(words.inputs.begin(), words.inputs.end(), reads) ||
          is_found_by_name(words, *output)) {
        refuse(name, *output, "is read by this command");
      }
      if (hardware::is_profile_in(hardware::shipped_directories(), *output)) {
        refuse(name, *output, "is a profile of this program");
      }
    }
    const auto again = [&](const std::string& other) { return is_same_place(*output, other); };
    if (std::any_of(words.outputs.begin(), output, again) && output->rfind("/dev/", 0) != 0) {
      refuse(name, *output, "is written twice");
    }
    check_writable(*output);
  }
}

void check_not_read(const std::optional<std::string>& output, const scenario::Scenario& scenario) {
  if (!output || !is_plain_file(*output)) {
    return;
  }
  const auto refuse_as = [&](std::string_view what) {
    throw UsageError(fmt::format("{} {}: choose another file to write", *output, what));
  };
  for (const FileStamp& file : evaluate::named_files(scenario)) {
    if (is_same_file(*output, file.path)) {
      refuse_as("is read by the scenario");
    }
  }
  if (is_same_file(*output, scenario.file)) {
    refuse_as("is the scenario");
  }
  if (hardware::is_profile_in(hardware::default_search(scenario.file).directories, *output)) {
    refuse_as("is a profile that scenarios find by its name");
  }
}

}  // namespace orrery::cli
