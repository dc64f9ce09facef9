#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "tests/repo/code.hpp"
#include "tests/repo/rules.hpp"

namespace orrery::repo {

namespace {

// Folder outside sim/ -> folders that it may include. No arrow points from sim/ to any of them. The
// rooms of a folder may include what it may, and each other.
using Arrows = std::map<std::string_view, std::set<std::string_view>>;

const Arrows& program_arrows() {
  static const Arrows table = {
      {"kernels/reference", {"sim/kernels", "sim/base"}},
      {"kernels/nvml", {"sim/base"}},
      {"kernels/device", {"sim/kernels", "kernels/nvml", "sim/base"}},
      {"kernels", {"sim/kernels", "kernels/device", "kernels/reference", "sim/base"}},
      {"calibrate/samples", {"sim/kernels", "sim/base"}},
      {"calibrate/plan", {"calibrate/samples", "sim/kernels", "sim"}},
      // The protocol knows the word Unsupported, but no device.
      {"calibrate/sweep",
       {"calibrate/samples",
        "calibrate/plan",
        "sim/kernels",
        "kernels/device",
        "kernels/nvml",
        "sim/base"}},
      {"calibrate/profile",
       {"calibrate/samples", "calibrate/plan", "calibrate/fit", "sim/kernels", "sim"}},
      {"calibrate/import", {"calibrate/samples", "sim"}},
      {"calibrate/measure", {"calibrate", "kernels", "sim/base"}},
      {"calibrate/validate", {"calibrate", "kernels", "sim"}},
      {"calibrate/command", {"calibrate", "kernels", "sim"}},
      {"calibrate/fit", {"calibrate/fit", "sim"}},
      {"gui/timeline", {"sim"}},
      {"gui/models", {"gui/timeline", "sim"}},
      {"gui/charts", {"gui/models", "gui/timeline", "sim"}},
      {"gui/widgets", {"gui", "sim"}},
      {"gui/report", {"gui", "sim"}},
      {"gui", {"gui", "sim"}},
      {"mpi", {"sim"}},
      {"python", {"sim"}},
  };
  return table;
}

// Stages that the GUI may not look into: it shows an Evaluation and recomputes nothing.
constexpr std::array<std::string_view, 4> kHiddenFromGui = {
    "sim/cost/", "sim/engine/", "sim/schedule/", "sim/yaml/"};

std::string folder_above(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

// The folder of `path` that has a row in the table, or the one above it that has; else its own. The
// folders of gui/ are libraries of their own: each has a row.
std::string program_folder(std::string_view path) {
  for (std::string folder = folder_above(path); !folder.empty(); folder = folder_above(folder)) {
    const bool another = folder == "gui" && folder != folder_above(path);
    if (!another && program_arrows().contains(folder)) {
      return folder;
    }
  }
  return folder_above(path);
}

bool is_source(std::string_view path) {
  return path.ends_with(".cpp") || path.ends_with(".hpp") || path.ends_with(".cu") ||
         path.ends_with(".cuh");
}

bool below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

bool may_include(const std::set<std::string_view>& targets, std::string_view include) {
  return std::any_of(targets.begin(), targets.end(), [include](std::string_view target) {
    return below(include, target);
  });
}

}  // namespace

Offences includes_between_programs(const Tree& tree) {
  Offences offences;
  for (const SourceFile& file : tree.files) {
    const std::string from = program_folder(file.path);
    const bool program = from.starts_with("kernels") || from.starts_with("calibrate") ||
                         from.starts_with("gui") || from == "mpi" || from == "python";
    if (!program || !is_source(file.path)) {
      continue;
    }
    const auto row = program_arrows().find(from);
    if (row == program_arrows().end()) {
      offences.push_back(offence(file, 1, fmt::format("{} is not in the table of arrows", from)));
      continue;
    }
    for (const Include& include : includes_of(file.text)) {
      const bool ours = include.quoted && include.path.find('/') != std::string::npos;
      const bool hidden =
          from.starts_with("gui") &&
          std::any_of(kHiddenFromGui.begin(), kHiddenFromGui.end(), [&](std::string_view stage) {
            return include.path.starts_with(stage);
          });
      if (ours && (hidden || (program_folder(include.path) != from &&
                              !may_include(row->second, include.path)))) {
        offences.push_back(offence(
            file,
            include.line,
            fmt::format(
                "{} may not include {} ({})", from, include.path, fmt::join(row->second, ", "))));
      }
    }
  }
  return offences;
}

}  // namespace orrery::repo
