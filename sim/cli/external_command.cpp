#include "sim/cli/external_command.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/error.hpp"

namespace orrery::cli {

namespace {

constexpr std::array<ExternalCommand, 1> kCommands = {
    {{"fit", "Fit the coefficients of a software profile to measured steps", "Eigen 3"}}};

}  // namespace

std::span<const ExternalCommand> external_commands() {
  return kCommands;
}

void start_external_command(int argc, const char* const* argv) {
  if (argc < 2) {
    return;
  }
  const std::string_view word = argv[1];
  const auto* command = std::find_if(kCommands.begin(),
                                     kCommands.end(),
                                     [word](const ExternalCommand& c) { return c.name == word; });
  if (command == kCommands.end()) {
    return;
  }
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = (self.parent_path() / fmt::format("orrery-{}", word)).string();
  if (error || !std::filesystem::exists(program)) {
    throw Error(ErrorKind::io,
                fmt::format("{}: {} is not there; it is built where {} is installed",
                            word,
                            program,
                            command->needs));
  }
  std::vector<std::string> words = {program};
  words.insert(words.end(), argv + 2, argv + argc);
  std::vector<char*> arguments;
  for (std::string& text : words) {
    arguments.push_back(text.data());
  }
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  throw Error(ErrorKind::io,
              fmt::format("{}: {} cannot be started: {}", word, program, std::strerror(errno)));
}

}  // namespace orrery::cli
