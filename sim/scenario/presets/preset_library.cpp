#include "sim/scenario/presets/preset_library.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sim/hardware/profile_reader.hpp"
#include "sim/scenario/presets/preset_document.hpp"
#include "sim/scenario/recipes/recipe_document.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::scenario {

PresetLibrary::PresetLibrary(hardware::ProfileSearch search) : search_(std::move(search)) {}

const PresetLibrary& PresetLibrary::standard() {
  static const PresetLibrary library(hardware::default_search({}));
  return library;
}

PresetPtr PresetLibrary::find(PresetKind kind,
                              std::string_view name,
                              Diagnostics& diagnostics) const {
  const std::lock_guard lock(mutex_);
  const std::pair key(kind, std::string(name));
  if (const auto known = read_.find(key); known != read_.end()) {
    return known->second;
  }
  const auto path = hardware::file_named(search_, folder_of(kind), name);
  const auto root =
      path ? yaml::parse_file(*path, yaml::Limits{}, diagnostics, hardware::shown_name(*path))
           : std::nullopt;
  auto preset = root ? read_preset_document(*root, kind, key.second, diagnostics) : std::nullopt;
  if (!preset) {
    return nullptr;
  }
  return read_.emplace(key, std::make_shared<const Preset>(*std::move(preset))).first->second;
}

std::vector<PresetPtr> PresetLibrary::list(PresetKind kind, Diagnostics& diagnostics) const {
  std::vector<PresetPtr> presets;
  for (const std::string& name : hardware::names_in(search_, folder_of(kind))) {
    PresetPtr preset = find(kind, name, diagnostics);
    if (preset == nullptr) {
      Preset broken;
      broken.name = name;
      broken.summary = "cannot be read";
      broken.order = std::numeric_limits<std::int64_t>::max();
      preset = std::make_shared<const Preset>(std::move(broken));
    }
    presets.push_back(std::move(preset));
  }
  std::stable_sort(presets.begin(), presets.end(), [](const PresetPtr& a, const PresetPtr& b) {
    return a->order < b->order;
  });
  return presets;
}

std::vector<std::string> PresetLibrary::names(PresetKind kind) const {
  Diagnostics ignored;
  std::vector<std::string> names;
  for (const PresetPtr& preset : list(kind, ignored)) {
    names.push_back(preset->name);
  }
  return names;
}

std::shared_ptr<const StackRecipes> PresetLibrary::recipes(std::string_view software,
                                                           const SourceLocation& where,
                                                           Diagnostics& diagnostics) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = recipes_.find(software); known != recipes_.end()) {
    return known->second;
  }
  Diagnostics unused;
  const auto profile =
      hardware::load_software_profile(software, search_, where, "software", unused);
  auto recipes = profile ? read_recipes(*profile, diagnostics) : nullptr;
  return diagnostics.has_errors() ? recipes
                                  : recipes_.emplace(software, std::move(recipes)).first->second;
}

std::optional<GpuKind> PresetLibrary::gpu(std::string_view name,
                                          const SourceLocation& where) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = gpus_.find(name); known != gpus_.end()) {
    return known->second;
  }
  Diagnostics unused;
  std::optional<GpuKind> kind;
  if (const auto gpu = hardware::load_gpu_profile(name, search_, where, "cluster.gpu", unused)) {
    kind = GpuKind{gpu->name, gpu->arch};
  }
  return gpus_.emplace(name, std::move(kind)).first->second;
}

}  // namespace orrery::scenario
