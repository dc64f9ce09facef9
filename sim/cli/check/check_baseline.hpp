#pragma once

// Baselines of `check`: loading, comparing and updating the file of accepted answers.
//
// A baseline names scenarios by their path from its folder, so that it serves from any working
// directory. Updating keeps tolerances, and what was not checked this time while its file is there.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/check/checked_file.hpp"

namespace orrery::cli {

// Nothing after diagnostics on stderr. Throws Error(io).
[[nodiscard]] std::optional<report::Baseline> load_baseline(const std::filesystem::path& path);

// How a baseline at `path` calls this scenario file.
[[nodiscard]] std::string baseline_name(const std::filesystem::path& path, const std::string& file);

// Fills `answer` and `change` of the files, and what is missing.
void compare_with_baseline(const report::Baseline& baseline,
                           const std::filesystem::path& path,
                           CheckReport& report);

// The baseline with the answers of these files in place of its own.
[[nodiscard]] report::Baseline updated_baseline(report::Baseline baseline,
                                                const std::filesystem::path& path,
                                                const std::vector<CheckedFile>& files);

// A baseline of these files with the usual tolerances.
void write_new_baseline(const std::filesystem::path& path, const std::vector<CheckedFile>& files);

}  // namespace orrery::cli
