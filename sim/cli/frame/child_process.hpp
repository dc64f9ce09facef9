#pragma once

// Running the programs installed beside this one: replacing this process, or capturing the output.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

// The program of this name in the folder of this one; nothing when there is none.
[[nodiscard]] std::optional<std::filesystem::path> program_beside(std::string_view name);

// Becomes the program and does not return. Throws Error(io) when it cannot be started.
[[noreturn]] void become_program(const std::filesystem::path& program,
                                 const std::vector<std::string>& arguments);

// Its standard output, when it ends with exit code 0 within the time; it is ended after that. Its
// messages are dropped.
[[nodiscard]] std::optional<std::string> output_of(const std::filesystem::path& program,
                                                   const std::vector<std::string>& arguments,
                                                   int most_seconds = 20);

// The shared libraries of the program that the loader does not find here; without them it cannot
// be started.
[[nodiscard]] std::vector<std::string> missing_libraries(const std::filesystem::path& program);

}  // namespace orrery::cli
