#include "sim/scenario/scenario.hpp"

#include <algorithm>

#include "sim/scenario/presets/preset_library.hpp"

namespace orrery::scenario {

SourceLocation Scenario::where(std::string_view key) const {
  while (!key.empty()) {
    if (const auto found = locations.find(key); found != locations.end()) {
      return found->second;
    }
    const std::size_t cut = key.find_last_of(".[");
    key = key.substr(0, cut == std::string_view::npos ? 0 : cut);
  }
  const auto whole = locations.find(std::string_view());
  return whole != locations.end() ? whole->second : SourceLocation{file, 0, 0};
}

bool Scenario::names_stack() const {
  constexpr std::string_view kBelow = "software.";
  const auto below = locations.lower_bound(kBelow);
  const bool mapping = below != locations.end() && below->first.starts_with(kBelow);
  return locations.contains(mapping ? "software.name" : "software");
}

bool Scenario::is_set_by_recipe(std::string_view key) const {
  return std::ranges::any_of(recipe.settings,
                             [key](const RecipeSetting& setting) { return setting.key == key; });
}

const PresetLibrary& presets_of(const Scenario& scenario) {
  return scenario.presets != nullptr ? *scenario.presets : PresetLibrary::standard();
}

}  // namespace orrery::scenario
