#include "calibrate/fit/observations.hpp"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "calibrate/fit/own_runs.hpp"
#include "sim/base/files/file.hpp"
#include "sim/evaluate/catalog.hpp"
#include "sim/validate/output/remarks.hpp"
#include "sim/validate/rows/repair_run.hpp"

namespace orrery::fit {

namespace {

constexpr std::string_view kFormat = "measured-runs/1";
constexpr std::string_view kScenario = "orrery/1";

std::string family_of(const std::string& model) {
  return model.substr(0, model.find(" ("));
}

void add_row(const validate::DataRow& row,
             const validate::Remarks& remarks,
             validate::ProfileShelf& shelf,
             Observations& observations,
             Diagnostics& diagnostics) {
  const std::string id = row.text("id");
  const std::string stack = row.text("stack");
  const double measured = row.row("measured").number("step_time_s").value_or(0.0);
  auto run = validate::prepare_run(row, shelf, diagnostics);
  if (const auto* reason = std::get_if<std::string>(&run)) {
    observations.skipped.push_back({id, stack, *reason});
    return;
  }
  if (!(measured > 0.0)) {
    observations.skipped.push_back({id, stack, "no step time was measured"});
    return;
  }
  auto ready = std::get<validate::ReadyRun>(std::move(run));
  const auto outcome =
      validate::simulate_measured(ready, {.timeline = false, .operations = false, .ledger = false});
  if (const auto* reason = std::get_if<std::string>(&outcome)) {
    observations.skipped.push_back({id, stack, *reason});
    return;
  }
  const hardware::ClusterSpec& cluster = ready.mapped.scenario.cluster;
  const auto remark = remarks.suspicious.find(id);
  Observation observation{
      .id = id,
      .stack = stack,
      .model = family_of(ready.mapped.scenario.model.name),
      .gpu = cluster.gpu,
      .software = ready.software->name,
      .gpus = cluster.nodes * cluster.gpus_per_node,
      .measured = measured,
      .suspicious = remark == remarks.suspicious.end() ? std::string() : remark->second,
      .run = std::move(ready)};
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
    if (format != kFormat) {
      diagnostics.error(document->where,
                        "format",
                        fmt::format("`{}` holds no training steps", format),
                        fmt::format("{}, {}, or a log of training", kFormat, kScenario));
      continue;
    }
    validate::read_remarks_beside(file, remarks, diagnostics);
    observations.shelves.push_back(
        std::make_unique<validate::ProfileShelf>(evaluate::profile_search(file, profiles)));
    for (const validate::DataRow& row : validate::data_rows(*document, "runs")) {
      add_row(row, remarks, *observations.shelves.back(), observations, diagnostics);
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
