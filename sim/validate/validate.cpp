#include "sim/validate/validate.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/measured/measured_runs.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

namespace {

namespace fs = std::filesystem;

constexpr std::array<DataFormat, 7> kFormats = {{
    {kMeasuredRuns, "step times and peak memory of training runs", measured_run_rows},
    {"collective-measurements/1", "times of collectives", collective_rows},
    {"kernel-measurements/1", "rates of GEMM, attention and memory-bound kernels", kernel_rows},
    {"schedule-cases/1", "exact times and memory of pipeline schedules", schedule_case_rows},
    {"fabric-cases/1", "rates of flows that share links", fabric_case_rows},
    {"whole-runs/2", "whole runs: wall time, goodput", whole_run_rows},
    {"orrery/1", "a scenario with a `measured:` block of metrics", scenario_rows},
}};

const DataFormat* find_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &DataFormat::name);
  return found == kFormats.end() ? nullptr : &*found;
}

void refuse_format(const yaml::Value& document, const std::string& name, Diagnostics& diagnostics) {
  const yaml::Value* value = DataRow(document).find("format");
  std::vector<std::string_view> known;
  for (const DataFormat& format : kFormats) {
    known.push_back(format.name);
  }
  diagnostics.error(
      value == nullptr ? document.where : value->where, "format",
      name.empty() ? std::string("is missing") : fmt::format("`{}` cannot be validated", name),
      fmt::format("{}", fmt::join(known, ", ")));
}

void apply_remarks(Validation& validation, const Remarks& remarks) {
  for (ValidationRow& row : validation.rows) {
    const auto found = remarks.suspicious.find(row.id);
    if (found != remarks.suspicious.end() && row.suspicious.empty()) {
      row.suspicious = found->second;
    }
  }
  validation.remarks = remarks.groups;
  validation.notes = remarks.notes;
}

void add_rows(const fs::path& file, const yaml::Value& document, const ValidateOptions& options,
              Validation& validation, Diagnostics& diagnostics) {
  const std::string name = DataRow(document).text("format");
  const DataFormat* format = find_format(name);
  if (name == kRemarksFormat) {
    return;
  }
  if (format == nullptr) {
    if (!is_older_form(document, diagnostics)) {
      refuse_format(document, name, diagnostics);
    }
    return;
  }
  const hardware::ProfileSearch search = evaluate::profile_search(file, options.profiles);
  ProfileShelf profiles(search);
  DataSet data{.path = file,
               .document = document,
               .profiles = profiles,
               .search = search,
               .diagnostics = diagnostics,
               .threads = options.threads,
               .unstated = options.unstated};
  for (ValidationRow& row : format->rows(data)) {
    row.format = name;
    validation.rows.push_back(std::move(row));
  }
  if (options.both && name == kMeasuredRuns) {
    data.unstated = true;
    for (ValidationRow& row : format->rows(data)) {
      if (!row.secondary) {
        validation.unstated.push_back(std::move(row));
      }
    }
  }
}

}  // namespace

report::Trust trust_of(const cost::Cost& cost) {
  report::Trust trust;
  if (cost.time > Seconds{}) {
    for (std::size_t i = 0; i < kSourceKindCount; ++i) {
      trust.share[i] = cost.by_source[i] / cost.time;
    }
    trust.extrapolated = cost.extrapolated / cost.time;
  }
  return trust;
}

std::optional<Validation> validate_files(const std::vector<fs::path>& files,
                                         const ValidateOptions& options, Diagnostics& diagnostics) {
  Validation validation;
  Remarks remarks;
  for (const fs::path& file : files) {
    validation.files.push_back(file.string());
    const auto document = yaml::parse_file(file, data_limits(), diagnostics);
    if (!document) {
      continue;
    }
    read_remarks_beside(file, remarks, diagnostics);
    add_rows(file, *document, options, validation, diagnostics);
  }
  if (diagnostics.has_errors()) {
    return std::nullopt;
  }
  apply_remarks(validation, remarks);
  summarize(validation);
  return validation;
}

namespace {

std::optional<std::string> explain_run(const MeasuredRun& run, std::string_view metric,
                                       const hardware::ProfileSearch& search,
                                       Diagnostics& diagnostics) {
  evaluate::EvaluateOptions options;
  options.operations = true;
  options.levers = false;
  options.search = search;
  const auto evaluation = evaluate::evaluate(run.run.scenario, options, diagnostics);
  if (!evaluation) {
    return std::nullopt;
  }
  std::string text;
  if (!run.assumed.empty()) {
    text = fmt::format("assumed: {}\n", fmt::join(run.assumed, ", "));
  }
  const auto explanation =
      evaluate::explain(run.run.scenario, *evaluation, metric, diagnostics, search);
  return explanation ? std::optional(text + *explanation) : std::nullopt;
}

}  // namespace

std::optional<std::string> explain_row(const std::vector<fs::path>& files, std::string_view id,
                                       std::string_view metric, const ValidateOptions& options,
                                       Diagnostics& diagnostics) {
  for (const fs::path& file : files) {
    const auto document = yaml::parse_file(file, data_limits(), diagnostics);
    if (!document) {
      return std::nullopt;
    }
    if (is_older_form(*document, diagnostics)) {
      return std::nullopt;
    }
    if (!holds_measured_runs(*document)) {
      continue;
    }
    const hardware::ProfileSearch search = evaluate::profile_search(file, options.profiles);
    ProfileShelf profiles(search);
    for (const MeasuredRun& run :
         read_measured_runs(*document, file, options.unstated, profiles, diagnostics)) {
      if (run.id == id) {
        return explain_run(run, metric, search, diagnostics);
      }
    }
  }
  diagnostics.error({files.empty() ? "" : files.front().string()}, "",
                    fmt::format("no measured run has the id `{}`", id));
  return std::nullopt;
}

}  // namespace orrery::validate
