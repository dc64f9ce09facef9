#include "sim/cli/frame/evaluating.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/shipped_scenarios.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/files/stop_point.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"
#include "sim/cli/frame/progress.hpp"
#include "sim/scenario/edit_text.hpp"
#include "sim/scenario/load.hpp"

namespace orrery::cli {

namespace {

constexpr std::string_view kStandardInput = "-";

// A little more than the reader accepts, so that it is the reader that refuses what is too long.
constexpr std::size_t kMostInput = std::size_t{8} << 20U;

std::optional<scenario::Scenario> load(const std::string& name, const EvaluationOptions& options,
                                       Diagnostics& diagnostics) {
  const bool from_input = name == kStandardInput;
  const std::string shown = from_input ? "<stdin>" : name;
  const hardware::ProfileSearch search = search_for(shown, options);
  if (options.settings.empty()) {
    static_cast<void>(keeps_data(options));  // refuses other keys, whether --set is there or not
    return from_input ? scenario::load_text(read_standard_input(), shown, diagnostics, search)
                      : scenario::load_file(name, diagnostics, search);
  }
  constexpr std::size_t kMostBytes = std::size_t{8} << 20U;
  const auto text = with_settings(from_input ? read_standard_input() : read_file(name, kMostBytes),
                                  shown, options, diagnostics);
  return text ? scenario::load_text(*text, shown, diagnostics, search) : std::nullopt;
}

void fail(InputFile& file, ExitCode code) {
  file.code = code;
  file.problem = first_error(file.diagnostics);
  message_block(to_string(file.diagnostics));
}

ExitCode unreadable_code(ErrorKind kind) {
  return kind == ErrorKind::device ? ExitCode::device : ExitCode::io;
}

void fail(InputFile& file, const Error& error) {
  if (error.kind() == ErrorKind::interrupted) {
    throw error;
  }
  file.code = unreadable_code(error.kind());
  file.problem = error.what();
  message(error.what());
}

}  // namespace

std::string first_error(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity == Severity::error) {
      return to_string(diagnostic);
    }
  }
  return {};
}

hardware::ProfileSearch search_for(const std::string& file, const EvaluationOptions& options) {
  hardware::ProfileSearch search = evaluate::profile_search(file, options.profiles);
  search.allow_foreign = options.allow_foreign;
  return search;
}

hardware::NetworkSpec network_named(const std::string& name, std::string_view command,
                                    const std::vector<std::filesystem::path>& profiles) {
  const scenario::PresetLibrary library(evaluate::profile_search({}, profiles));
  Diagnostics diagnostics;
  if (const auto preset = library.find(scenario::PresetKind::networks, name, diagnostics)) {
    return preset->network;
  }
  message_block(to_string(diagnostics));
  throw UsageError(fmt::format("{}: --network: `{}` is no network preset ({})", command, name,
                               fmt::join(library.names(scenario::PresetKind::networks), ", ")));
}

std::string read_standard_input() {
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  while (text.size() < kMostInput) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      throw Error(ErrorKind::io, std::string("standard input: cannot read: ") + strerror(errno));
    }
    if (count == 0) {
      break;
    }
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::string scenario_file(const std::string& word, bool quiet) {
  const evaluate::FoundScenario found = evaluate::find_scenario(word);
  if (!found.problem.empty()) {
    throw Error(ErrorKind::io, found.problem);
  }
  if (found.shipped && !quiet) {
    message(fmt::format("{} is {}", word, found.path.string()));
  }
  return found.path.string();
}

std::vector<scenario::KeyValue> settings_of(const std::vector<std::string>& texts) {
  std::vector<scenario::KeyValue> settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size() ||
        text.find_first_of("\r\n") != std::string::npos) {
      throw UsageError(fmt::format("--set: `{}` is no KEY=VALUE, such as batch.global=256", text));
    }
    settings.push_back({text.substr(0, equals), text.substr(equals + 1), {"--set", 0, 0}});
  }
  return settings;
}

bool keeps_data(const EvaluationOptions& options) {
  for (const std::string& key : options.kept) {
    Diagnostics unused;
    const auto facts = scenario::find_key(key, {}, unused);
    if (!facts || facts->path != "layout.data") {
      throw UsageError(fmt::format("--keep {}: follows no other key; layout.data does", key));
    }
  }
  return !options.kept.empty();
}

std::optional<std::string> with_settings(std::string text, const std::string& name,
                                         const EvaluationOptions& options,
                                         Diagnostics& diagnostics) {
  const std::vector<scenario::KeyValue> settings = settings_of(options.settings);
  if (settings.empty()) {
    return text;
  }
  auto changed = scenario::with_keys(text, settings, diagnostics);
  if (changed && !keeps_data(options)) {
    scenario::drop_outdated_data(*changed, settings, name, search_for(name, options), diagnostics);
  }
  return changed;
}

std::vector<InputFile> load_files(const std::vector<std::string>& names,
                                  const EvaluationOptions& options) {
  std::vector<InputFile> files;
  for (const std::string& word : names) {
    InputFile file;
    file.name = word;
    try {
      file.name = scenario_file(word, options.quiet);
      file.scenario = load(file.name, options, file.diagnostics);
      if (!file.scenario) {
        fail(file, ExitCode::invalid);
      }
    } catch (const Error& error) {
      fail(file, error);
    }
    files.push_back(std::move(file));
  }
  return files;
}

void evaluate_file(InputFile& file, const EvaluationOptions& options,
                   evaluate::EvaluateOptions needs, const InterruptWatch& watch) {
  if (!file.scenario) {
    return;
  }
  stop_point(watch.token());
  ProgressLine progress(file.name, !options.quiet);
  needs.threads = options.threads;
  needs.trials = options.trials;
  needs.seed = options.seed;
  needs.stop = watch.token();
  needs.progress = [&progress](std::int64_t done, std::int64_t all) { progress.update(done, all); };
  try {
    const hardware::ProfileSearch search = search_for(file.scenario->file, options);
    needs.search = search;
    file.evaluation = evaluate::evaluate(*file.scenario, needs, file.diagnostics);
    if (!file.evaluation) {
      const bool lacking = evaluate::lacks_profile(*file.scenario, search);
      fail(file, lacking ? ExitCode::device : ExitCode::invalid);
    }
  } catch (const Error& error) {
    fail(file, error);
  }
}

}  // namespace orrery::cli
