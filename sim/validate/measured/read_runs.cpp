// Entries of measured-runs/2 as scenarios.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/load.hpp"
#include "sim/validate/measured/measured_runs.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

namespace {

using yaml::Value;
namespace kind = yaml::kind;

constexpr std::string_view kOlderForm = "measured-runs/1";

constexpr std::array<yaml::Choice<MemoryReading>, 3> kReadings = {
    {{"allocated", MemoryReading::allocated},
     {"reserved", MemoryReading::reserved},
     {"device", MemoryReading::device}}};

// --- As a person would state it ----------------------------------------------------------------

constexpr std::array<std::string_view, 7> kSaid = {"model",     "cluster",   "layout",  "batch",
                                                   "precision", "recompute", "software"};

void drop(Value& mapping, std::string_view key) {
  std::erase_if(mapping.entries, [key](const yaml::Entry& entry) { return entry.key == key; });
}

// The schedule that merges micro-batches for the experts' sake is one of the switches: without it
// the chunks are interleaved.
void use_plain_schedule(Value& layout) {
  constexpr std::string_view kCombined = "interleaved_combined";
  const bool piped = std::ranges::any_of(layout.entries, [](const yaml::Entry& entry) {
    return entry.key == "pipeline" && entry.value.text != "1";
  });
  for (yaml::Entry& entry : layout.entries) {
    if (entry.key == "schedule" && entry.value.text == kCombined) {
      entry.value.text = piped ? "interleaved" : "none";
    }
  }
}

Value without_switches(Value scenario) {
  std::erase_if(scenario.entries, [](const yaml::Entry& entry) {
    return std::ranges::find(kSaid, entry.key) == kSaid.end();
  });
  for (yaml::Entry& entry : scenario.entries) {
    if (entry.key == "precision") {
      drop(entry.value, "parameters");
    } else if (entry.key == "software") {
      drop(entry.value, "recipe");
    } else if (entry.key == "layout") {
      use_plain_schedule(entry.value);
    }
  }
  return scenario;
}

// --- With all its switches -----------------------------------------------------------------------

Value text_value(const Value& beside, std::string text) {
  Value value;
  value.kind = Value::Kind::scalar;
  value.where = beside.where;
  value.text = std::move(text);
  return value;
}

// Every switch that a source states stands in its entry: what it does not state was not switched on
// by a recipe either.
Value without_recipe(Value scenario) {
  for (yaml::Entry& entry : scenario.entries) {
    if (entry.key != "software") {
      continue;
    }
    Value& software = entry.value;
    if (software.kind == Value::Kind::scalar) {
      Value spelled_out;
      spelled_out.kind = Value::Kind::mapping;
      spelled_out.where = software.where;
      spelled_out.entries.push_back({"name", software.where, software});
      software = std::move(spelled_out);
    }
    drop(software, "recipe");
    software.entries.push_back({"recipe", software.where, text_value(software, "plain")});
  }
  return scenario;
}

// --- The entry ---------------------------------------------------------------------------------

std::optional<MeasuredMemory> read_memory(yaml::MappingReader& measured) {
  auto reader = measured.optional_mapping("peak_memory");
  if (!reader) {
    return std::nullopt;
  }
  const auto value = reader->require<kind::Size>("value", yaml::above(Bytes{}));
  const auto reading = reader->require_choice("kind", kReadings);
  reader->finish();
  return value && reading ? std::optional(MeasuredMemory{*value, *reading}) : std::nullopt;
}

void read_measured(yaml::MappingReader& entry, MeasuredRun& run) {
  auto measured = entry.require_mapping("measured");
  if (measured) {
    run.step_time = measured->optional<kind::Time>("step_time", yaml::above(Seconds{}));
    run.memory = read_memory(*measured);
    measured->finish();
  }
}

void find_profiles(ReadyRun& run, ProfileShelf& profiles, Diagnostics& diagnostics) {
  scenario::Scenario& scenario = run.scenario;
  run.gpu = profiles.gpu(scenario.cluster.gpu, diagnostics, scenario.where("cluster.gpu"));
  run.software = profiles.software(scenario.software, diagnostics, scenario.where("software"));
  scenario.cluster.network.tables = profiles.collectives(diagnostics);
}

std::optional<scenario::Scenario> read_scenario(const Value& stated, const std::string& file,
                                                bool unstated, const ProfileShelf& profiles,
                                                Diagnostics& diagnostics) {
  auto scenario =
      scenario::load_fragment(unstated ? without_switches(stated) : without_recipe(stated), file,
                              profiles.presets(), diagnostics);
  if (scenario && (scenario->step.given_time || !scenario->cluster.mixed.empty())) {
    diagnostics.error(stated.where, "scenario",
                      "is no step of one type of GPU that can be predicted: it states `step` or "
                      "`cluster.mixed`");
    return std::nullopt;
  }
  return scenario;
}

std::optional<MeasuredRun> read_run(const Value& value, const std::string& path,
                                    const std::string& file, bool unstated, ProfileShelf& profiles,
                                    Diagnostics& diagnostics) {
  Diagnostics found;
  yaml::MappingReader entry(value, found, path);
  MeasuredRun run;
  run.id = entry.require_text("id").value_or("");
  run.group = entry.require_text("group").value_or("");
  const Value* stated = entry.take_required("scenario", "a mapping", "{model: ..., cluster: ...}");
  read_measured(entry, run);
  run.assumed = entry.optional_text_list("assumed").value_or(std::vector<std::string>());
  run.side_by_side = entry.optional_text("side_by_side").value_or("");
  for (const char* words : {"source", "confidence", "as_stated"}) {
    entry.allow(words);
  }
  entry.finish();
  if (stated != nullptr) {
    if (auto scenario = read_scenario(*stated, file, unstated, profiles, found)) {
      run.run.scenario = *std::move(scenario);
      run.run.scenario.name = run.id;
      find_profiles(run.run, profiles, found);
    }
  }
  // A key without effect is no problem here: it says what the source states.
  for (const Diagnostic& diagnostic : found.all()) {
    if (diagnostic.severity == Severity::error) {
      diagnostics.add(diagnostic);
    }
  }
  // A profile that cannot be read is reported once, and ends every run that names it.
  const bool ready = run.run.gpu != nullptr && run.run.software != nullptr;
  return found.has_errors() || !ready ? std::nullopt : std::optional(run);
}

}  // namespace

std::vector<MeasuredRun> read_measured_runs(const Value& document,
                                            const std::filesystem::path& file, bool unstated,
                                            ProfileShelf& profiles, Diagnostics& diagnostics) {
  std::vector<MeasuredRun> runs;
  yaml::MappingReader root(document, diagnostics);
  root.allow("format");
  const std::vector<Value>* entries = root.optional_sequence("runs");
  root.finish();
  for (std::size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
    auto run = read_run((*entries)[i], fmt::format("runs[{}]", i), file.string(), unstated,
                        profiles, diagnostics);
    if (run) {
      runs.push_back(*std::move(run));
    }
  }
  return runs;
}

bool holds_measured_runs(const Value& document) {
  return DataRow(document).text("format") == kMeasuredRuns;
}

bool is_older_form(const Value& document, Diagnostics& diagnostics) {
  const Value* format = DataRow(document).find("format");
  if (format == nullptr || format->text != kOlderForm) {
    return false;
  }
  diagnostics.error(format->where, "format",
                    fmt::format("`{}` is the older form of {}", kOlderForm, kMeasuredRuns),
                    "`scripts/convert-rows FILE -o OUT` converts it");
  return true;
}

}  // namespace orrery::validate
