#include "calibrate/fit/observations.hpp"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "calibrate/fit/own_runs.hpp"
#include "sim/base/files/file.hpp"
#include "sim/evaluate/catalog.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "sim/validate/rows/remarks.hpp"

namespace orrery::fit {

namespace {

constexpr std::string_view kScenario = "orrery/1";

std::string family_of(const std::string& model) {
  return model.substr(0, model.find(" ("));
}

void add_row(validate::MeasuredRun row,
             const validate::Remarks& remarks,
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
                               Diagnostics& diagnostics,
                               const OwnStack& own) {
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
          document->where,
          "format",
          fmt::format("`{}` holds no training steps", format),
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
