// `orrery check`: does every scenario meet its `expect:` lines, and does it still answer what was
// accepted? For CI.

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/answer/evaluate/compare/baseline_file.hpp"
#include "sim/answer/report/text/text_report.hpp"
#include "sim/answer/report/text/verdict.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/text.hpp"
#include "sim/cli/check/check_reports.hpp"
#include "sim/cli/check/checked_file.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::cli {

namespace {

// Baselines of `check`: loading, comparing and updating the file of accepted answers.
//
// A baseline names scenarios by their path from its folder, so that it serves from any working
// directory. Updating keeps tolerances, and what was not checked this time while its file is there.

namespace fs = std::filesystem;

fs::path whole(const fs::path& path) {
  std::error_code error;
  fs::path found = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::absolute(path) : found;
}

bool is_checked(const CheckReport& report, const std::string& name) {
  return std::ranges::any_of(report.files, [&name](const CheckedFile& file) {
    return file.answer && file.answer->file == name;
  });
}

// Nothing after diagnostics on stderr. Throws Error(io).
std::optional<report::Baseline> load_baseline(const fs::path& path) {
  Diagnostics diagnostics;
  auto baseline = evaluate::read_baseline(path, diagnostics);
  message_block(to_string(diagnostics));
  return baseline;
}

// How a baseline at `path` calls this scenario file.
std::string baseline_name(const fs::path& path, const std::string& file) {
  return whole(file).lexically_relative(whole(path).parent_path()).generic_string();
}

// Fills `answer` and `change` of the files, and what is missing.
void compare_with_baseline(const report::Baseline& baseline, const fs::path& path,
                           CheckReport& report) {
  report.baseline = path.string();
  std::vector<std::string> broken;  // checked without an answer: said already
  for (CheckedFile& file : report.files) {
    const std::string name = baseline_name(path, file.file);
    if (!file.evaluation) {
      broken.push_back(name);
      continue;
    }
    file.answer = report::baseline_of(*file.evaluation, name);
    file.change = report::compare_with(baseline, *file.answer);
  }
  for (const report::BaselineScenario& scenario : baseline.scenarios) {
    const bool said = std::ranges::find(broken, scenario.file) != broken.end();
    if (!said && !is_checked(report, scenario.file)) {
      report.missing.push_back(scenario.file);
    }
  }
}

// The baseline with the answers of these files in place of its own.
report::Baseline updated_baseline(report::Baseline baseline, const fs::path& path,
                                  const std::vector<CheckedFile>& files) {
  std::vector<report::BaselineScenario>& kept = baseline.scenarios;
  for (const CheckedFile& file : files) {
    if (!file.evaluation) {
      continue;
    }
    report::BaselineScenario answer =
        report::baseline_of(*file.evaluation, baseline_name(path, file.file));
    const auto before = std::ranges::find_if(
        kept, [&answer](const auto& scenario) { return scenario.file == answer.file; });
    if (before == kept.end()) {
      kept.push_back(std::move(answer));
    } else {
      answer.tolerances = std::move(before->tolerances);
      *before = std::move(answer);
    }
  }
  const fs::path folder = whole(path).parent_path();
  kept.erase(std::remove_if(kept.begin(), kept.end(),
                            [&folder](const report::BaselineScenario& scenario) {
                              std::error_code error;
                              return !fs::exists(folder / scenario.file, error);
                            }),
             kept.end());
  std::ranges::sort(kept, [](const auto& a, const auto& b) { return a.file < b.file; });
  return baseline;
}

// A baseline of these files with the usual tolerances.
void write_new_baseline(const fs::path& path, const std::vector<CheckedFile>& files) {
  write_file_atomically(path, evaluate::to_yaml(updated_baseline({}, path, files)));
}

// Failures of `check` as annotations in a pull request: workflow commands of GitHub Actions.
//
//   ::error file=F,line=L,col=C,title=T::message
//
// In the message % CR LF become %25 %0D %0A, in properties : and , become %3A %2C as well (GitHub,
// "Workflow commands", and actions/toolkit). One command a line: every expectation that is not met
// and every diagnostic at its own line, a metric that moved at its file, a scenario that is missing
// at the baseline.

std::string escaped(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : printable_lines(text)) {
    switch (c) {
      case '%':
        out += "%25";
        break;
      case '\n':
        out += "%0A";
        break;
      case ':':
        out += is_property ? "%3A" : ":";
        break;
      case ',':
        out += is_property ? "%2C" : ",";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string command(std::string_view level, const SourceLocation& where, std::string_view title,
                    std::string_view message) {
  std::string text = fmt::format("::{} file={}", level, escaped(where.file, true));
  if (where.line > 0) {
    text += fmt::format(",line={}", where.line);
  }
  if (where.column > 0) {
    text += fmt::format(",col={}", where.column);
  }
  return text + fmt::format(",title={}::{}\n", escaped(title, true), escaped(message, false));
}

std::string diagnostic_commands(const CheckedFile& file) {
  std::string text;
  bool has_error = false;
  for (const Diagnostic& diagnostic : file.diagnostics.all()) {
    if (diagnostic.severity == Severity::note) {
      continue;
    }
    const bool is_error = diagnostic.severity == Severity::error;
    has_error = has_error || is_error;
    SourceLocation where = diagnostic.where;
    where.file = where.file.empty() ? file.file : where.file;
    text += command(is_error ? "error" : "warning", where,
                    diagnostic.key.empty() ? "scenario" : diagnostic.key,
                    diagnostic.allowed.empty()
                        ? diagnostic.message
                        : fmt::format("{} ({})", diagnostic.message, diagnostic.allowed));
  }
  if (!file.evaluation && !has_error) {
    text += command("error", {.file = file.file}, "scenario", file.problem);
  }
  return text;
}

std::string answer_commands(const CheckedFile& file) {
  std::string text;
  if (file.does_not_fit) {
    for (const std::string& reason : file.evaluation->reasons) {
      text += command("error", {.file = file.file}, "does not fit in memory", reason);
    }
  }
  for (const report::ExpectationResult& result : file.evaluation->expectations) {
    if (!result.passed()) {
      text += command("error", result.where, result.text, result.detail);
    }
  }
  if (file.change) {
    if (file.change->fits_changed) {
      text += command("error", {.file = file.file}, "baseline", change_of_file(*file.change));
    }
    for (const report::MetricChange& change : file.change->metrics) {
      if (change.failed()) {
        text += command("error", {.file = file.file}, "baseline", report::change_text(change));
      }
    }
  }
  return text;
}

std::string github_annotations(const CheckReport& report) {
  std::string text;
  for (const CheckedFile& file : report.files) {
    text += diagnostic_commands(file);
    if (file.evaluation) {
      text += answer_commands(file);
    }
  }
  for (const std::string& missing : report.missing) {
    text += command("error", {.file = report.baseline.value_or("")}, "baseline",
                    fmt::format("{} is in the baseline and was not checked", missing));
  }
  return text;
}

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
  return std::ranges::any_of(results, [](const report::ExpectationResult& result) {
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
      lines += fmt::format("{} {}: {}\n", painter.paint(Ink::bad, "MOVED    "), name,
                           report::change_text(metric));
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
      lines +=
          fmt::format("{} {}: does not fit in memory: {}\n", painter.paint(Ink::bad, "FAIL     "),
                      report::printable(file.file), reason);
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
  const report::TextPage painter(page_style(options.colour, options.output));
  std::string lines;
  for (const CheckedFile& file : report.files) {
    lines += verdict_lines(file, painter, options.evaluation.quiet);
  }
  for (const std::string& missing : report.missing) {
    lines += fmt::format("{} {}: in the baseline and not checked\n",
                         painter.paint(Ink::bad, "MISSING  "), report::printable(missing));
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
  message(fmt::format("{} of {} expectations met in {} file{}", all.met, all.all,
                      report.files.size(), report.files.size() == 1 ? "" : "s"));
  if (report.baseline) {
    message(fmt::format("baseline {}: {} scenario{} moved, {} new, {} missing", *report.baseline,
                        moved, moved == 1 ? "" : "s", added, report.missing.size()));
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
                    *options.write_baseline, *options.write_baseline));
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
    evaluate_file(file, options.evaluation, {.levers = false}, watch);
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
      .add_option("--baseline", options.baseline,
                  "Fail too when a metric moved by more than its tolerance from FILE "
                  "(usually 0.1 %, over trials 0.5 % and what chance explains; docs/ci.md)")
      ->type_name("FILE");
  command
      .add_option("--write-baseline", options.write_baseline,
                  "Write the answers as a new baseline to FILE")
      ->type_name("FILE");
  command.add_flag("--update-baseline", options.update_baseline,
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
  command->add_flag("--signature", options->signature,
                    "Print a hash of every answer, and one of all, in place of the lines");
  command->add_option("--junit", options->junit, "Write JUnit XML to FILE as well")
      ->type_name("FILE");
  command
      ->add_option("--markdown", options->markdown,
                   "Write a page for $GITHUB_STEP_SUMMARY or a comment to FILE as well")
      ->type_name("FILE");
  command
      ->add_option("--annotate", options->annotate,
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
  act_on(*command, action, options, check_files);
}

}  // namespace orrery::cli
