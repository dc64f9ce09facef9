#include "sim/answer/jobs/jobs_report.hpp"

#include <fmt/format.h>

#include "sim/answer/report/table.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::jobs {

namespace {

using Json = nlohmann::ordered_json;
using step::SharedJobResult;

double slowdown_of(const SharedJobResult& job) { return job_value(JobMetric::slowdown, job); }

// "0-7, 12"
std::string node_ranges(const std::vector<std::int32_t>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t last = i;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1) {
      ++last;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ", ", nodes[i]);
    text += last > i ? fmt::format("-{}", nodes[last]) : "";
    i = last + 1;
  }
  constexpr std::size_t kWidest = 24;
  return text.size() <= kWidest ? text : text.substr(0, kWidest - 3) + "...";
}

std::string jobs_table(const ClusterAnswer& answer, const report::TextPage& page) {
  report::Table table = report::table_of(
      {"job", "nodes", "GPUs", "start", "alone", "together", "slowdown", "scenario"});
  table.left = 2;
  for (std::size_t j = 0; j < answer.jobs.size(); ++j) {
    const PlacedJob& job = answer.jobs[j];
    const SharedJobResult& result = answer.result.jobs[j];
    table.add(job.name, node_ranges(job.nodes), format_integer(job.gpus), format_time(job.start),
              format_time(result.alone), format_time(result.together),
              fmt::format("{:.3f}", slowdown_of(result)), job.scenario);
  }
  return report::to_text(table, page);
}

std::string lost_table(const ClusterAnswer& answer, const report::TextPage& page) {
  report::Table table;
  table.columns.push_back({"loses a step", "loses a step"});
  for (const PlacedJob& job : answer.jobs) {
    table.columns.push_back({job.name, fmt::format("to {}", job.name)});
  }
  table.columns.push_back({"sum", "in all"});
  for (std::size_t j = 0; j < answer.jobs.size(); ++j) {
    const SharedJobResult& result = answer.result.jobs[j];
    std::vector<report::Cell> row = {answer.jobs[j].name};
    for (const Seconds lost : result.lost) {
      row.emplace_back(lost > Seconds{} ? format_time(lost) : std::string("-"));
    }
    row.emplace_back(format_time(result.together - result.alone));
    table.rows.push_back(std::move(row));
  }
  return report::to_text(table, page);
}

std::string links_table(const ClusterAnswer& answer, const report::TextPage& page) {
  report::Table table;
  table.columns = {{"link", "link"}, {"alike", "alike"}, {"busy", "busy"}};
  for (const PlacedJob& job : answer.jobs) {
    table.columns.push_back({job.name, fmt::format("lost by {}", job.name)});
  }
  for (const step::JobsLink& link : answer.result.links) {
    std::vector<report::Cell> row = {link.name, fmt::to_string(link.alike),
                                     format_percent(link.load)};
    for (const Seconds lost : link.lost) {
      row.emplace_back(lost > Seconds{} ? format_time(lost) : std::string("-"));
    }
    table.rows.push_back(std::move(row));
  }
  return report::to_text(table, page);
}

std::string places_of(const TriedPlacement& tried) {
  std::string text;
  for (const JobEntry& job : tried.jobs) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", job.name,
                        !job.nodes.empty()                       ? "as stated"
                        : job.placement == NodePlacement::packed ? "packed"
                                                                 : "spread");
  }
  return text;
}

// One row for each placement that was tried.
report::Table places_table(std::span<const TriedPlacement> tried) {
  report::Table table;
  table.left = 2;
  table.columns = {{"places", "places"}, {"starts", "starts"}};
  for (const JobEntry& job : tried.front().jobs) {
    table.columns.push_back(
        {fmt::format("{}.step_time", job.name), job.name, report::Dimension::time});
  }
  table.columns.push_back({"lost", "GPU time lost", report::Dimension::fraction});
  for (const TriedPlacement& one : tried) {
    std::string starts;
    for (const JobEntry& job : one.jobs) {
      starts += fmt::format("{}{}", starts.empty() ? "" : ", ", format_time(job.start));
    }
    std::vector<report::Cell> row = {places_of(one), std::move(starts)};
    for (const SharedJobResult& job : one.answer.result.jobs) {
      row.emplace_back(in_seconds(job.together));
    }
    row.emplace_back(one.lost);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::string to_text(const ClusterAnswer& answer, report::TextStyle style,
                    std::span<const TriedPlacement> tried) {
  report::TextPage page(style);
  std::string text = fmt::format("{}\n{} jobs, {} steps each, {} nodes, {} flows\n\n",
                                 page.paint(report::Ink::strong, report::printable(answer.name)),
                                 answer.jobs.size(), format_integer(answer.steps),
                                 format_integer(answer.nodes), format_integer(answer.result.flows));
  if (!tried.empty()) {
    text += report::to_text(places_table(tried), page) + "\nThe first of these:\n";
  }
  text += jobs_table(answer, page);
  if (answer.jobs.size() > 1) {
    text += "\n" + lost_table(answer, page);
  }
  if (!answer.result.links.empty()) {
    text += "\n" + links_table(answer, page);
    text += page.paint(report::Ink::faint,
                       "Losses on links are time of flows in all steps, much of it hidden.") +
            "\n";
  }
  for (const JobsExpectation& line : answer.expect) {
    const SharedJobResult& job = answer.result_of(line.job);
    const bool met = holds(line, job);
    text += fmt::format(
        "{} {}:{}: {}{}\n",
        page.paint(met ? report::Ink::good : report::Ink::bad, met ? "PASS" : "FAIL"),
        report::printable(line.where.file), line.where.line, report::printable(line.text),
        met ? ""
            : fmt::format(" -- it is {}",
                          job_value_text(line.metric, job_value(line.metric, job))));
  }
  return text;
}

std::string to_json(const ClusterAnswer& answer, std::span<const TriedPlacement> tried) {
  const auto by_job = [&answer](const std::vector<Seconds>& times) {
    Json out = Json::object();
    for (std::size_t j = 0; j < times.size(); ++j) {
      out[answer.jobs[j].name] = in_seconds(times[j]);
    }
    return out;
  };
  Json jobs = Json::array();
  for (std::size_t j = 0; j < answer.jobs.size(); ++j) {
    const PlacedJob& job = answer.jobs[j];
    const SharedJobResult& result = answer.result.jobs[j];
    Json steps = Json::array();
    for (const SimTime step : result.steps) {
      steps.push_back(in_seconds(to_seconds(step)));
    }
    jobs.push_back({{"name", job.name},
                    {"scenario", job.scenario},
                    {"gpus", job.gpus},
                    {"nodes", job.nodes},
                    {"start", in_seconds(job.start)},
                    {"step_time_alone", in_seconds(result.alone)},
                    {"step_time", in_seconds(result.together)},
                    {"slowdown", slowdown_of(result)},
                    {"lost_to", by_job(result.lost)},
                    {"steps", std::move(steps)}});
  }
  Json links = Json::array();
  for (const step::JobsLink& link : answer.result.links) {
    links.push_back({{"name", link.name},
                     {"alike", link.alike},
                     {"load", link.load},
                     {"lost", by_job(link.lost)}});
  }
  Json expectations = Json::array();
  for (const JobsExpectation& line : answer.expect) {
    const SharedJobResult& job = answer.result_of(line.job);
    expectations.push_back({{"text", line.text},
                            {"verdict", holds(line, job) ? "pass" : "fail"},
                            {"value", job_value(line.metric, job)}});
  }
  Json out{{"schema", "orrery-shared/1"},
           {"name", answer.name},
           {"file", answer.file},
           {"nodes", answer.nodes},
           {"steps", answer.steps},
           {"flows", answer.result.flows},
           {"jobs", std::move(jobs)},
           {"links", std::move(links)},
           {"expectations", std::move(expectations)}};
  if (!tried.empty()) {
    out["tried"] = report::rows_json(places_table(tried));
  }
  return json_text(out);
}

}  // namespace orrery::jobs
