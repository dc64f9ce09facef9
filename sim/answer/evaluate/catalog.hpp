#pragma once

// The catalogue of names that a scenario may use, and their origin, for `orrery list` and the GUI.
//
// kind      | what is listed                                                    | origin
// ----------|-------------------------------------------------------------------|------------------
// scenarios | scenarios that come with the program                              | their files
// models    | model presets                                                     | preset files
// gpus      | GPU profiles found in the search directories                      | profile files
// software  | profiles of training stacks found there                           | profile files
// networks  | network presets                                                   | preset files
// schedules | pipeline schedules that can be generated                          | schedule/
// precisions | number formats by recipe                                         | scenario/
// failures  | failure presets                                                   | preset files
// recovery  | recovery presets; likewise communicators and storage              | preset files
// prices    | dated prices                                                      | preset files
// coefficients | of stacks and of GPUs, with their usual values                 | their tables
// metrics   | metrics of reports and expectations; origin is the key in JSON    | report/
//
// Where names are many they stand in groups, by what their own files say: models by what their
// layers are made of, GPUs and machines by vendor and architecture, stacks by program, networks by
// fabric, schedules by their chunks, precisions by the width of their products.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::evaluate {

enum class CatalogKind {
  scenarios,
  models,
  clusters,
  gpus,
  software,
  networks,
  schedules,
  precisions,
  failures,
  recovery,
  communicators,
  storage,
  prices,
  coefficients,
  metrics
};

struct CatalogKindInfo {
  CatalogKind kind;
  std::string_view name;
  std::string_view meaning;
  std::string_view key = {};        // of the scenario that takes these names
  std::string_view other_key = {};  // that takes them, too
};

struct CatalogEntry {
  std::string name;
  std::string summary;     // one line
  std::string origin;      // publication, file or key; may be empty
  std::string group = {};  // heading that it stands below; empty where the kind has no groups
};

[[nodiscard]] std::span<const CatalogKindInfo> catalog_kinds();

// Entries of a group stand together. A profile or preset with errors is listed by its name; what is
// wrong goes to `diagnostics`.
[[nodiscard]] std::vector<CatalogEntry> catalog(CatalogKind kind,
                                                const hardware::ProfileSearch& search,
                                                Diagnostics& diagnostics);

// `extra` first, then the standard directories for the scenario file (may be empty).
[[nodiscard]] hardware::ProfileSearch profile_search(
    const std::filesystem::path& scenario_file, const std::vector<std::filesystem::path>& extra);

// True when the GPU or software profile that the scenario names is neither found by name nor a
// file: that is the environment's fault, not the scenario's.
[[nodiscard]] bool lacks_profile(const scenario::Scenario& scenario,
                                 const hardware::ProfileSearch& search);

}  // namespace orrery::evaluate
