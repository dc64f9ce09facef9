#pragma once

// Named presets of models, clusters, networks, failures, recovery, prices and storage: files
// beside the profiles, each with a fragment of a scenario in the very keys of the format.
//
//   format: orrery-preset/1
//   name: aws-p4d-a100-2026          # as the file
//   summary: A100 40 GB on demand    # one line of `orrery list`
//   source: public price file of AWS
//   order: 4                         # place in lists; without it after the others, by name
//   prices: {as_of: 2026-11-09, gpu_hour: $2.74/h}
//
// A preset of failures may say under `capacity` how its nodes are repaired, one of recovery under
// `by_gpus` how long a stage takes by number of GPUs. Other keys than those of its kind are errors.
// A file is read when it is named or listed, once per library.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/run/run_spec.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/profile_search.hpp"
#include "sim/step/model/model_spec.hpp"

namespace orrery::scenario {

enum class PresetKind {
  models,
  networks,
  failures,
  recovery,
  communicators,
  storage,
  prices,
  clusters
};

// Only the part of its kind is filled.
struct Preset {
  std::string name;
  std::string summary;
  std::string source;
  std::int64_t order = 0;
  model::ModelSpec model;
  hardware::NetworkSpec network;
  run::FailurePreset failures;
  run::RecoveryPreset recovery;
  run::CommunicatorPreset communicators;
  run::StorageSpec storage;
  run::PricePreset prices;
  hardware::ClusterSpec cluster;  // the machine; its prices, if any, are `prices`
};

using PresetPtr = std::shared_ptr<const Preset>;

struct StackRecipes;  // recipes/recipe_document.hpp
struct UsualStack;    // usual_stack.hpp

// What recipes and the rules of a cluster ask of a GPU.
struct GpuKind {
  std::string name;  // of its profile
  hardware::GpuArch arch;
  std::string sold_as;  // preset of clusters, or empty
};

// Shares the preset, points to its part.
template <typename Part>
[[nodiscard]] std::shared_ptr<const Part> part_of(const PresetPtr& preset, Part Preset::*part) {
  return {preset, &((*preset).*part)};
}

// Threads may share it.
class PresetLibrary {
 public:
  explicit PresetLibrary(hardware::ProfileSearch search);

  // That of the standard directories, from the working directory.
  [[nodiscard]] static const PresetLibrary& standard();

  // nullptr when there is no such preset, and after errors of its file.
  [[nodiscard]] PresetPtr find(PresetKind kind, std::string_view name,
                               Diagnostics& diagnostics) const;

  // In the order of lists. A file with errors is listed by its name.
  [[nodiscard]] std::vector<PresetPtr> list(PresetKind kind, Diagnostics& diagnostics) const;
  [[nodiscard]] std::vector<std::string> names(PresetKind kind) const;

  // Of the stack with this profile; nullptr where that cannot be read, or its recipes are wrong
  // (reported). `where`: of the key that names it.
  [[nodiscard]] std::shared_ptr<const StackRecipes> recipes(std::string_view software,
                                                            const SourceLocation& where,
                                                            Diagnostics& diagnostics) const;

  // The `default_for` of all stacks.
  [[nodiscard]] const std::vector<UsualStack>& usual_stacks(Diagnostics& diagnostics) const;

  // The name of the profile that has this alias; any other name or path as it is.
  [[nodiscard]] std::string stack_named(const std::string& name_or_path) const;

  [[nodiscard]] const hardware::ProfileSearch& search() const { return search_; }

  // Nothing where its profile cannot be read.
  [[nodiscard]] std::optional<GpuKind> gpu(std::string_view name,
                                           const SourceLocation& where) const;

 private:
  hardware::ProfileSearch search_;
  mutable std::recursive_mutex mutex_;  // a preset of clusters names one of networks
  mutable std::map<std::pair<PresetKind, std::string>, PresetPtr> read_;
  mutable std::map<std::string, std::shared_ptr<const StackRecipes>, std::less<>> recipes_;
  mutable std::map<std::string, std::optional<GpuKind>, std::less<>> gpus_;
  mutable std::shared_ptr<const std::vector<UsualStack>> usual_;
  mutable Diagnostics usual_problems_;  // of their profiles
};

}  // namespace orrery::scenario
