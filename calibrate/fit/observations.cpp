#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "calibrate/fit/stack_fit.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/scenario/load.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::fit {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepTime = "measured.step_time";

// The measured step in seconds; the block leaves the scenario, so no prediction can look at it.
std::optional<double> take_measured(scenario::Scenario& scenario, Diagnostics& diagnostics) {
  const std::vector<scenario::MeasuredText> measured = std::exchange(scenario.measured, {});
  const auto entry = std::ranges::find_if(
      measured, [](const scenario::MeasuredText& text) { return text.metric == "step_time"; });
  if (entry == measured.end()) {
    diagnostics.error({scenario.file}, std::string(kStepTime),
                      "is missing: there is nothing to fit to", "measured: {step_time: 12.3s}");
    return std::nullopt;
  }
  const auto time = yaml::parse_time(entry->text).value;
  if (!time || *time <= Seconds{}) {
    diagnostics.error(entry->where, std::string(kStepTime), "is no time of a step", "12.3s");
    return std::nullopt;
  }
  return in_seconds(*time);
}

// A step whose time is stated, or that GPUs of several types share, tells nothing of a stack.
bool can_be_fitted(const scenario::Scenario& scenario, Diagnostics& diagnostics) {
  if (scenario.step.given_time) {
    diagnostics.error({scenario.file}, "step",
                      "the scenario states the time of its step: nothing is predicted");
  }
  if (!scenario.cluster.mixed.empty()) {
    diagnostics.error(scenario.where("cluster.mixed"), "cluster.mixed",
                      "a stack cannot be fitted to several types of GPU in one step");
  }
  return !diagnostics.has_errors();
}

// Profiles and tables as an evaluation of the scenario finds them; nullptr after an error.
std::unique_ptr<OwnProfiles> find_profiles(scenario::Scenario& scenario,
                                           const hardware::ProfileSearch& search,
                                           Diagnostics& diagnostics) {
  auto gpu = hardware::load_gpu_profile(scenario.cluster.gpu, search, scenario.where("cluster.gpu"),
                                        "cluster.gpu", diagnostics);
  auto software = hardware::load_software_profile(
      scenario.software, search, scenario.where("software"), "software", diagnostics);
  constexpr std::string_view kTables = "cluster.network.collectives";
  std::vector<const hardware::GpuProfile*> gpus;
  if (gpu) {
    gpus.push_back(&*gpu);
  }
  const bool tables = hardware::load_collective_tables(
      scenario.cluster.network, search, scenario.where(kTables), kTables, diagnostics, gpus);
  if (!gpu || !software || !tables || diagnostics.has_errors()) {
    return nullptr;
  }
  auto found = std::make_unique<OwnProfiles>(*std::move(gpu), *std::move(software));
  const bool sound =
      evaluate::resolve(scenario, found->gpu, found->software, diagnostics).has_value();
  return sound ? std::move(found) : nullptr;
}

// Whether a line is the `format:` of a document: what it quotes of a log makes it none.
bool states_a_format(std::string_view text) {
  constexpr std::string_view kKey = "format:";
  return text.starts_with(kKey) || text.find("\nformat:") != std::string_view::npos;
}

}  // namespace

void add_own_run(const fs::path& file, const std::string& text,
                 const std::vector<fs::path>& profiles, const OwnStack& own,
                 Observations& observations, Diagnostics& diagnostics) {
  const hardware::ProfileSearch search = evaluate::profile_search(file, profiles);
  Diagnostics problems;
  auto scenario = scenario::load_text(text, file.string(), problems, search);
  const auto measured = scenario ? take_measured(*scenario, problems) : std::nullopt;
  std::unique_ptr<OwnProfiles> shelf;
  validate::ReadyRun run;
  if (measured && can_be_fitted(*scenario, problems)) {
    run.scenario = *std::move(scenario);
    shelf = find_profiles(run.scenario, search, problems);
  }
  if (shelf) {
    run.gpu = &shelf->gpu;
    run.software = &shelf->software;
    const auto outcome =
        validate::simulate_run(run, {.timeline = false, .operations = false, .ledger = false});
    if (const auto* reason = std::get_if<std::string>(&outcome)) {
      problems.error({file.string()}, "", *reason);
    }
  }
  diagnostics.add(problems);
  if (!shelf || problems.has_errors()) {
    return;
  }
  const scenario::Scenario& mapped = run.scenario;
  Observation row{.id = file.string(),
                  .stack = own.name.empty() ? shelf->software.name : own.name,
                  .model = mapped.model_preset.empty() ? mapped.model.name : mapped.model_preset,
                  .gpu = shelf->gpu.name,
                  .software = shelf->software.name,
                  .gpus = mapped.cluster.nodes * mapped.cluster.gpus_per_node,
                  .measured = *measured,
                  .suspicious = {},
                  .own = true,
                  .run = {}};
  row.run = std::move(run);
  observations.rows.push_back(std::move(row));
  observations.own_profiles.push_back(std::move(shelf));
}

bool add_logged_run(const fs::path& file, const std::vector<fs::path>& profiles,
                    const OwnStack& own, Observations& observations, Diagnostics& diagnostics) {
  const std::string text = import_config::read_plain_text(file);
  const auto format = states_a_format(text) ? std::nullopt : import_config::recognise(text);
  if (!format || !import_config::is_log(*format)) {
    return false;
  }
  const auto log = import_config::read_config_file(file, diagnostics, {format, {}, {}});
  if (!log) {
    return true;
  }
  import_config::ImportOptions options;
  if (!own.gpu.empty()) {
    options.settings.push_back({"cluster.gpu", own.gpu, "--gpu"});
  }
  if (!own.software.empty()) {
    options.settings.push_back({"software", own.software, "--profile"});
  }
  const auto imported = import_config::import_configs({&*log, 1}, options, diagnostics);
  for (const import_config::AskedKey& asked : imported.asked) {
    diagnostics.error({file.string()}, asked.path, fmt::format("is not in the log: {}", asked.what),
                      "`orrery import` makes a scenario of the log, with all its options");
  }
  if (imported.complete()) {
    add_own_run(file, imported.scenario, profiles, own, observations, diagnostics);
  }
  return true;
}

namespace {

constexpr std::string_view kScenario = "orrery/1";

std::string family_of(const std::string& model) { return model.substr(0, model.find(" (")); }

void add_row(validate::MeasuredRun row, const validate::Remarks& remarks,
             Observations& observations) {
  if (!row.step_time) {
    observations.skipped.push_back({row.id, row.group, "no step time was measured"});
    return;
  }
  const auto outcome =
      validate::simulate_run(row.run, {.timeline = false, .operations = false, .ledger = false});
  if (const auto* reason = std::get_if<std::string>(&outcome)) {
    observations.skipped.push_back({row.id, row.group, *reason});
    return;
  }
  const scenario::Scenario& scenario = row.run.scenario;
  const auto remark = remarks.suspicious.find(row.id);
  Observation observation{
      .id = row.id,
      .stack = row.group,
      .model = family_of(scenario.model.name),
      .gpu = scenario.cluster.gpu,
      .software = row.run.software->name,
      .gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node,
      .measured = in_seconds(*row.step_time),
      .suspicious = remark == remarks.suspicious.end() ? std::string() : remark->second,
      .run = std::move(row.run)};
  observations.rows.push_back(std::move(observation));
}

}  // namespace

Observations load_observations(const std::vector<std::filesystem::path>& files,
                               const std::vector<std::filesystem::path>& profiles,
                               Diagnostics& diagnostics, const OwnStack& own) {
  Observations observations;
  validate::Remarks remarks;
  for (const std::filesystem::path& file : files) {
    if (add_logged_run(file, profiles, own, observations, diagnostics)) {
      continue;
    }
    const auto document = yaml::parse_file(file, validate::data_limits(), diagnostics);
    if (!document) {
      continue;
    }
    const std::string format = validate::DataRow(*document).text("format");
    if (format == validate::kRemarksFormat) {
      continue;
    }
    if (format == kScenario) {
      const std::string text = read_file(file, std::numeric_limits<std::uint32_t>::max());
      add_own_run(file, text, profiles, own, observations, diagnostics);
      continue;
    }
    if (validate::is_older_form(*document, diagnostics)) {
      continue;
    }
    if (!validate::holds_measured_runs(*document)) {
      diagnostics.error(
          document->where, "format", fmt::format("`{}` holds no training steps", format),
          fmt::format("{}, {}, or a log of training", validate::kMeasuredRuns, kScenario));
      continue;
    }
    validate::read_remarks_beside(file, remarks, diagnostics);
    observations.shelves.push_back(
        std::make_unique<validate::ProfileShelf>(evaluate::profile_search(file, profiles)));
    for (validate::MeasuredRun& row : validate::read_measured_runs(
             *document, file, false, *observations.shelves.back(), diagnostics)) {
      add_row(std::move(row), remarks, observations);
    }
  }
  return observations;
}

validate::ValidationRow scored(const Observation& row, double predicted) {
  return {.id = row.id,
          .group = row.stack,
          .quantity = "step_time",
          .unit = "s",
          .predicted = predicted,
          .measured = row.measured,
          .suspicious = row.suspicious};
}

}  // namespace orrery::fit
