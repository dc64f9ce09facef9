#include "sim/answer/jobs/jobs_expect.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/text/format.hpp"
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

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(' ') - first + 1);
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
  const auto* const sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& each) {
    return text.substr(at).starts_with(each.first);
  });
  made.comparison = sign->second;
  const std::string_view operand = trimmed(text.substr(0, at));
  const std::size_t dot = operand.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? "" : operand.substr(dot + 1);
  const auto* const metric = std::find_if(kMetrics.begin(), kMetrics.end(),
                                          [&](const auto& each) { return each.first == name; });
  if (metric == kMetrics.end()) {
    return wrong(fmt::format("`{}` is no metric of a job", operand), kForm);
  }
  made.job = operand.substr(0, dot);
  made.metric = metric->second;
  const std::string_view value = trimmed(text.substr(at + sign->first.size()));
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

}  // namespace orrery::jobs
