#pragma once

// Output of the commands: data to stdout or a file, messages to stderr.
//
// A write that fails is never silent: data that did not arrive is an Error(io), exit code 6. A
// closed pipe (`orrery ... | head`) is no news to its reader and ends without a message.

#include <cstddef>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/answer/report/text/text_page.hpp"
#include "sim/scenario/scenario.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

// The reader of stdout has gone.
class ClosedPipe : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "the reader of the output has gone";
  }
};

// To the file, atomically, or to stdout without one and where it is "-". Throws Error(io) or
// ClosedPipe.
void deliver(std::string_view data, const std::optional<std::filesystem::path>& file);

// One line on stderr, "orrery: <text>".
void message(std::string_view text);

// As it is on stderr; for diagnostics, which end in a newline.
void message_block(std::string_view text);

[[nodiscard]] bool is_terminal(int descriptor);

// Colour as told, or on a terminal without NO_COLOR and TERM=dumb; block characters in UTF-8
// locales.
[[nodiscard]] report::TextStyle text_style(std::optional<bool> colour, bool to_file);

// Keeps files that are opened later from becoming stdin, stdout or stderr, and turns a closed pipe
// into an error of the write that meets it. To be called first.
void prepare_streams();

// Threads get such a stack, whatever the limit of the shell.
inline constexpr std::size_t kStackBytes = std::size_t{8} << 20U;
void prepare_threads();

// Checks of output paths, before the work and again before writing.
//
// A file that the command reads is never its output, by whatever name (links, `..`, the name of a
// profile): the answer would replace the question. Nor is a profile of this program. A folder that
// is not there is found before hours of simulation.

// Looks at what was parsed: outputs (-o, --junit, --markdown, --write-baseline, --fragment,
// --failures, --journal) against each other and against every other word that names a file. Throws
// UsageError, led by the name of the command, or Error(io) where nothing can be written.
void check_outputs(const CLI::App& command, std::string_view name);

// The same for the files that a scenario names, and for all profiles beside it: it may name any.
void check_not_read(const std::optional<std::string>& output, const scenario::Scenario& scenario);

}  // namespace orrery::cli
