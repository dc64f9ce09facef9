#include "sim/cli/frame/output.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <pthread.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/answer/evaluate/inputs/named_files.hpp"
#include "sim/answer/evaluate/shipped_scenarios.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/text.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kOutputs = {
    "output", "junit", "markdown", "write-baseline", "fragment", "failures", "journal"};
constexpr std::string_view kStandardStream = "-";

bool is_output(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  return std::ranges::any_of(names, [](const std::string& name) {
    return std::ranges::find(kOutputs, name) != kOutputs.end();
  });
}

bool is_plain_file(const std::string& name) {
  std::error_code error;
  return fs::is_regular_file(name, error);
}

[[noreturn]] void refuse(std::string_view command, const std::string& file, std::string_view why) {
  throw UsageError(fmt::format("{}: {} {}: choose another file", command, file, why));
}

// Two names of one place, whether a file is there or not.
bool is_same_place(const std::string& one, const std::string& other) {
  std::error_code error;
  const auto place = [&error](const std::string& name) {
    return fs::weakly_canonical(fs::absolute(name, error), error);
  };
  return one == other || is_same_file(one, other) || place(one) == place(other);
}

// The words of a command: what it writes, and what may name a file that it reads.
struct Words {
  std::vector<std::string> outputs;
  std::vector<std::string> inputs;     // also the value of KEY=VALUE
  std::vector<std::string> scenarios;  // without an option in front, files or shipped names
  std::vector<fs::path> profiles;      // of --profiles
  bool of_scenario = false;            // the command answers for a scenario
};

Words words_of(const CLI::App& command) {
  Words words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& word : option->results()) {
      if (word.empty() || word == kStandardStream) {
        continue;
      }
      if (is_output(*option)) {
        words.outputs.push_back(word);
        continue;
      }
      words.inputs.push_back(word);
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) {
        words.inputs.push_back(word.substr(equals + 1));
      }
      if (option->get_positional()) {
        words.scenarios.push_back(word);
        words.of_scenario = words.of_scenario || option->get_name(true) == "SCENARIO" ||
                            option->get_type_name() == "SCENARIO";
      }
      if (option->check_lname("profiles")) {
        words.profiles.emplace_back(word);
      }
    }
  }
  return words;
}

// Whether a word names the file by the name of a profile, preset or shipped scenario.
bool is_found_by_name(const Words& words, const std::string& output) {
  const std::string name = fs::path(output).stem().string();
  const auto is_named = [&](const std::string& word) { return word == name; };
  const auto leads_there = [&](const std::string& word) {
    return is_same_file(output, evaluate::find_scenario(word).path);
  };
  if (std::ranges::any_of(words.scenarios, leads_there) ||
      (words.of_scenario && hardware::is_profile_in(words.profiles, output))) {
    return true;
  }
  if (std::ranges::none_of(words.inputs, is_named)) {
    return false;
  }
  std::vector<fs::path> directories = words.profiles;
  const std::string beside = words.scenarios.empty() ? std::string() : words.scenarios.front();
  for (const fs::path& directory : hardware::default_search(beside).directories) {
    directories.push_back(directory);
  }
  return hardware::is_profile_in(directories, output);
}

// False with errno set when not all of it arrived.
bool write_all(int descriptor, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(descriptor, data.data(), data.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return false;
    }
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (is_set(name)) {
      std::string value(std::getenv(name));
      for (char& c : value) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      }
      return value.find("UTF-8") != std::string::npos || value.find("UTF8") != std::string::npos;
    }
  }
  return false;
}

bool suits_colour(bool to_file) {
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  return !to_file && !dumb && !is_set("NO_COLOR") && is_terminal(STDOUT_FILENO);
}

}  // namespace

void check_outputs(const CLI::App& command, std::string_view name) {
  const Words words = words_of(command);
  for (auto output = words.outputs.begin(); output != words.outputs.end(); ++output) {
    if (is_plain_file(*output)) {
      const auto reads = [&](const std::string& word) { return is_same_file(*output, word); };
      if (std::ranges::any_of(words.inputs, reads) || is_found_by_name(words, *output)) {
        refuse(name, *output, "is read by this command");
      }
      if (hardware::is_profile_in(hardware::shipped_directories(), *output)) {
        refuse(name, *output, "is a profile of this program");
      }
    }
    const auto again = [&](const std::string& other) { return is_same_place(*output, other); };
    if (std::any_of(words.outputs.begin(), output, again) && output->rfind("/dev/", 0) != 0) {
      refuse(name, *output, "is written twice");
    }
    check_writable(*output);
  }
}

void check_not_read(const std::optional<std::string>& output, const scenario::Scenario& scenario) {
  if (!output || !is_plain_file(*output)) {
    return;
  }
  const auto refuse_as = [&](std::string_view what) {
    throw UsageError(fmt::format("{} {}: choose another file to write", *output, what));
  };
  for (const FileStamp& file : evaluate::named_files(scenario)) {
    if (is_same_file(*output, file.path)) {
      refuse_as("is read by the scenario");
    }
  }
  if (is_same_file(*output, scenario.file)) {
    refuse_as("is the scenario");
  }
  if (hardware::is_profile_in(hardware::default_search(scenario.file).directories, *output)) {
    refuse_as("is a profile that scenarios find by its name");
  }
}

void deliver(std::string_view data, const std::optional<std::filesystem::path>& file) {
  if (file && *file != "-") {
    write_file_atomically(*file, data);
    return;
  }
  if (write_all(STDOUT_FILENO, data)) {
    return;
  }
  if (errno == EPIPE) {
    throw ClosedPipe();
  }
  throw Error(ErrorKind::io, fmt::format("standard output: cannot write: {}", strerror(errno)));
}

void message(std::string_view text) {
  message_block(fmt::format("orrery: {}\n", printable_lines(text)));
}

void message_block(std::string_view text) {
  // There is nobody left to tell when stderr fails.
  static_cast<void>(write_all(STDERR_FILENO, text));
}

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

report::TextStyle text_style(std::optional<bool> colour, bool to_file) {
  return {.colour = colour ? *colour : suits_colour(to_file), .unicode = is_utf8_locale()};
}

void prepare_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
      // Opened against its direction, so that using it still fails. The lowest free number is this
      // one.
      static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));  // a file above the limit is an error to report
}

// A thread's stack is as large as the shell's limit says, which may be too little for any work.
void prepare_threads() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) == 0) {
    if (pthread_attr_setstacksize(&attributes, kStackBytes) == 0) {
      static_cast<void>(pthread_setattr_default_np(&attributes));
    }
    static_cast<void>(pthread_attr_destroy(&attributes));
  }
}

}  // namespace orrery::cli
