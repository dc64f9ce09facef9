#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/repo/code.hpp"
#include "tests/repo/rules.hpp"

namespace orrery::repo {

namespace {

// Folder -> what it may include: a whole folder ("base"), one header ("model/op.hpp"), or the
// headers of all stages with this ending ("*_spec.hpp"). Arrows never point up.
using Arrows = std::map<std::string_view, std::set<std::string_view>>;

const Arrows& arrows() {
  static const Arrows table = {
      {"base", {}},
      {"engine", {"base"}},
      {"fabric", {"base"}},
      {"yaml", {"base"}},
      {"kernels", {"base"}},
      {"model", {"base", "kernels"}},
      {"layout", {"base", "model"}},
      // A profile speaks of operations and groups, so it shares their words, not their code.
      {"hardware", {"base", "yaml", "kernels", "model/op.hpp", "layout/layout_spec.hpp"}},
      {"cost", {"base", "kernels", "model", "layout", "hardware"}},
      // A step graph is a task graph with roles; durations and replay stay out of reach.
      {"schedule", {"base", "engine/task_graph.hpp", "model", "layout"}},
      {"step", {"base", "engine", "fabric", "model", "layout", "hardware", "cost", "schedule"}},
      {"run", {"base", "engine", "hardware", "*_result.hpp"}},
      // Expectations read values with units by the same parser as scenarios.
      {"report",
       {"base",
        "engine",
        "yaml/scalar.hpp",
        "model",
        "hardware",
        "layout",
        "schedule",
        "step",
        "run"}},
      // A measured step is booked in the categories of the predicted one.
      {"trace", {"base", "step/step_result.hpp"}},
      // What the recipes of a stack's profile set, by the architecture of a GPU's.
      {"scenario",
       {"base",
        "yaml",
        "hardware/gpu_profile.hpp",
        "hardware/profile_reader.hpp",
        "hardware/profile_search.hpp",
        "hardware/software_profile.hpp",
        "*_spec.hpp",
        "*presets.hpp"}},
      // Other stacks' configurations become the text of a scenario; parameters are counted by it.
      {"import_config", {"base", "yaml", "model", "scenario"}},
      {"evaluate",
       {"base",
        "engine",
        "yaml",
        "kernels",
        "model",
        "layout",
        "hardware",
        "cost",
        "schedule",
        "step",
        "run",
        "report",
        "trace",
        "scenario"}},
      {"sweep", {"base", "hardware", "run", "report", "scenario", "evaluate", "yaml"}},
      // What share_jobs.hpp takes and gives is the product of a step.
      {"jobs", {"base", "yaml", "hardware", "step", "report", "scenario", "evaluate"}},
      {"plan",
       {"base",
        "yaml",
        "model",
        "layout",
        "hardware",
        "cost",
        "schedule",
        "step",
        "scenario",
        "evaluate",
        "report",
        "run",
        "sweep"}},
      {"validate",
       {"base",
        "engine",
        "fabric",
        "yaml",
        "model",
        "layout",
        "hardware",
        "cost",
        "schedule",
        "step",
        "run",
        "report",
        "scenario",
        "evaluate",
        "plan"}},
      {"cli",
       {"base",
        "scenario",
        "import_config",
        "evaluate",
        "sweep",
        "jobs",
        "plan",
        "validate",
        "report",
        "trace",
        "*yaml/scalar.hpp",
        "*_spec.hpp",
        "*_result.hpp"}},
  };
  return table;
}

// The same between the folders of a component, for those whose folders are all in order. What
// stands in the component itself is below them (specs, inputs, results) or above them (all else).
const Arrows& inner_arrows() {
  static const Arrows table = {
      {"step/costs", {"*_spec.hpp", "*_input.hpp", "*_result.hpp"}},
      {"step/memory", {"*_spec.hpp", "*_input.hpp", "*_result.hpp", "step/costs"}},
      {"step/replay", {"*_spec.hpp", "*_input.hpp", "*_result.hpp", "step/costs"}},
      {"step/fabric", {"*_spec.hpp", "*_input.hpp", "*_result.hpp", "step/costs", "step/replay"}},
      {"step/operations",
       {"*_spec.hpp", "*_input.hpp", "*_result.hpp", "step/costs", "step/replay"}},
  };
  return table;
}

std::string_view component_of(std::string_view path) {
  constexpr std::string_view kSim = "sim/";
  if (!path.starts_with(kSim) || path.find('/', kSim.size()) == std::string_view::npos) {
    return {};
  }
  path.remove_prefix(kSim.size());
  return path.substr(0, path.find('/'));
}

bool allowed(const std::set<std::string_view>& targets, std::string_view path) {
  return std::any_of(targets.begin(), targets.end(), [path](std::string_view target) {
    if (target.starts_with("*")) {
      return path.ends_with(target.substr(1));
    }
    return path == target || (path.starts_with(target) && path[target.size()] == '/');
  });
}

// The order of the data flow: links go from a later component to an earlier one.
constexpr std::array<std::string_view, 22> kOrder = {
    "base",     "engine",   "fabric", "yaml", "kernels",  "model", "layout",   "hardware",
    "cost",     "schedule", "step",   "run",  "report",   "trace", "scenario", "import_config",
    "evaluate", "sweep",    "jobs",   "plan", "validate", "cli"};

bool may_link(std::string_view from, std::string_view to) {
  const auto from_at = std::find(kOrder.begin(), kOrder.end(), from);
  const auto to_at = std::find(kOrder.begin(), kOrder.end(), to);
  const auto& targets = arrows().at(from);
  return to_at <= from_at &&
         (to == from || std::any_of(targets.begin(), targets.end(), [to](std::string_view target) {
            return target.starts_with("*") || target.substr(0, target.find('/')) == to;
          }));
}

bool is_cpp(const SourceFile& file) {
  return file.path.ends_with(".cpp") || file.path.ends_with(".hpp");
}

std::string cmake_code(std::string_view text) {
  std::string code;
  for (const std::string_view line : lines_of(text)) {
    code += line.substr(0, line.find('#'));
    code += '\n';
  }
  return code;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// Words of a CMake file: everything between blanks, parentheses and quotes.
std::vector<std::string> cmake_words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : cmake_code(text)) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '(' || c == ')' || c == '"') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  std::erase(words, "");
  return words;
}

// The CMakeLists.txt in the folder of `path` or the nearest folder above it.
const SourceFile* list_of(const Tree& tree, const std::string& path) {
  for (std::string folder = folder_of(path); !folder.empty(); folder = folder_of(folder)) {
    if (const SourceFile* list = tree.find(folder + "/CMakeLists.txt")) {
      return list;
    }
  }
  return nullptr;
}

constexpr std::array<std::string_view, 13> kForeign = {"Eigen/",
                                                       "Q",
                                                       "cuda",
                                                       "cublas",
                                                       "cub/",
                                                       "cudnn",
                                                       "cutlass/",
                                                       "mpi.h",
                                                       "nccl",
                                                       "nvml",
                                                       "nvtx",
                                                       "thrust/",
                                                       "unsupported/Eigen/"};

}  // namespace

Offences includes_against_the_arrows(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    const std::string_view from = component_of(file.path);
    if (from.empty() || !is_cpp(file)) {
      continue;
    }
    const auto row = arrows().find(from);
    if (row == arrows().end()) {
      offences.push_back(
          offence(file, 1, fmt::format("sim/{} is not in the table of arrows", from)));
      continue;
    }
    for (const Include& include : includes_of(file.text)) {
      const std::string_view to = component_of(include.path);
      if (to.empty() || to == from || allowed(row->second, include.path.substr(4))) {
        continue;
      }
      offences.push_back(offence(
          file,
          include.line,
          fmt::format(
              "{} may not include {} ({})", from, include.path, fmt::join(row->second, ", "))));
    }
  }
  return offences;
}

Offences includes_against_the_inner_arrows(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    const std::string folder = folder_of(file.path);
    const auto row = inner_arrows().find(
        component_of(file.path).empty() ? std::string_view() : std::string_view(folder).substr(4));
    if (row == inner_arrows().end() || !is_cpp(file)) {
      continue;
    }
    for (const Include& include : includes_of(file.text)) {
      if (component_of(include.path) == component_of(file.path) &&
          folder_of(std::string(include.path)) != folder &&
          !allowed(row->second, include.path.substr(4))) {
        offences.push_back(offence(file,
                                   include.line,
                                   fmt::format("{} may not include {} ({})",
                                               row->first,
                                               include.path,
                                               fmt::join(row->second, ", "))));
      }
    }
  }
  return offences;
}

Offences links_against_the_arrows(const Tree& tree) {
  constexpr std::string_view kPrefix = "orrery::";
  Offences offences;
  for (const SourceFile& file : tree.files) {
    const std::string_view from = component_of(file.path);
    const auto row = arrows().find(from);
    if (row == arrows().end() || !file.path.ends_with("CMakeLists.txt")) {
      continue;
    }
    for (const std::string& word : cmake_words(file.text)) {
      if (word.starts_with(kPrefix) && !may_link(from, word.substr(kPrefix.size()))) {
        offences.push_back(offence(file, 1, fmt::format("{} may not link {}", from, word)));
      }
    }
  }
  return offences;
}

Offences foreign_includes(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!file.path.starts_with("sim/") || !is_cpp(file)) {
      continue;
    }
    for (const Include& include : includes_of(file.text)) {
      const bool foreign =
          std::any_of(kForeign.begin(), kForeign.end(), [&include](std::string_view prefix) {
            return include.path.starts_with(prefix);
          });
      const bool yaml = include.path.starts_with("yaml-cpp/") &&
                        !(file.path.starts_with("sim/yaml/") && file.path.ends_with(".cpp"));
      if (foreign) {
        offences.push_back(
            offence(file, include.line, fmt::format("sim/ may not include {}", include.path)));
      } else if (yaml) {
        offences.push_back(offence(file, include.line, "only sim/yaml/*.cpp may include yaml-cpp"));
      }
    }
  }
  return offences;
}

Offences includes_not_from_root(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (!is_cpp(file)) {
      continue;
    }
    for (const Include& include : includes_of(file.text)) {
      const bool own = include.path.starts_with("sim/") || include.path.starts_with("tests/");
      if (include.quoted && tree.find(include.path) == nullptr) {
        offences.push_back(
            offence(file,
                    include.line,
                    fmt::format("\"{}\" is no file from the repository root", include.path)));
      } else if (!include.quoted && own) {
        offences.push_back(
            offence(file, include.line, fmt::format("write \"{}\" with quotes", include.path)));
      }
    }
  }
  return offences;
}

Offences sources_without_target(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    const std::string_view component = component_of(file.path);
    const bool source =
        file.path.ends_with(".cpp") && (!component.empty() || file.path.starts_with("tests/"));
    const bool header = file.path.ends_with(".hpp") && !component.empty();
    if (!source && !header) {
      continue;
    }
    const SourceFile* list = list_of(tree, file.path);
    if (list == nullptr || list->path == "sim/CMakeLists.txt" ||
        list->path == "tests/CMakeLists.txt") {
      offences.push_back(offence(file, 1, "its folder has no CMakeLists.txt"));
      continue;
    }
    const std::string name = file.path.substr(folder_of(list->path).size() + 1);
    const auto words = cmake_words(list->text);
    if (source && std::find(words.begin(), words.end(), name) == words.end()) {
      offences.push_back(offence(file, 1, fmt::format("{} does not list {}", list->path, name)));
    }
  }
  for (const auto& [component, targets] : arrows()) {
    const SourceFile* list = tree.find(fmt::format("sim/{}/CMakeLists.txt", component));
    if (list == nullptr) {
      continue;
    }
    const auto words = cmake_words(list->text);
    if (std::count(words.begin(), words.end(), "orrery_component") > 1) {
      offences.push_back(offence(*list, 1, "one folder is one component"));
    }
  }
  return offences;
}

Offences gathered_sources(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    const bool cmake = file.path.ends_with("CMakeLists.txt") || file.path.ends_with(".cmake");
    // The header check must see the headers that nobody lists.
    if (!cmake || file.path == "tests/repo/CMakeLists.txt") {
      continue;
    }
    std::size_t number = 0;
    const std::string code = cmake_code(file.text);
    for (const std::string_view line : lines_of(code)) {
      ++number;
      if (line.find("GLOB ") != std::string_view::npos ||
          line.find("GLOB_RECURSE") != std::string_view::npos ||
          line.find("aux_source_directory") != std::string_view::npos) {
        offences.push_back(offence(file, number, "list the sources one by one, without GLOB"));
      }
    }
  }
  return offences;
}

Offences tests_enabled_late(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    if (file.path != "CMakeLists.txt") {
      continue;
    }
    std::size_t number = 0;
    bool enabled = false;
    const std::string code = cmake_code(file.text);
    for (const std::string_view line : lines_of(code)) {
      ++number;
      enabled = enabled || line.find("enable_testing(") != std::string_view::npos;
      if (!enabled && line.find("add_subdirectory(") != std::string_view::npos) {
        offences.push_back(
            offence(file, number, "tests of this folder are lost: enable_testing() comes later"));
      }
    }
  }
  return offences;
}

}  // namespace orrery::repo
