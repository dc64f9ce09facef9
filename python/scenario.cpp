#include "python/scenario.hpp"

#include <cstddef>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/shipped_scenarios.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/import_config/logs/log_outages.hpp"
#include "sim/scenario/edit_text.hpp"

namespace orrery::python {

namespace {

constexpr std::size_t kMostBytes = std::size_t{8} << 20U;

scenario::ScenarioTemplate read_base(const std::string& text, const std::string& file,
                                     const hardware::ProfileSearch& search) {
  Diagnostics diagnostics;
  auto base = scenario::ScenarioTemplate::from_text(text, file, diagnostics, search);
  if (!base) {
    throw Problems{diagnostics};
  }
  return *std::move(base);
}

// The restarts in the logs as a failure log, which never takes the place of one of the files.
void write_failures(const Importing& asked, const std::vector<import_config::ConfigFile>& files) {
  std::error_code error;
  for (const std::string& name : asked.names) {
    if (std::filesystem::equivalent(name, asked.failures, error)) {
      throw Error(ErrorKind::io, asked.failures + ": is one of the files that are imported");
    }
  }
  const import_config::LoggedOutages found = import_config::outages_of_logs(files);
  if (found.dated_steps == 0) {
    throw Error(ErrorKind::io,
                "failures: no line of a step in these files has a date and a number");
  }
  write_file_atomically(asked.failures, import_config::failure_log_text(found));
}

}  // namespace

Scenario Scenario::named(const std::string& word, const std::vector<std::string>& profiles) {
  const evaluate::FoundScenario found = evaluate::find_scenario(word);
  if (!found.problem.empty()) {
    throw Error(ErrorKind::io, found.problem);
  }
  return of_text(read_file(found.path, kMostBytes), found.path.string(), profiles);
}

Scenario Scenario::of_text(const std::string& text, const std::string& file,
                           const std::vector<std::string>& profiles) {
  hardware::ProfileSearch search =
      evaluate::profile_search(file, {profiles.begin(), profiles.end()});
  scenario::ScenarioTemplate base = read_base(text, file, search);
  return {text, std::move(base), std::move(search)};
}

Scenario Scenario::imported(const Importing& asked, const std::stop_token& stop) {
  Diagnostics diagnostics;
  std::vector<import_config::ConfigFile> files;
  for (const std::string& name : asked.names) {
    if (auto file = import_config::read_config_file(name, diagnostics,
                                                    {std::nullopt, asked.pattern, stop})) {
      files.push_back(*std::move(file));
    }
  }
  import_config::ImportOptions options;
  options.model_class = asked.model_class;
  options.ignored = asked.ignored;
  for (const auto& [key, value] : asked.settings) {
    options.settings.push_back({key, value, "settings"});
  }
  if (!asked.failures.empty() && !diagnostics.has_errors()) {
    write_failures(asked, files);
    options.settings.push_back({"failures.log", asked.failures, "failures"});
  }
  import_config::ImportResult result;
  if (!diagnostics.has_errors()) {
    result = import_config::import_configs(files, options, diagnostics);
  }
  for (const import_config::AskedKey& key : result.asked) {
    diagnostics.error({}, key.path, key.why.empty() ? "stands in none of the files" : key.why,
                      key.what);
  }
  if (diagnostics.has_errors()) {
    throw Problems{diagnostics};
  }
  Scenario scenario = of_text(result.scenario, asked.names.front(), asked.profiles);
  scenario.import_report_ = import_config::report_json(result, diagnostics);
  return scenario;
}

void Scenario::set(const std::string& key, const std::string& value) {
  Diagnostics diagnostics;
  const SourceLocation where{"set", 0, 0};
  const auto facts = scenario::find_key(key, where, diagnostics);
  scenario::KeyValue change{facts ? facts->path : key, value, where};
  if (facts) {
    base_.check(change, diagnostics);
  }
  if (diagnostics.has_errors()) {
    throw Problems{diagnostics};
  }
  std::erase_if(changes_, [&change](const auto& old) { return old.key == change.key; });
  changes_.push_back(std::move(change));
}

Settings Scenario::changes() const {
  Settings settings;
  for (const scenario::KeyValue& change : changes_) {
    settings.emplace_back(change.key, change.value);
  }
  return settings;
}

std::vector<std::string> Scenario::profiles() const {
  std::vector<std::string> names;
  for (const std::filesystem::path& directory : search_.directories) {
    names.push_back(directory.string());
  }
  return names;
}

void Scenario::keep(const std::string& key) {
  Diagnostics diagnostics;
  const auto facts = scenario::find_key(key, {"keep", 0, 0}, diagnostics);
  if (facts && facts->path != "layout.data") {
    diagnostics.error({"keep", 0, 0}, key, "follows no other key", "layout.data");
  }
  if (diagnostics.has_errors()) {
    throw Problems{diagnostics};
  }
  keeps_data_ = true;
  if (const auto value = get(key)) {  // what is set follows nothing
    set(key, *value);
  }
}

std::optional<std::string> Scenario::get(const std::string& key) const {
  Diagnostics diagnostics;
  if (!scenario::find_key(key, {file(), 0, 0}, diagnostics)) {
    throw Problems{diagnostics};
  }
  return scenario::value_of(read(diagnostics), key);
}

scenario::Scenario Scenario::read(Diagnostics& diagnostics) const {
  auto read = base_.with(changes_, diagnostics);
  if (!read) {
    throw Problems{diagnostics};
  }
  return *std::move(read);
}

plan::Estimate Scenario::estimate() {
  if (!estimator_) {
    estimator_ = std::make_shared<plan::StepEstimator>();
  }
  Diagnostics diagnostics;
  const scenario::Scenario scenario = read(diagnostics);
  const auto estimate = estimator_->estimate(scenario, changes_, search(), diagnostics);
  if (!estimate) {
    throw Problems{diagnostics};
  }
  return *estimate;
}

scenario::ScenarioTemplate Scenario::base_with_changes() const {
  if (changes_.empty()) {
    return base_;
  }
  Diagnostics diagnostics;
  auto text = scenario::with_keys(text_, changes_, diagnostics);
  if (!text) {
    throw Problems{diagnostics};
  }
  scenario::drop_outdated_data(*text, changes_, file(), search_, diagnostics);
  return read_base(*text, file(), search_);
}

}  // namespace orrery::python
