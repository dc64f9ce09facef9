#include "sim/cli/frame/external_command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/cli/frame/child_process.hpp"
#include "sim/import_config/import_config.hpp"

namespace orrery::cli {

namespace {

constexpr std::array<ExternalCommand, 4> kCommands = {
    {{"calibrate", "Measure the kernels of a training step on this GPU", "Eigen 3"},
     {"fit", "Fit the coefficients of a software profile to measured steps", "Eigen 3"},
     {"gui", "Edit scenarios and see their answer in a window", "Qt 6"},
     {"report", "One page with figures and charts: HTML, PDF or SVG", "Qt 6", "orrery-gui"}}};

// Becomes the program of this name that stands beside this one. `absent`: the message when there is
// none, with {} for its name.
void become(const std::string& name, const std::vector<std::string>& arguments,
            const std::string& absent) {
  const auto program = program_beside(name);
  if (!program) {
    throw Error(ErrorKind::io, fmt::format(fmt::runtime(absent), name));
  }
  become_program(*program, arguments);
}

// `orrery validate --hardware PROFILE ...` is `orrery-calibrate --validate PROFILE ...`; empty for
// other command lines.
std::vector<std::string> hardware_validation(int argc, const char* const* argv) {
  constexpr std::string_view kAsked = "--hardware";
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.front() != "validate") {
    return {};
  }
  words.erase(words.begin());
  const auto asked = std::ranges::find_if(words, [kAsked](const std::string& word) {
    return word == kAsked || word.starts_with(std::string(kAsked) + "=");
  });
  if (asked == words.end()) {
    return {};
  }
  asked->replace(0, kAsked.size(), "--validate");
  return words;
}

enum class Content { configuration, benchmark, neither };

// Whose file it is: of the part of `import` that reads configurations and logs of training, or of
// the one that reads benchmarks and traces.
Content content_of(const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(name, error)) {
    return Content::neither;
  }
  constexpr std::array<std::string_view, 5> kBenchmarks = {"busbw", "nvbandwidth", "memcpy",
                                                           "\"traceEvents\"", "\"ph\""};
  const std::string text = import_config::read_plain_text(name);
  if (import_config::recognise(text) || import_config::is_python(text)) {
    return Content::configuration;
  }
  const bool benchmark = name.ends_with(".json.gz") ||
                         std::ranges::any_of(kBenchmarks, [&text](std::string_view word) {
                           return text.find(word) != std::string::npos;
                         });
  return benchmark ? Content::benchmark : Content::neither;
}

// The words of `import` for the program that reads logs; nothing when they are for this one. What
// --format names decides, else the content of the files.
std::optional<std::vector<std::string>> log_import(std::vector<std::string> words) {
  constexpr std::array<std::string_view, 4> kTakeFiles = {"-o", "--output", "--fragment", "--rig"};
  constexpr std::string_view kFormat = "--format";
  bool any = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("--pattern")) {
      return std::nullopt;
    }
    const bool joined = word.starts_with(std::string(kFormat) + "=");
    if (joined || (word == kFormat && i + 1 < words.size())) {
      const std::string name = joined ? word.substr(kFormat.size() + 1) : words[i + 1];
      if (name != "nccl-tests" && name != "nvbandwidth" && name != "trace") {
        return std::nullopt;
      }
      const auto at = words.begin() + static_cast<std::ptrdiff_t>(i);
      words.erase(at, at + (joined ? 1 : 2));
      return words;
    }
    const bool value = i > 0 && std::ranges::find(kTakeFiles, words[i - 1]) != kTakeFiles.end();
    const Content content = value || word.starts_with("-") ? Content::neither : content_of(word);
    if (word == "-" || content == Content::configuration) {
      return std::nullopt;
    }
    any = any || content == Content::benchmark;  // else what is in the way is said here
  }
  return any ? std::optional(std::move(words)) : std::nullopt;
}

// As the launchers of Open MPI, and of MPICH and its kin, tell their processes.
int process_count() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) {
      return std::atoi(value);
    }
  }
  return 1;
}

}  // namespace

std::span<const ExternalCommand> external_commands() { return kCommands; }

std::string program_name(const ExternalCommand& command) {
  return command.program.empty() ? fmt::format("orrery-{}", command.name)
                                 : std::string(command.program);
}

void start_external_command(int argc, const char* const* argv) {
  if (argc < 2) {
    return;
  }
  const std::vector<std::string> validation = hardware_validation(argc, argv);
  if (!validation.empty()) {
    become("orrery-calibrate", validation, "validate --hardware: {} is not there");
  }
  const std::string_view word = argv[1];
  const auto* command = std::ranges::find(kCommands, word, &ExternalCommand::name);
  if (command == kCommands.end()) {
    return;
  }
  std::vector<std::string> arguments(argv + 2, argv + argc);
  const bool shared = !command->program.empty();
  if (shared) {
    arguments.insert(arguments.begin(), fmt::format("--{}", word));
  }
  become(program_name(*command), arguments,
         fmt::format("{}: {{}} is not there; it is built where {} is installed", word,
                     command->needs));
}

void start_log_import(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]) != "import") {
    return;
  }
  if (const auto words = log_import(std::vector<std::string>(argv + 2, argv + argc))) {
    become("orrery-import", *words, "import: {} is not there, which reads logs of benchmarks");
  }
}

void start_mpi_program(int argc, const char* const* argv) {
  const auto processes = process_count();
  const std::string_view word = argc < 2 ? std::string_view() : std::string_view(argv[1]);
  if ((word != "sweep" && word != "plan") || processes < 2) {
    return;
  }
  become("orrery-mpi", std::vector<std::string>(argv + 1, argv + argc),
         fmt::format("{}: started as one of {} processes, but {{}} is not there; it is built "
                     "where Open MPI is installed",
                     word, processes));
}

}  // namespace orrery::cli
