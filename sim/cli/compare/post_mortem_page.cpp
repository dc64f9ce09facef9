#include "sim/cli/compare/post_mortem_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/answer/evaluate/compare/post_mortem.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/import_config/logs/log_outages.hpp"

namespace orrery::cli {

namespace {

using evaluate::LoggedRun;
using evaluate::PostMortem;
using import_config::LoggedOutages;

// The figures of the log that the post-mortem asks for.
LoggedRun logged_run(const LoggedOutages& found) {
  std::vector<double> times;
  double sum = 0.0;
  for (const import_config::StepTime& step : found.kept) {
    times.push_back(step.seconds);
    sum += step.seconds;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  const auto until = [&found](std::int64_t from) {
    return static_cast<double>(found.kept.back().number - from + found.interval);
  };
  LoggedRun run;
  run.wall = found.length;
  run.steps = until(found.kept.front().number);
  run.trained = seconds(sum / static_cast<double>(times.size())) * run.steps;
  run.median = seconds(*middle);
  if (const auto slower = import_config::slower_steps(found.kept)) {
    run.median = slower->before;
    run.slower_from = slower->from;
    run.slower_median = slower->since;
    run.slower_steps = until(slower->from);
  }
  for (const import_config::LoggedOutage& outage : found.outages) {
    const bool limps = run.slower_steps > 0.0 && outage.step >= run.slower_from;
    const Seconds again =
        (limps ? run.slower_median : run.median) * static_cast<double>(outage.lost_steps);
    if (outage.anew) {
      ++run.restarts;
      run.out_of_work += outage.outage;
      run.done_again += again;
    } else {
      ++run.rewinds;
      run.rewound += outage.outage + again;
    }
  }
  return run;
}

std::string headline(const PostMortemQuestion& asked, const LoggedRun& run,
                     const PostMortem& found) {
  const bool less = found.over_plan < Seconds{};
  const Seconds apart = less ? -found.over_plan : found.over_plan;
  const auto dollars =
      found.price ? fmt::format(" and {}", format_money(*found.price * apart)) : "";
  return fmt::format("{}: {} for {:.0f} steps, {}{} {} than the plan of {}; {} restart{}",
                     fmt::join(asked.logs, ", "), format_time(found.wall), run.steps,
                     format_time(apart), dollars, less ? "less" : "more", asked.scenario,
                     run.restarts, run.restarts == 1 ? "" : "s");
}

std::vector<std::string> advice_lines(const PostMortem& found) {
  std::vector<std::string> lines;
  for (const evaluate::Advice& advice : found.advice) {
    lines.push_back(fmt::format("{}: {}", advice.key, advice.text));
    if (advice.saved) {
      lines.back() +=
          fmt::format("; {:.1f} h{}", in_hours(*advice.saved),
                      advice.dollars ? fmt::format(", {}", format_money(*advice.dollars)) : "");
    }
  }
  return lines;
}

constexpr std::string_view kCauses =
    "A log holds no causes: a restart after a failure and one by hand are the same.";

std::string text_of(const std::string& head, const PostMortem& found, report::TextStyle style) {
  report::TextPage page(style);
  page.title(head);
  std::string text = page.text() + "\n" + report::to_text(table_of(found), page) + "\n";
  report::TextPage advice(style);
  bool first = true;
  for (const std::string& line : advice_lines(found)) {
    first ? advice.section("next run", line, false) : advice.line(line, 2);
    first = false;
  }
  return fmt::format("{}{}{}\n", text, advice.text(), kCauses);
}

std::string json_of(const PostMortemQuestion& asked, const LoggedRun& run,
                    const PostMortem& found) {
  return json_text(
      {{"schema", "orrery-post-mortem/1"},
       {"scenario", asked.scenario},
       {"logs", asked.logs},
       {"wall_s", found.wall},
       {"over_plan_s", found.over_plan},
       {"steps", run.steps},
       {"restarts", run.restarts},
       {"slower_from_step", run.slower_steps > 0.0 ? std::optional(run.slower_from) : std::nullopt},
       {"causes", report::rows_json(table_of(found))},
       {"advice", json_list(found.advice, [](const evaluate::Advice& advice) {
          return Json{{"key", advice.key},
                      {"text", advice.text},
                      {"saved_s", advice.saved},
                      {"saved_dollars", advice.dollars}};
        })}});
}

std::string html_of(const std::string& head, const PostMortem& found) {
  std::string list;
  for (const std::string& line : advice_lines(found)) {
    list += fmt::format("<li>{}</li>\n", report::xml_text(line));
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
      "charset=\"utf-8\"><title>Post-mortem</title>\n"
      "<style>:root{{color-scheme:light dark}}body{{font-family:sans-serif;margin:24px}}"
      "table{{border-collapse:collapse}}td,th{{padding:3px 16px 3px 0;text-align:right}}"
      "td:first-child,th:first-child{{text-align:left}}</style></head>\n"
      "<body><h1>Post-mortem</h1>\n<p>{}</p>\n{}<h2>What the next run should change</h2>\n<ul>\n{}"
      "</ul>\n<p>{}</p></body></html>\n",
      report::xml_text(head), report::to_html(table_of(found)), list, kCauses);
}

std::string page_of(const PostMortemQuestion& asked, const LoggedRun& run,
                    const PostMortem& found) {
  const std::string extension =
      std::filesystem::path(asked.output.value_or(std::string())).extension().string();
  if (asked.json || extension == ".json") {
    return json_of(asked, run, found);
  }
  if (extension == ".csv") {
    return report::to_csv(table_of(found));
  }
  const std::string head = headline(asked, run, found);
  return extension == ".html" || extension == ".htm" ? html_of(head, found)
                                                     : text_of(head, found, asked.style);
}

}  // namespace

ExitCode report_post_mortem(const PostMortemQuestion& asked, const InterruptWatch& watch) {
  Diagnostics diagnostics;
  std::vector<import_config::ConfigFile> logs;
  for (const std::string& name : asked.logs) {
    if (auto log =
            import_config::read_config_file(name, diagnostics, {std::nullopt, {}, watch.token()})) {
      logs.push_back(*std::move(log));
    }
  }
  const LoggedOutages outages = import_config::outages_of_logs(logs);
  if (!diagnostics.has_errors() && (outages.kept.size() < 2 || outages.length <= Seconds{})) {
    diagnostics.error({asked.logs.front(), 0, 0}, {},
                      "holds no two steps with dates: where the time went cannot be told",
                      "a log whose lines of steps begin with a date");
  }
  if (diagnostics.has_errors()) {
    message_block(to_string(diagnostics));
    return ExitCode::invalid;
  }
  InputFile file = std::move(load_files({asked.scenario}, asked.evaluation).front());
  if (file.scenario) {
    check_not_read(asked.output, *file.scenario);
  }
  evaluate_file(file, asked.evaluation, {.levers = true}, watch);
  if (!file.evaluation) {
    return file.code;
  }
  const LoggedRun run = logged_run(outages);
  deliver(page_of(asked, run, evaluate::post_mortem(run, *file.evaluation)), asked.output);
  return ExitCode::ok;
}

}  // namespace orrery::cli
