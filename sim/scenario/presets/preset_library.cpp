#include "sim/scenario/presets/preset_library.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/files/file.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/recipes/recipe_document.hpp"
#include "sim/scenario/rules/rules.hpp"
#include "sim/scenario/table/read_keys.hpp"
#include "sim/scenario/usual_stack.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::scenario {

namespace {

// Reader of a preset file, and the keys that each kind of preset may state. Internal to scenario/.

inline constexpr std::string_view kPresetFormat = "orrery-preset/1";

using Keys = std::span<const std::string_view>;

// What the stages take from a preset of the kind, as keys of a scenario. The files of `network` and
// of a failure log stand beside the scenario, so they are no part of a preset.
constexpr std::array<std::string_view, 28> kModelKeys = {"model.num_layers",
                                                         "model.hidden_size",
                                                         "model.num_attention_heads",
                                                         "model.num_query_groups",
                                                         "model.head_dim",
                                                         "model.ffn_hidden_size",
                                                         "model.vocab_size",
                                                         "model.sequence_length",
                                                         "model.activation",
                                                         "model.norm",
                                                         "model.position",
                                                         "model.max_positions",
                                                         "model.tie_embeddings",
                                                         "model.linear_bias",
                                                         "model.qkv_bias",
                                                         "model.embedding_norm",
                                                         "model.moe",
                                                         "model.mla",
                                                         "model.mtp",
                                                         "model.attention_window",
                                                         "model.layer_types",
                                                         "model.linear_attention",
                                                         "model.sparse_attention",
                                                         "model.compressed_attention",
                                                         "model.residual_streams",
                                                         "model.output_gate",
                                                         "model.mtp_shared",
                                                         "model.full_attention"};
constexpr std::array<std::string_view, 9> kNetworkKeys = {
    "cluster.network.nvlink_domain", "cluster.network.nic_rate",  "cluster.network.nics_per_node",
    "cluster.network.tiers",         "cluster.network.fabric",    "cluster.network.routing",
    "cluster.network.cross_rail",    "cluster.network.algorithm", "cluster.network.sharp"};
constexpr std::array<std::string_view, 18> kFailureKeys = {"failures.node_rate",
                                                           "failures.job_rate",
                                                           "failures.causes",
                                                           "failures.correlated",
                                                           "failures.domains",
                                                           "failures.burn_in",
                                                           "failures.diurnal",
                                                           "failures.episodes",
                                                           "failures.lemons",
                                                           "failures.stragglers",
                                                           "failures.network",
                                                           "failures.silent",
                                                           "failures.spikes",
                                                           "failures.maintenance",
                                                           "failures.unitemised",
                                                           "capacity.repair_time",
                                                           "capacity.repair.manual.probability",
                                                           "capacity.repair.manual.time"};
constexpr std::array<std::string_view, 6> kRecoveryKeys = {
    "recovery.detect", "recovery.diagnose", "recovery.reschedule", "recovery.communicator_init",
    "recovery.load",   "recovery.warm_up"};
constexpr std::string_view kPointsKey = "recovery.communicators.points";
constexpr std::array<std::string_view, 1> kCommunicatorKeys = {kPointsKey};
constexpr std::array<std::string_view, 9> kStorageKeys = {"checkpoint.storage.write",
                                                          "checkpoint.storage.read",
                                                          "checkpoint.storage.write_per_node",
                                                          "checkpoint.storage.read_per_node",
                                                          "checkpoint.storage.write_per_client",
                                                          "checkpoint.storage.read_per_client",
                                                          "checkpoint.storage.efficiency",
                                                          "checkpoint.storage.background",
                                                          "checkpoint.storage.mass_restart_share"};
constexpr std::array<std::string_view, 3> kPriceKeys = {"prices.gpu_hour", "prices.spot_gpu_hour",
                                                        "prices.as_of"};

constexpr std::array<std::string_view, 9> kClusterKeys = {"cluster.gpu",
                                                          "cluster.gpus_per_node",
                                                          "cluster.network.preset",
                                                          "cluster.network.nic_rate",
                                                          "cluster.network.nics_per_node",
                                                          "cluster.network.fabric",
                                                          "prices.gpu_hour",
                                                          "prices.spot_gpu_hour",
                                                          "prices.as_of"};

constexpr std::array<yaml::Choice<bool>, 1> kPresetFormats = {{{kPresetFormat, true}}};

Keys keys_of(PresetKind kind) {
  switch (kind) {
    case PresetKind::models:
      return kModelKeys;
    case PresetKind::networks:
      return kNetworkKeys;
    case PresetKind::failures:
      return kFailureKeys;
    case PresetKind::recovery:
      return kRecoveryKeys;
    case PresetKind::communicators:
      return kCommunicatorKeys;
    case PresetKind::storage:
      return kStorageKeys;
    case PresetKind::prices:
      return kPriceKeys;
    case PresetKind::clusters:
      return kClusterKeys;
  }
  return {};
}

void check_rising(const run::GpuCurve& curve, const yaml::Value& value, std::string_view path,
                  Diagnostics& diagnostics) {
  for (std::size_t i = 1; i < curve.size(); ++i) {
    if (!(curve[i].gpus > curve[i - 1].gpus)) {
      yaml::report(diagnostics, value.where, path,
                   fmt::format("{} GPUs after {}", curve[i].gpus, curve[i - 1].gpus),
                   "points with rising GPUs");
    }
  }
}

// Stages by number of GPUs: points as those of the communicators.
void read_curves(yaml::MappingReader& root, run::RecoveryPreset& preset) {
  std::optional<yaml::MappingReader> by_gpus = root.optional_mapping("by_gpus");
  if (!by_gpus) {
    return;
  }
  for (std::size_t i = 0; i < run::kRecoveryStageCount; ++i) {
    const std::string_view stage = run::kRecoveryStageNames[i];
    const yaml::Value* value = by_gpus->take(stage);
    if (value == nullptr) {
      continue;
    }
    Draft draft;
    Reading reading{draft, by_gpus->diagnostics()};
    read_value(*value, by_gpus->path_of(stage), kPointsKey, reading);
    preset.curves[i] = std::move(draft.run.recovery.communicator_points);
    check_rising(preset.curves[i], *value, by_gpus->path_of(stage), by_gpus->diagnostics());
  }
  by_gpus->finish();
}

// How the nodes are repaired; nothing where the file does not say it.
std::optional<run::RepairLaw> repair_of(const run::CapacitySpec& capacity) {
  if (!capacity.repair_time) {
    return std::nullopt;
  }
  run::RepairLaw law{.first = *capacity.repair_time};
  if (capacity.repair.manual) {
    law.by_hand = capacity.repair.manual->escalates;
    law.manual = capacity.repair.manual->time;
  }
  return law;
}

void take_parts(Draft&& draft, Preset& preset) {
  preset.model = std::move(draft.scenario.model);
  preset.model.name = preset.name;
  preset.cluster = draft.scenario.cluster;
  preset.cluster.preset = preset.name;
  preset.network = std::move(draft.scenario.cluster.network);
  preset.network.preset = preset.name;
  preset.failures.name = preset.name;
  preset.failures.spec = std::move(draft.run.failures);
  preset.failures.spec.repair = repair_of(draft.run.capacity);
  preset.recovery.name = preset.name;
  preset.recovery.stages = std::move(draft.run.recovery.stages);
  preset.communicators = {preset.name, std::move(draft.run.recovery.communicator_points)};
  preset.storage = draft.run.checkpoint.storage;
  preset.prices = {preset.name, std::move(draft.run.prices)};
}

Preset read_keys_of(yaml::MappingReader& root, PresetKind kind, const std::string& name) {
  Diagnostics& diagnostics = root.diagnostics();
  Preset preset;
  preset.name = root.require_text("name", name).value_or(name);
  if (preset.name != name) {
    root.error(
        "name",
        fmt::format("is {} in the file of {}", yaml::display(preset.name), yaml::display(name)),
        "name: " + name);
  }
  preset.summary = root.require_text("summary").value_or("");
  preset.source = root.require_text("source").value_or("");
  preset.order = root.optional<yaml::kind::Count>("order", yaml::at_least<std::int64_t>(0))
                     .value_or(std::numeric_limits<std::int64_t>::max());
  if (kind == PresetKind::recovery) {
    read_curves(root, preset.recovery);
  }
  Draft draft;
  Reading reading{draft, diagnostics};
  read_keys(root, {}, keys_of(kind), reading);
  root.finish();
  if (kind == PresetKind::models) {
    draft.scenario.locations.set("model", root.value().where);
    finish_model(reading);
  }
  if (kind == PresetKind::clusters && draft.scenario.cluster.gpu.empty()) {
    root.error("cluster", "names no GPU", "cluster: {gpu: h100-sxm-80gb, ...}");
  }
  if (kind == PresetKind::communicators) {
    check_rising(draft.run.recovery.communicator_points, root.value(), kPointsKey, diagnostics);
  }
  if (draft.run.capacity.repair.manual && !draft.run.capacity.repair_time) {
    root.error("capacity", "has a repair by hand without capacity.repair_time", "both");
  }
  take_parts(std::move(draft), preset);
  return preset;
}

// Of its files, below a directory of profiles.
std::string_view folder_of(PresetKind kind) {
  return hardware::kPresetFolders[static_cast<std::size_t>(kind)];
}

// Nothing after an error. `name`: of the file.
std::optional<Preset> read_preset_document(const yaml::Value& root, PresetKind kind,
                                           const std::string& name, Diagnostics& diagnostics) {
  Diagnostics problems;
  yaml::MappingReader reader(root, problems);
  std::optional<Preset> preset;
  if (reader.require_choice("format", kPresetFormats)) {
    preset = read_keys_of(reader, kind, name);
  }
  diagnostics.add(problems);
  return problems.has_errors() ? std::nullopt : std::move(preset);
}

}  // namespace

PresetLibrary::PresetLibrary(hardware::ProfileSearch search) : search_(std::move(search)) {}

const PresetLibrary& PresetLibrary::standard() {
  static const PresetLibrary library(hardware::default_search({}));
  return library;
}

PresetPtr PresetLibrary::find(PresetKind kind, std::string_view name,
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
  std::ranges::stable_sort(
      presets, [](const PresetPtr& a, const PresetPtr& b) { return a->order < b->order; });
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

const std::vector<UsualStack>& PresetLibrary::usual_stacks(Diagnostics& diagnostics) const {
  const std::lock_guard lock(mutex_);
  if (usual_ != nullptr) {
    diagnostics.add(usual_problems_);
    return *usual_;
  }
  std::vector<UsualStack> all;
  for (const std::string& name : hardware::list_software_profiles(search_)) {
    const auto path = hardware::file_named(search_, "software", name);
    // Most profiles are the default for nothing, and to parse them all takes a tenth of a second.
    const bool says_so =
        path && read_file(*path, yaml::Limits{}.max_bytes).find("default_for") != std::string::npos;
    const auto profile =
        says_so ? hardware::load_software_profile(name, search_, {}, "software", usual_problems_)
                : std::nullopt;
    const auto entries =
        profile ? read_default_for(*profile, usual_problems_) : std::vector<UsualStack>();
    all.insert(all.end(), entries.begin(), entries.end());
  }
  usual_ = std::make_shared<const std::vector<UsualStack>>(std::move(all));
  diagnostics.add(usual_problems_);
  return *usual_;
}

std::string PresetLibrary::stack_named(const std::string& name_or_path) const {
  const std::string known = hardware::stack_named(name_or_path, search_);
  return known.empty() ? name_or_path : known;
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
    kind = GpuKind{gpu->name, gpu->arch, gpu->sold_as};
  }
  return gpus_.emplace(name, std::move(kind)).first->second;
}

}  // namespace orrery::scenario
