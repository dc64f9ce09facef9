#pragma once

// Scenarios that ship with the program, and the lookup of the file that a command line names.
//
// They are stored beside the profile folders of the standard search: in the source tree, in the
// share folder of an installation, beside $ORRERY_PROFILES. A file of the same name in an earlier
// folder hides those in later ones, and a file that the word itself names goes before all of them.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::evaluate {

struct ShippedScenario {
  std::filesystem::path path;
  std::string name;     // of the file, without .yaml: what a command line may say in its place
  std::string title;    // what the file says after `name:`, else the name
  std::string summary;  // the comment at its head, up to the first full stop
};

// In the order of their names.
[[nodiscard]] std::vector<ShippedScenario> shipped_scenarios();

struct FoundScenario {
  std::filesystem::path path;
  bool shipped = false;      // found by its name
  std::string problem = {};  // why there is nothing to read; names that are near
};

// "one-gpu" and "one-gpu.yaml" are shipped scenarios where no file is called so. A word with a
// folder, "-" and other words that cannot be names are paths, to be read or refused by who reads.
[[nodiscard]] FoundScenario find_scenario(const std::string& word);

// Something that can be read lies there: a file, a pipe or a device, but no folder.
[[nodiscard]] bool is_file(const std::filesystem::path& path);

}  // namespace orrery::evaluate
