// `orrery check`: does every scenario meet its `expect:` lines, and does it still answer what was
// accepted? For CI.

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <variant>

#include "sim/base/files/file.hpp"
#include "sim/cli/check/annotations.hpp"
#include "sim/cli/check/check_baseline.hpp"
#include "sim/cli/check/check_markdown.hpp"
#include "sim/cli/check/checked_file.hpp"
#include "sim/cli/check/junit.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/output_files.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/evaluate/compare/baseline_file.hpp"
#include "sim/report/text/text_report.hpp"
#include "sim/report/verdict.hpp"

namespace orrery::cli {

namespace {

using report::ChangeKind;
using report::Ink;

struct CheckOptions {
  std::vector<std::string> files;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
  std::optional<std::string> junit;
  std::optional<std::string> markdown;
  std::optional<std::string> baseline;
  std::optional<std::string> write_baseline;
  bool update_baseline = false;
  std::string annotate;
  std::string colour = "auto";
  bool json = false;
  bool signature = false;
};

bool speaks_of_memory(const report::Evaluation& evaluation) {
  const auto& results = evaluation.expectations;
  return std::any_of(results.begin(), results.end(), [](const report::ExpectationResult& result) {
    const auto parsed = report::parse_expectation(result.text);
    const auto* node = std::get_if<report::ExpectNode>(&parsed);
    return node != nullptr && report::mentions_memory(*node);
  });
}

CheckedFile checked(InputFile file) {
  CheckedFile result = {.file = file.name,
                        .evaluation = std::move(file.evaluation),
                        .problem = file.problem,
                        .diagnostics = std::move(file.diagnostics),
                        .code = file.code};
  result.does_not_fit =
      result.evaluation && !result.evaluation->feasible && !speaks_of_memory(*result.evaluation);
  if (result.evaluation && report::mostly_gave_up(*result.evaluation)) {  // nobody needs to ask
    result.evaluation->expectations.push_back({.text = "most trials reach the end",
                                               .verdict = report::Verdict::fail,
                                               .detail = report::gave_up_text(*result.evaluation),
                                               .value = {},
                                               .where = {result.file, 1, 1}});
  }
  return result;
}

std::string change_lines(const CheckedFile& file, const report::TextPage& painter, bool quiet) {
  std::string lines;
  const std::string name = report::printable(file.file);
  const report::ScenarioChange& change = *file.change;
  for (const report::MetricChange& metric : change.metrics) {
    if (metric.failed()) {
      lines += fmt::format(
          "{} {}: {}\n", painter.paint(Ink::bad, "MOVED    "), name, report::change_text(metric));
    } else if (!quiet && metric.kind != ChangeKind::same) {
      const std::string_view word = metric.kind == ChangeKind::chance ? "chance   " : "new      ";
      lines += fmt::format("{} {}: {}\n", word, name, report::change_text(metric));
    }
  }
  const std::string of_file = change_of_file(change);
  if (!of_file.empty() && (change.fits_changed || !quiet)) {
    const std::string word = change.fits_changed ? painter.paint(Ink::bad, "MOVED    ")
                             : change.is_new     ? "new      "
                                                 : "edited   ";
    lines += fmt::format("{} {}: {}\n", word, name, of_file);
  }
  return lines;
}

std::string verdict_lines(const CheckedFile& file, const report::TextPage& painter, bool quiet) {
  std::string lines;
  if (!file.evaluation) {
    return lines;
  }
  if (file.does_not_fit) {
    for (const std::string& reason : file.evaluation->reasons) {
      lines += fmt::format("{} {}: does not fit in memory: {}\n",
                           painter.paint(Ink::bad, "FAIL     "),
                           report::printable(file.file),
                           reason);
    }
  }
  for (const report::ExpectationResult& result : file.evaluation->expectations) {
    if (!quiet || !result.passed()) {
      lines += report::expectation_line(result, painter) + "\n";
    }
  }
  return file.change ? lines + change_lines(file, painter, quiet) : lines;
}

std::string to_text(const CheckReport& report, const CheckOptions& options) {
  const report::TextPage painter(
      text_style(colour_choice(options.colour), options.output.has_value()));
  std::string lines;
  for (const CheckedFile& file : report.files) {
    lines += verdict_lines(file, painter, options.evaluation.quiet);
  }
  for (const std::string& missing : report.missing) {
    lines += fmt::format("{} {}: in the baseline and not checked\n",
                         painter.paint(Ink::bad, "MISSING  "),
                         report::printable(missing));
  }
  return lines;
}

void say_summary(const CheckReport& report) {
  Tally all;
  std::size_t moved = 0;
  std::size_t added = 0;
  for (const CheckedFile& file : report.files) {
    const Tally tally = tally_of(file);
    if (file.evaluation && tally.all == 0) {
      message(fmt::format("{}: nothing is expected", report::printable(file.file)));
    }
    all.met += tally.met;
    all.all += tally.all;
    moved += file.change && file.change->failed() ? 1U : 0U;
    added += file.change && file.change->is_new ? 1U : 0U;
  }
  message(fmt::format("{} of {} expectations met in {} file{}",
                      all.met,
                      all.all,
                      report.files.size(),
                      report.files.size() == 1 ? "" : "s"));
  if (report.baseline) {
    message(fmt::format("baseline {}: {} scenario{} moved, {} new, {} missing",
                        *report.baseline,
                        moved,
                        moved == 1 ? "" : "s",
                        added,
                        report.missing.size()));
  }
}

void check_usage(const CheckOptions& options) {
  if (options.update_baseline && !options.baseline) {
    throw UsageError("check: --update-baseline needs --baseline FILE");
  }
  if (options.write_baseline && options.baseline) {
    throw UsageError("check: --write-baseline makes a new baseline, --baseline compares with one");
  }
  if (options.write_baseline && std::filesystem::exists(*options.write_baseline)) {
    throw UsageError(
        fmt::format("check: {} exists; --baseline {} --update-baseline keeps its tolerances",
                    *options.write_baseline,
                    *options.write_baseline));
  }
}

// All answers; on a terminal the diagnostics come as they are found.
CheckReport evaluate_all(const CheckOptions& options, const InterruptWatch& watch) {
  std::vector<InputFile> files = load_files(options.files, options.evaluation);
  CheckReport report;
  for (InputFile& file : files) {
    if (file.scenario) {
      for (const auto& output : {options.output, options.junit, options.markdown}) {
        check_not_read(output, *file.scenario);
      }
    }
    evaluate_file(file, options.evaluation, {}, watch);
    if (file.evaluation && !options.evaluation.quiet && !options.json) {
      message_block(to_string(file.diagnostics));
    }
    report.files.push_back(checked(std::move(file)));
  }
  watch.check();
  return report;
}

void write_reports(const CheckReport& report, const CheckOptions& options) {
  deliver(options.json        ? to_json(report)
          : options.signature ? signature_lines(report)
                              : to_text(report, options),
          options.output);
  if (!options.evaluation.quiet) {
    say_summary(report);
  }
  if (options.junit) {
    deliver(to_junit(report), options.junit);
  }
  if (options.markdown) {
    deliver(to_markdown(report), options.markdown);
  }
  if (options.annotate == "github") {
    message_block(github_annotations(report));
  }
}

// With --update-baseline what moved has been accepted.
void accept(CheckReport& report, const report::Baseline& baseline, const std::string& path) {
  write_file_atomically(path, evaluate::to_yaml(updated_baseline(baseline, path, report.files)));
  message(fmt::format("{} updated", path));
  for (CheckedFile& file : report.files) {
    file.change.reset();
  }
  report.missing.clear();
}

ExitCode check_files(const CheckOptions& options, const InterruptWatch& watch) {
  check_usage(options);
  std::optional<report::Baseline> baseline;
  if (options.baseline) {
    baseline = load_baseline(*options.baseline);
    if (!baseline) {
      return ExitCode::invalid;
    }
  }
  CheckReport report = evaluate_all(options, watch);
  if (baseline) {
    compare_with_baseline(*baseline, *options.baseline, report);
  }
  write_reports(report, options);
  if (options.write_baseline) {
    write_new_baseline(*options.write_baseline, report.files);
  }
  if (options.update_baseline) {
    accept(report, *baseline, *options.baseline);
  }
  return report.code();
}

void add_baseline_options(CLI::App& command, CheckOptions& options) {
  command
      .add_option("--baseline",
                  options.baseline,
                  "Fail too when a metric moved by more than its tolerance from FILE "
                  "(usually 0.1 %, over trials 0.5 % and what chance explains; docs/ci.md)")
      ->type_name("FILE");
  command
      .add_option(
          "--write-baseline", options.write_baseline, "Write the answers as a new baseline to FILE")
      ->type_name("FILE");
  command.add_flag("--update-baseline",
                   options.update_baseline,
                   "Accept what moved: write the answers into --baseline, keep its tolerances");
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "check", "Judge the `expect:` lines of scenarios, and what moved since a baseline, for CI");
  const auto options = std::make_shared<CheckOptions>();
  command
      ->add_option("SCENARIO", options->files, "Scenarios: files or shipped names; - reads stdin")
      ->required();
  command->add_flag("--json", options->json, "orrery-check/1");
  command->add_flag("--signature",
                    options->signature,
                    "Print a hash of every answer, and one of all, in place of the lines");
  command->add_option("--junit", options->junit, "Write JUnit XML to FILE as well")
      ->type_name("FILE");
  command
      ->add_option("--markdown",
                   options->markdown,
                   "Write a page for $GITHUB_STEP_SUMMARY or a comment to FILE as well")
      ->type_name("FILE");
  command
      ->add_option("--annotate",
                   options->annotate,
                   "Say failures on stderr so that they show at their lines: github")
      ->check(CLI::IsMember({"github"}))
      ->type_name("WHERE");
  add_baseline_options(*command, *options);
  add_output_option(*command, options->output);
  add_evaluation_options(*command, options->evaluation);
  add_colour_option(*command, options->colour);
  command->footer(
      "Examples:\n"
      "  orrery check --junit report.xml scenarios/*.yaml\n"
      "  orrery check --write-baseline baseline.yaml scenarios/*.yaml\n"
      "  orrery check --baseline baseline.yaml --markdown summary.md scenarios/*.yaml");
  command->callback([options, &action] {
    action = [options](InterruptWatch& watch) { return check_files(*options, watch); };
  });
}

}  // namespace orrery::cli
