#include "sim/answer/evaluate/shipped_scenarios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <system_error>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/base/text/text.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::evaluate {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".yaml";
constexpr std::string_view kBlanksAndQuotes = " \t\r\"";
constexpr std::size_t kMostSuggestions = 3;

// The folders that hold the profiles of the standard search.
std::vector<fs::path> scenario_folders() {
  std::vector<fs::path> folders;
  for (const fs::path& profiles : hardware::default_search({}).directories) {
    folders.push_back(profiles.parent_path());
  }
  return folders;
}

// What stands above the keys of the file; false when it is no scenario.
bool read_head(ShippedScenario& scenario) {
  constexpr int kMostLines = 100;
  std::ifstream file(scenario.path);
  std::string comment;
  bool is_scenario = false;
  std::string line;
  for (int i = 0; i < kMostLines && std::getline(file, line); ++i) {
    const std::string_view text = line;
    if (text.starts_with("# ") && text.find("yaml-language-server") == std::string_view::npos) {
      comment += comment.empty() ? "" : " ";
      comment += trimmed(text.substr(2), kBlanksAndQuotes);
    } else if (text.starts_with("format:")) {
      is_scenario = text.find("orrery/1") != std::string_view::npos;
    } else if (text.starts_with("name:")) {
      scenario.title = trimmed(text.substr(5, text.find(" #") - 5), kBlanksAndQuotes);
      break;
    } else if (!text.starts_with("#") && !text.empty()) {
      break;
    }
  }
  const std::size_t stop = comment.find(". ");
  scenario.summary = stop == std::string::npos ? comment : comment.substr(0, stop + 1);
  return is_scenario;
}

// The names of the shipped scenarios, without a look into the files.
std::set<std::string> shipped_names() {
  std::set<std::string> names;
  for (const fs::path& folder : scenario_folders()) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == kExtension) {
        names.insert(entry->path().stem().string());
      }
    }
  }
  return names;
}

// Names that begin with the word or hold it, then those that are near.
std::vector<std::string> nearest_names(const std::string& word, std::set<std::string> names) {
  std::vector<std::string> near;
  const auto take = [&near, &names](std::string name) {
    names.erase(name);
    near.push_back(std::move(name));
  };
  constexpr std::size_t kShortest = 3;  // a shorter piece is in too many of them
  for (const bool begins : {true, false}) {
    const std::set<std::string> left = names;
    for (const std::string& name : left) {
      const bool wanted = begins ? name.starts_with(word) : name.find(word) != std::string::npos;
      if (wanted && word.size() >= kShortest && near.size() < kMostSuggestions) {
        take(name);
      }
    }
  }
  while (near.size() < kMostSuggestions) {
    const std::string_view next =
        nearest_name(word, std::vector<std::string_view>(names.begin(), names.end()));
    if (next.empty()) {
      break;
    }
    take(std::string(next));
  }
  return near;
}

}  // namespace

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_directory(path, error);
}

std::vector<ShippedScenario> shipped_scenarios() {
  std::map<std::string, ShippedScenario> found;
  for (const fs::path& folder : scenario_folders()) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().stem().string();
      if (entry->path().extension() != kExtension || found.contains(name)) {
        continue;
      }
      ShippedScenario scenario{entry->path(), name, name, {}};
      if (read_head(scenario)) {
        found.emplace(name, std::move(scenario));
      }
    }
  }
  std::vector<ShippedScenario> list;
  list.reserve(found.size());
  for (auto& [name, scenario] : found) {
    list.push_back(std::move(scenario));
  }
  return list;
}

FoundScenario find_scenario(const std::string& word) {
  FoundScenario found{.path = word};
  const fs::path path(word);
  if (word.empty() || word == "-" || path.has_parent_path() || is_file(path)) {
    return found;
  }
  const bool ending = path.extension() == kExtension || path.extension() == ".yml";
  const std::string name = ending ? path.stem().string() : word;
  for (const fs::path& folder : scenario_folders()) {
    const fs::path candidate = folder / (name + std::string(kExtension));
    if (is_file(candidate)) {
      return {.path = candidate, .shipped = true};
    }
  }
  std::error_code error;
  if (fs::exists(path, error)) {
    return found;  // a folder
  }
  const std::vector<std::string> near = nearest_names(name, shipped_names());
  if (!near.empty()) {
    found.problem = fmt::format("{}: no such file and no shipped scenario, did you mean {}?", word,
                                fmt::join(near, ", "));
  } else if (!path.has_extension()) {
    found.problem = fmt::format(
        "{}: no such file and no shipped scenario (orrery list scenarios shows all)", word);
  }
  return found;
}

}  // namespace orrery::evaluate
