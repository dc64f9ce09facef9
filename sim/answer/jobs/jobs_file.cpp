#include "sim/answer/jobs/jobs_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/answer/evaluate/shipped_scenarios.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/text.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/flow_text.hpp"
#include "sim/base/yaml/reader.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/step/simulate/share_jobs.hpp"

namespace orrery::jobs {

namespace {

constexpr std::array<std::pair<std::string_view, JobMetric>, 4> kMetrics = {
    {{"step_time", JobMetric::step_time},
     {"alone", JobMetric::alone},
     {"slowdown", JobMetric::slowdown},
     {"lost", JobMetric::lost}}};

// The longer sign first.
constexpr std::array<std::pair<std::string_view, JobComparison>, 4> kSigns = {
    {{">=", JobComparison::at_least},
     {"<=", JobComparison::at_most},
     {">", JobComparison::above},
     {"<", JobComparison::below}}};

constexpr std::string_view kForm =
    "such as a.slowdown < 1.2; metrics: step_time, alone, slowdown, lost";

namespace kind = yaml::kind;

constexpr std::int64_t kMostNodesOfCluster = 1'000'000;
constexpr std::int64_t kMostSteps = 10'000;

constexpr std::array<yaml::Choice<NodePlacement>, 2> kPlacements = {
    {{"packed", NodePlacement::packed}, {"spread", NodePlacement::spread}}};

// Beside the file, else a shipped name.
std::filesystem::path path_of(const std::string& word, const std::string& file_name) {
  std::filesystem::path beside = std::filesystem::path(file_name).parent_path() / word;
  if (std::filesystem::exists(beside)) {
    return beside;
  }
  const evaluate::FoundScenario found = evaluate::find_scenario(word);
  return found.problem.empty() ? found.path : beside;
}

void read_settings(yaml::MappingReader& reader, JobEntry& job) {
  const yaml::Value* const set = reader.take("set");
  if (set == nullptr) {
    return;
  }
  if (set->kind != yaml::Value::Kind::mapping) {
    reader.error("set", "is no mapping of keys to values", "such as {batch.global: 512}");
    return;
  }
  for (const yaml::Entry& entry : set->entries) {
    job.settings.push_back({entry.key, yaml::flow_text(entry.value), entry.value.where});
  }
}

void read_job(yaml::MappingReader& reader, const std::string& file_name, JobsFile& file) {
  JobEntry job;
  job.where = reader.where("scenario");
  job.name = reader.optional_text("name").value_or(fmt::format("job {}", file.jobs.size() + 1));
  if (const auto scenario = reader.require_text("scenario", "`llama3-70b-64h100`")) {
    job.scenario = path_of(*scenario, file_name);
  }
  read_settings(reader, job);
  job.start =
      reader.optional<kind::Time>("start", yaml::between(Seconds{}, days(1.0))).value_or(Seconds{});
  if (reader.has("placement") && reader.has("nodes")) {
    reader.error("nodes", "stands beside placement", "one of them");
  }
  job.placement =
      reader.optional_choice<NodePlacement>("placement", kPlacements).value_or(job.placement);
  const auto nodes = reader.optional_list<kind::Count>(
      "nodes", yaml::between<std::int64_t>(0, kMostNodesOfCluster));
  for (const std::int64_t node : nodes.value_or(std::vector<std::int64_t>{})) {
    job.nodes.push_back(static_cast<std::int32_t>(node));
  }
  const bool known =
      std::ranges::any_of(file.jobs, [&](const JobEntry& other) { return other.name == job.name; });
  if (known) {
    reader.error("name", fmt::format("two jobs are called {}", job.name), "different names");
  }
  reader.finish();
  file.jobs.push_back(std::move(job));
}

void read_cluster(yaml::MappingReader& reader, JobsFile& file) {
  file.nodes_where = reader.where("nodes");
  file.nodes =
      reader.require<kind::Count>("nodes", yaml::between<std::int64_t>(1, kMostNodesOfCluster))
          .value_or(1);
  if (const yaml::Value* network = reader.take_required(
          "network", "a mapping with the keys of cluster.network", "{preset: infiniband-400g}")) {
    file.network = {"cluster.network", yaml::flow_text(*network), network->where};
    const auto detail = std::ranges::find_if(
        network->entries, [](const auto& entry) { return entry.key == "detail"; });
    if (detail != network->entries.end() && detail->value.text == "ranks") {
      file.detail = hardware::NetworkDetail::ranks;
    } else if (detail != network->entries.end() && detail->value.text != "flows") {
      reader.diagnostics().error(detail->value.where, "cluster.network.detail",
                                 "jobs share links by their flows only", "flows, ranks");
    }
  }
  reader.finish();
}

void read_expectations(yaml::MappingReader& reader, JobsFile& file) {
  const std::vector<yaml::Value>* const lines = reader.optional_sequence("expect");
  for (std::size_t i = 0; lines != nullptr && i < lines->size(); ++i) {
    const std::string* const text =
        yaml::read_text((*lines)[i], "expect", "a line", "a.slowdown < 1.2", reader.diagnostics());
    if (text == nullptr) {
      continue;
    }
    auto made = parse_jobs_expectation(*text, (*lines)[i].where, reader.diagnostics());
    if (!made) {
      continue;
    }
    const bool known =
        std::ranges::any_of(file.jobs, [&](const JobEntry& job) { return job.name == made->job; });
    if (!known) {
      reader.diagnostics().error(made->where, "expect",
                                 fmt::format("no job is called `{}`", made->job), "a name of jobs");
      continue;
    }
    file.expect.push_back(*std::move(made));
  }
}

}  // namespace

std::optional<JobsExpectation> parse_jobs_expectation(std::string_view text,
                                                      const SourceLocation& where,
                                                      Diagnostics& diagnostics) {
  JobsExpectation made;
  made.text = text;
  made.where = where;
  const auto wrong = [&](const std::string& message, std::string_view allowed) {
    diagnostics.error(where, "expect", message, std::string(allowed));
    return std::nullopt;
  };
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos) {
    return wrong(fmt::format("`{}` compares nothing", text), kForm);
  }
  const auto* const sign = std::ranges::find_if(
      kSigns, [&](const auto& each) { return text.substr(at).starts_with(each.first); });
  made.comparison = sign->second;
  const std::string_view operand = trimmed(text.substr(0, at), " ");
  const std::size_t dot = operand.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? "" : operand.substr(dot + 1);
  const auto* const metric =
      std::ranges::find_if(kMetrics, [&](const auto& each) { return each.first == name; });
  if (metric == kMetrics.end()) {
    return wrong(fmt::format("`{}` is no metric of a job", operand), kForm);
  }
  made.job = operand.substr(0, dot);
  made.metric = metric->second;
  const std::string_view value = trimmed(text.substr(at + sign->first.size()), " ");
  const auto take = [&](const auto& parsed, auto number) {
    if (!parsed.value) {
      return false;
    }
    made.bound = number(*parsed.value);
    return true;
  };
  const bool known = made.metric == JobMetric::slowdown
                         ? take(yaml::parse_number(value), [](double x) { return x; })
                         : take(yaml::parse_time(value), [](Seconds x) { return in_seconds(x); });
  if (!known) {
    return wrong(
        fmt::format("`{}` is no bound of {}", value, name),
        made.metric == JobMetric::slowdown ? "a number, such as 1.2" : "a time, such as 2.5s");
  }
  return made;
}

double job_value(JobMetric metric, const step::SharedJobResult& job) {
  switch (metric) {
    case JobMetric::step_time:
      return in_seconds(job.together);
    case JobMetric::alone:
      return in_seconds(job.alone);
    case JobMetric::slowdown:
      return job.together / job.alone;
    case JobMetric::lost:
      break;
  }
  return in_seconds(job.together - job.alone);
}

bool holds(const JobsExpectation& expectation, const step::SharedJobResult& job) {
  const double value = job_value(expectation.metric, job);
  switch (expectation.comparison) {
    case JobComparison::at_least:
      return value >= expectation.bound;
    case JobComparison::at_most:
      return value <= expectation.bound;
    case JobComparison::above:
      return value > expectation.bound;
    case JobComparison::below:
      break;
  }
  return value < expectation.bound;
}

std::string job_value_text(JobMetric metric, double value) {
  return metric == JobMetric::slowdown ? fmt::format("{:.3f}", value) : format_time(seconds(value));
}

std::optional<JobsFile> read_jobs_file(std::string_view text, const std::string& file_name,
                                       Diagnostics& diagnostics) {
  const auto root = yaml::parse(text, file_name, {}, diagnostics);
  if (!root) {
    return std::nullopt;
  }
  JobsFile file;
  file.file = file_name;
  yaml::MappingReader reader(*root, diagnostics);
  constexpr std::array<yaml::Choice<bool>, 1> kFormats = {{{kJobsFormat, true}}};
  static_cast<void>(reader.require_choice<bool>("format", kFormats));
  file.name =
      reader.optional_text("name").value_or(std::filesystem::path(file_name).stem().string());
  file.steps = reader.optional<kind::Count>("steps", yaml::between<std::int64_t>(1, kMostSteps))
                   .value_or(file.steps);
  if (auto cluster = reader.require_mapping("cluster")) {
    read_cluster(*cluster, file);
  }
  std::vector<yaml::MappingReader> jobs = reader.optional_mappings("jobs");
  for (yaml::MappingReader& job : jobs) {
    read_job(job, file_name, file);
  }
  if (jobs.empty()) {
    reader.error("jobs", "lists no job", "- {scenario: llama3-70b-64h100}");
  }
  read_expectations(reader, file);
  reader.finish();
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(file));
}

std::optional<JobsFile> load_jobs_file(const std::string& path, Diagnostics& diagnostics) {
  return read_jobs_file(read_file(path, yaml::Limits{}.max_bytes), path, diagnostics);
}

}  // namespace orrery::jobs
