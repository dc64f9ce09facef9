#include "sim/answer/evaluate/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "sim/answer/evaluate/inputs/fill_metrics.hpp"
#include "sim/answer/evaluate/shipped_scenarios.hpp"
#include "sim/answer/report/metrics.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/precision_recipes.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/step/hardware/stack_coefficients.hpp"
#include "sim/step/schedule/schedule.hpp"

namespace orrery::evaluate {

namespace {

namespace fs = std::filesystem;

constexpr std::array<CatalogKindInfo, 15> kKinds = {{
    {CatalogKind::scenarios, "scenarios", "shipped scenarios, to be named in place of a file"},
    {CatalogKind::models, "models", "model presets, for model.preset", "model.preset"},
    {CatalogKind::clusters, "clusters", "machines as sold or rented, for cluster.preset",
     "cluster.preset"},
    {CatalogKind::gpus, "gpus", "GPU profiles, for cluster.gpu", "cluster.gpu"},
    {CatalogKind::software, "software", "profiles of training stacks, for software", "software"},
    {CatalogKind::networks, "networks", "network presets, for cluster.network.preset",
     "cluster.network.preset"},
    {CatalogKind::schedules, "schedules", "pipeline schedules, for layout.schedule",
     "layout.schedule"},
    {CatalogKind::precisions, "precisions", "number formats, for precision", "precision",
     "precision.compute"},
    {CatalogKind::failures, "failures", "failure presets, for failures.preset", "failures.preset"},
    {CatalogKind::recovery, "recovery", "recovery presets, for recovery.preset", "recovery.preset"},
    {CatalogKind::communicators, "communicators",
     "times to build communicators, for recovery.communicators.preset",
     "recovery.communicators.preset"},
    {CatalogKind::storage, "storage", "storage presets, for checkpoint.storage.preset",
     "checkpoint.storage.preset"},
    {CatalogKind::prices, "prices", "dated prices, for prices.preset", "prices.preset"},
    {CatalogKind::coefficients, "coefficients",
     "coefficients of stacks and GPUs, with the values used where a profile states none"},
    {CatalogKind::metrics, "metrics", "metrics, for expect, explain and JSON"},
}};

constexpr std::string_view kOthers = "others";

// By GpuArch, as their makers write them.
constexpr std::array<std::string_view, hardware::kGpuArchNames.size()> kArchWords = {
    "Volta", "Ampere", "Ada", "Hopper", "Blackwell", "CDNA", "Gaudi"};

std::string group_of(hardware::GpuArch arch) {
  return fmt::format("{} {}", vendor_of(arch), kArchWords[static_cast<std::size_t>(arch)]);
}

// Of layers that mix tokens without attention some recur, and of MLPs some are experts.
std::string group_of(const model::ModelSpec& model) {
  bool recurs = false;
  for (std::int64_t layer = 0; layer < model.num_layers && !recurs; ++layer) {
    recurs = model.kind_of(layer).recurrence.has_value();
  }
  return std::string(recurs      ? model.moe ? "hybrids, mixtures of experts" : "hybrids, dense"
                     : model.moe ? "mixtures of experts"
                                 : "dense");
}

std::string group_of(const hardware::NetworkSpec& network) {
  return std::string(hardware::kFabricNames[static_cast<std::size_t>(network.fabric)].name);
}

std::string group_of(const schedule::ScheduleTraits& schedule) {
  return schedule.stale                             ? "older weights, no flush"
         : schedule.chunks == schedule::Chunks::one ? "one chunk per device"
                                                    : "several chunks per device";
}

// Groups by their first entry, the others last.
std::vector<CatalogEntry> gathered(std::vector<CatalogEntry> entries) {
  std::vector<std::string> groups;
  for (const CatalogEntry& entry : entries) {
    if (entry.group != kOthers && std::ranges::find(groups, entry.group) == groups.end()) {
      groups.push_back(entry.group);
    }
  }
  std::ranges::stable_sort(entries, {}, [&groups](const CatalogEntry& entry) {
    return std::ranges::find(groups, entry.group) - groups.begin();
  });
  return entries;
}

std::vector<CatalogEntry> preset_entries(scenario::PresetKind kind,
                                         const hardware::ProfileSearch& search,
                                         Diagnostics& diagnostics) {
  std::vector<CatalogEntry> entries;
  const scenario::PresetLibrary library(search);
  for (const auto& preset : library.list(kind, diagnostics)) {
    CatalogEntry& entry =
        entries.emplace_back(CatalogEntry{preset->name, preset->summary, preset->source});
    if (kind == scenario::PresetKind::models) {
      entry.group = group_of(preset->model);
    } else if (kind == scenario::PresetKind::networks) {
      entry.group = group_of(preset->network);
    } else if (kind == scenario::PresetKind::clusters) {
      const auto gpu = library.gpu(preset->cluster.gpu, {});
      entry.group = gpu ? group_of(gpu->arch) : kOthers;
    }
  }
  return gathered(std::move(entries));
}

CatalogEntry gpu_entry(const hardware::GpuProfile& gpu) {
  std::string summary = fmt::format("{}: {}, {} memory bandwidth", gpu.full_name,
                                    format_bytes_binary(gpu.memory.value()),
                                    format_bandwidth(gpu.hbm_bandwidth.value()));
  if (!gpu.gemm.empty()) {
    const FlopPerSecond best =
        std::max(dense_peak(gpu, model::Dtype::bf16), dense_peak(gpu, model::Dtype::fp16));
    summary += fmt::format(", {} dense 16-bit", format_flop_rate(best));
  }
  if (gpu.nvlink) {
    summary += fmt::format(", {} {} per direction", link_name(gpu.arch),
                           format_bandwidth(gpu.nvlink->bandwidth.value()));
    if (gpu.nvlink->peers > 0) {
      summary += fmt::format(" over {} peers", gpu.nvlink->peers);
    }
  }
  return {gpu.name, std::move(summary), gpu.file, group_of(gpu.arch)};
}

// The program of which this is one of several profiles.
std::string program_of(const hardware::SoftwareProfile& software) {
  Diagnostics ignored;  // the profile has been read
  const auto document = yaml::parse_file(software.file, {}, ignored);
  return document ? yaml::MappingReader(*document, ignored).optional_text("program").value_or("")
                  : std::string();
}

CatalogEntry software_entry(const hardware::SoftwareProfile& software) {
  const bool fused = software.attention == hardware::AttentionImplementation::fused;
  std::string program = program_of(software);
  return {software.name,
          fmt::format("{}{}{}: GEMMs at {} of the GPU's sustained rate ({}), {} attention",
                      software.version, software.aliases.empty() ? "" : ", also ",
                      fmt::join(software.aliases, ", "),
                      format_percent(software.gemm_efficiency.value()),
                      to_string(software.gemm_efficiency.kind()), fused ? "fused" : "unfused"),
          software.file, program.empty() ? std::string(kOthers) : std::move(program)};
}

CatalogEntry unread(const std::string& name) {
  return {name, "cannot be read", "", std::string(kOthers)};
}

// In the order of architectures.
std::vector<CatalogEntry> gpu_entries(hardware::ProfileSearch search, Diagnostics& diagnostics) {
  std::vector<std::pair<std::size_t, CatalogEntry>> entries;
  search.allow_foreign = true;  // a list refuses nothing
  for (const std::string& name : hardware::list_gpu_profiles(search)) {
    const auto gpu = hardware::load_gpu_profile(name, search, {}, "", diagnostics);
    if (gpu) {
      entries.emplace_back(static_cast<std::size_t>(gpu->arch), gpu_entry(*gpu));
    } else {
      entries.emplace_back(kArchWords.size(), unread(name));
    }
  }
  std::ranges::stable_sort(entries, {}, [](const auto& entry) { return entry.first; });
  std::vector<CatalogEntry> sorted;
  for (auto& [arch, entry] : entries) {
    sorted.push_back(std::move(entry));
  }
  return sorted;
}

std::vector<CatalogEntry> software_entries(const hardware::ProfileSearch& search,
                                           Diagnostics& diagnostics) {
  std::vector<CatalogEntry> entries;
  for (const std::string& name : hardware::list_software_profiles(search)) {
    const auto software = hardware::load_software_profile(name, search, {}, "", diagnostics);
    entries.push_back(software ? software_entry(*software) : unread(name));
  }
  return gathered(std::move(entries));
}

std::string value_text(double value, hardware::Unit unit) {
  switch (unit) {
    case hardware::Unit::seconds:
      return format_time(seconds(value));
    case hardware::Unit::bytes:
      return format_bytes(bytes(value));
    case hardware::Unit::share:
      break;
  }
  return fmt::format("{:.4g}", value);
}

std::vector<CatalogEntry> coefficient_entries() {
  std::vector<CatalogEntry> entries;
  const hardware::SoftwareProfile neutral;
  for (const hardware::StackCoefficient& row : hardware::stack_coefficients()) {
    constexpr std::size_t kOptional = 3;  // members from there on may be absent
    const std::string usual = row.required ? std::string("in every profile")
                              : row.member.index() >= kOptional
                                  ? std::string("usually absent")
                                  : value_text(row.get(neutral), row.unit());
    entries.push_back(
        {std::string(row.key), fmt::format("{}: {}", usual, row.meaning), "", "of stacks"});
  }
  for (const hardware::GpuCoefficient& row : hardware::gpu_coefficients()) {
    const auto unit = static_cast<hardware::Unit>(row.member.index());
    std::string usual = value_text(row.value, unit);
    for (const hardware::OfArch& own : row.of_arch) {
      if (own.value > 0.0) {
        usual += fmt::format(", {} {}", to_string(own.arch), value_text(own.value, unit));
      }
    }
    entries.push_back({std::string(row.key), fmt::format("{}: {}", usual, row.meaning),
                       std::string(row.source), "of GPUs"});
  }
  return entries;
}

std::vector<CatalogEntry> schedule_entries() {
  std::vector<CatalogEntry> entries;
  for (const schedule::ScheduleTraits& one : schedule::kScheduleTraits) {
    entries.push_back({std::string(one.name), std::string(one.summary), "", group_of(one)});
  }
  return gathered(std::move(entries));
}

std::vector<CatalogEntry> precision_entries() {
  std::vector<CatalogEntry> entries;
  for (const scenario::PrecisionRecipe& one : scenario::kPrecisionRecipes) {
    const double width = kBitsPerByte * in_bytes(model::bytes_per_element(one.compute));
    entries.push_back({std::string(one.name), std::string(one.summary), "",
                       fmt::format("products in {:.0f} bits", width)});
  }
  return gathered(std::move(entries));
}

std::vector<CatalogEntry> scenario_entries() {
  std::vector<CatalogEntry> entries;
  for (ShippedScenario& scenario : shipped_scenarios()) {
    entries.push_back(
        {std::move(scenario.name), std::move(scenario.title), scenario.path.string()});
  }
  return entries;
}

std::vector<CatalogEntry> metric_entries() {
  std::vector<CatalogEntry> entries;
  for (const report::MetricInfo& metric : report::metric_registry()) {
    entries.push_back(
        {std::string(metric.name),
         fmt::format("{}{}", metric.meaning, metric.stochastic ? " (varies over trials)" : ""),
         std::string(metric.json_key)});
  }
  return entries;
}

// By the rules of the profile reader: a path beside the scenario or from here, or a known name.
bool is_found(const std::string& name, const scenario::Scenario& scenario,
              const std::vector<std::string>& known) {
  const fs::path path(name);
  if (path.has_parent_path() || path.extension() == ".yaml" || path.extension() == ".yml") {
    return is_file(fs::path(scenario.file).parent_path() / path) || is_file(path);
  }
  return std::ranges::find(known, name) != known.end();
}

}  // namespace

std::span<const CatalogKindInfo> catalog_kinds() { return kKinds; }

std::vector<CatalogEntry> catalog(CatalogKind kind, const hardware::ProfileSearch& search,
                                  Diagnostics& diagnostics) {
  switch (kind) {
    case CatalogKind::scenarios:
      return scenario_entries();
    case CatalogKind::models:
      return preset_entries(scenario::PresetKind::models, search, diagnostics);
    case CatalogKind::clusters:
      return preset_entries(scenario::PresetKind::clusters, search, diagnostics);
    case CatalogKind::gpus:
      return gpu_entries(search, diagnostics);
    case CatalogKind::software:
      return software_entries(search, diagnostics);
    case CatalogKind::networks:
      return preset_entries(scenario::PresetKind::networks, search, diagnostics);
    case CatalogKind::schedules:
      return schedule_entries();
    case CatalogKind::precisions:
      return precision_entries();
    case CatalogKind::failures:
      return preset_entries(scenario::PresetKind::failures, search, diagnostics);
    case CatalogKind::recovery:
      return preset_entries(scenario::PresetKind::recovery, search, diagnostics);
    case CatalogKind::communicators:
      return preset_entries(scenario::PresetKind::communicators, search, diagnostics);
    case CatalogKind::storage:
      return preset_entries(scenario::PresetKind::storage, search, diagnostics);
    case CatalogKind::prices:
      return preset_entries(scenario::PresetKind::prices, search, diagnostics);
    case CatalogKind::coefficients:
      return coefficient_entries();
    case CatalogKind::metrics:
      return metric_entries();
  }
  return {};
}

hardware::ProfileSearch profile_search(const fs::path& scenario_file,
                                       const std::vector<fs::path>& extra) {
  if (const auto missing = hardware::missing_in_environment(); !missing.empty()) {
    throw Error(ErrorKind::io,
                fmt::format("ORRERY_PROFILES names {}, which is no folder", missing.front()));
  }
  for (const fs::path& folder : extra) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
      throw Error(ErrorKind::io,
                  fmt::format("{}: is no folder, which profiles must be in", folder.string()));
    }
  }
  hardware::ProfileSearch search = hardware::default_search(scenario_file);
  search.directories.insert(search.directories.begin(), extra.begin(), extra.end());
  return search;
}

bool lacks_profile(const scenario::Scenario& scenario, const hardware::ProfileSearch& search) {
  return !is_found(scenario.cluster.gpu, scenario, hardware::list_gpu_profiles(search)) ||
         !is_found(scenario.software, scenario, hardware::list_software_profiles(search));
}

}  // namespace orrery::evaluate
