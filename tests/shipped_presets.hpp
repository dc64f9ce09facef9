#pragma once

// The presets that come with the program, for tests of stages that do not read files themselves.

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/presets/preset_library.hpp"

namespace orrery::shipped {

// Throws when the preset cannot be read.
inline scenario::PresetPtr preset(scenario::PresetKind kind, std::string_view name) {
  Diagnostics diagnostics;
  auto found = scenario::PresetLibrary::standard().find(kind, name, diagnostics);
  if (found == nullptr) {
    throw std::invalid_argument("no preset " + std::string(name) + to_string(diagnostics));
  }
  return found;
}

inline std::vector<std::string> names(scenario::PresetKind kind) {
  return scenario::PresetLibrary::standard().names(kind);
}

inline model::ModelSpec model(std::string_view name) {
  return preset(scenario::PresetKind::models, name)->model;
}

inline std::vector<model::ModelSpec> models() {
  std::vector<model::ModelSpec> specs;
  for (const std::string& name : names(scenario::PresetKind::models)) {
    specs.push_back(model(name));
  }
  return specs;
}

inline hardware::NetworkSpec network(std::string_view name) {
  return preset(scenario::PresetKind::networks, name)->network;
}

inline std::shared_ptr<const run::FailurePreset> failures(std::string_view name) {
  return part_of(preset(scenario::PresetKind::failures, name), &scenario::Preset::failures);
}

inline std::shared_ptr<const run::RecoveryPreset> recovery(std::string_view name) {
  return part_of(preset(scenario::PresetKind::recovery, name), &scenario::Preset::recovery);
}

inline std::shared_ptr<const run::CommunicatorPreset> communicators(std::string_view name) {
  return part_of(preset(scenario::PresetKind::communicators, name),
                 &scenario::Preset::communicators);
}

inline std::shared_ptr<const run::PricePreset> prices(std::string_view name) {
  return part_of(preset(scenario::PresetKind::prices, name), &scenario::Preset::prices);
}

inline run::StorageSpec storage(std::string_view name) {
  return preset(scenario::PresetKind::storage, name)->storage;
}

// The unit in which failures of nodes are published.
inline PerSecond per_thousand_node_days(double failures) { return per_day(failures / kKilo); }

inline double in_per_thousand_node_days(PerSecond rate) { return in_per_day(rate) * kKilo; }

}  // namespace orrery::shipped
