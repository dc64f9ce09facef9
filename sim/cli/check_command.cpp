// `orrery check`: does every scenario meet its `expect:` lines? For CI.

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <variant>

#include "sim/cli/commands.hpp"
#include "sim/cli/junit.hpp"
#include "sim/cli/shared_options.hpp"
#include "sim/report/json_report.hpp"
#include "sim/report/text_report.hpp"

namespace orrery::cli {

namespace {

using Json = nlohmann::ordered_json;

struct CheckOptions {
  std::vector<std::string> files;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
  std::optional<std::string> junit;
  std::string colour = "auto";
  bool json = false;
};

bool speaks_of_memory(const report::Evaluation& evaluation) {
  const auto& results = evaluation.expectations;
  return std::any_of(results.begin(), results.end(), [](const report::ExpectationResult& result) {
    const auto parsed = report::parse_expectation(result.text);
    const auto* node = std::get_if<report::ExpectNode>(&parsed);
    return node != nullptr && report::mentions_memory(*node);
  });
}

bool does_not_fit(const InputFile& file) {
  return file.evaluation && !file.evaluation->feasible && !speaks_of_memory(*file.evaluation);
}

ExitCode verdict_of(const InputFile& file) {
  if (!file.evaluation) {
    return file.code;
  }
  if (does_not_fit(file)) {
    return ExitCode::does_not_fit;
  }
  const auto& results = file.evaluation->expectations;
  const bool all_pass = std::all_of(
      results.begin(), results.end(), [](const auto& result) { return result.passed(); });
  return all_pass ? ExitCode::ok : ExitCode::expectation_failed;
}

std::string lines_of(const InputFile& file, const report::TextPage& painter, bool quiet) {
  std::string lines;
  if (!file.evaluation) {
    return lines;
  }
  if (does_not_fit(file)) {
    for (const std::string& reason : file.evaluation->reasons) {
      lines += fmt::format("{} {}: does not fit in memory: {}\n",
                           painter.paint(report::Ink::bad, "FAIL     "),
                           report::printable(file.name),
                           reason);
    }
  }
  for (const report::ExpectationResult& result : file.evaluation->expectations) {
    if (!quiet || !result.passed()) {
      lines += report::expectation_line(result, painter) + "\n";
    }
  }
  return lines;
}

Json json_of(const InputFile& file) {
  Json out = {{"file", file.name}, {"exit_code", static_cast<int>(verdict_of(file))}};
  if (!file.evaluation) {
    out["problem"] = file.problem;
    out["diagnostics"] = Json::parse(report::to_json(file.diagnostics));
    return out;
  }
  const Json evaluation = Json::parse(report::to_json(*file.evaluation));
  for (const char* key : {"feasible", "reasons", "expectations", "diagnostics"}) {
    out[key] = evaluation[key];
  }
  return out;
}

std::string to_json(const std::vector<InputFile>& files, ExitCode code) {
  Json list = Json::array();
  for (const InputFile& file : files) {
    list.push_back(json_of(file));
  }
  const Json out = {
      {"schema", "orrery-check/1"}, {"exit_code", static_cast<int>(code)}, {"files", list}};
  constexpr int kIndent = 2;
  return out.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

void say_summary(const std::vector<InputFile>& files) {
  std::size_t expected = 0;
  std::size_t met = 0;
  for (const InputFile& file : files) {
    if (!file.evaluation) {
      continue;
    }
    const auto& results = file.evaluation->expectations;
    if (results.empty()) {
      message(fmt::format("{}: nothing is expected", report::printable(file.name)));
    }
    expected += results.size();
    met += static_cast<std::size_t>(std::count_if(
        results.begin(), results.end(), [](const auto& result) { return result.passed(); }));
  }
  message(fmt::format("{} of {} expectations met in {} file{}",
                      met,
                      expected,
                      files.size(),
                      files.size() == 1 ? "" : "s"));
}

void write_junit(std::vector<InputFile>& files, const std::string& path) {
  std::vector<CheckedFile> checked;
  for (InputFile& file : files) {
    const bool too_big = does_not_fit(file);
    checked.push_back({.file = file.name,
                       .evaluation = std::move(file.evaluation),
                       .problem = file.problem,
                       .does_not_fit = too_big});
  }
  deliver(to_junit(checked), path);
}

ExitCode check_files(const CheckOptions& options) {
  std::vector<InputFile> files = load_files(options.files);
  const InterruptWatch watch;
  const report::TextPage painter(
      text_style(colour_choice(options.colour), options.output.has_value()));
  ExitCode code = ExitCode::ok;
  std::string lines;
  for (InputFile& file : files) {
    evaluate_file(file, options.evaluation, {}, watch);
    if (file.evaluation && !options.evaluation.quiet && !options.json) {
      message_block(to_string(file.diagnostics));
    }
    code = worse(code, verdict_of(file));
    lines += lines_of(file, painter, options.evaluation.quiet);
  }
  watch.check();
  deliver(options.json ? to_json(files, code) : lines, options.output);
  if (!options.evaluation.quiet) {
    say_summary(files);
  }
  if (options.junit) {
    write_junit(files, *options.junit);
  }
  return code;
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("check", "Judge the `expect:` lines of scenarios, for CI");
  const auto options = std::make_shared<CheckOptions>();
  command->add_option("FILE", options->files, "Scenarios; - reads one from stdin")->required();
  command->add_flag("--json", options->json, "orrery-check/1");
  command->add_option("--junit", options->junit, "Write JUnit XML to FILE as well")
      ->type_name("FILE");
  add_output_option(*command, options->output);
  add_evaluation_options(*command, options->evaluation);
  add_colour_option(*command, options->colour);
  command->footer(
      "Example:\n"
      "  orrery check --junit report.xml scenarios/*.yaml");
  command->callback([options, &action] { action = [options] { return check_files(*options); }; });
}

}  // namespace orrery::cli
