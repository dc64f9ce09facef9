#pragma once

// The configuration files and logs of another training stack as a scenario.
//
//   const ImportResult result = import_configs(files, options, diagnostics);
//   // result.scenario is the text of a scenario; result.asked says what no file states
//
// Formats and the words that tell them: scenarios/imports/formats.signs; logs: log-programs.yaml.
//
// Several files may be combined; what two of them state must agree. Nothing is executed: of a shell
// script, assignments, arrays and simple conditions are read, all else is reported.
//
// What no file says and cannot be assumed is asked for: the key stands in the text without a value,
// so that the reader of scenarios refuses it, and in ImportResult::asked. Errors of the files go to
// the diagnostics with file, line and column; then there is no text.

#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/imported.hpp"

namespace orrery::import_config {

[[nodiscard]] ImportResult import_configs(std::span<const ConfigFile> files,
                                          const ImportOptions& options, Diagnostics& diagnostics);

// What a log itself says of its job: no defaults, nothing assumed; of its GPU where that is not
// `gpu`, a profile.
[[nodiscard]] std::vector<ImportedSetting> said_by_log(const ConfigFile& log,
                                                       const std::string& gpu);

// The begin of a file of another program, enough to recognise it, without the colours of a
// terminal. Throws Error(io) when it cannot be read.
[[nodiscard]] std::string read_plain_text(const std::filesystem::path& path);

struct FileReading {
  std::optional<ConfigFormat> format = std::nullopt;  // nothing: recognised
  std::string pattern = {};  // of the lines of a log that tell of a step (log_programs.hpp)
  std::stop_token stop = {};
};

// The file with its text; a log is read in one pass, whatever its length. Another file above
// kMostBytes is a diagnostic. Throws Error(io) when it cannot be read, Error(interrupted) after a
// request to stop.
[[nodiscard]] std::optional<ConfigFile> read_config_file(const std::filesystem::path& path,
                                                         Diagnostics& diagnostics,
                                                         const FileReading& reading = {});

// What was read, defaulted, assumed, left out and is asked for: for people, and as JSON
// (orrery-config-import/1).
[[nodiscard]] std::string report_text(const ImportResult& result);
[[nodiscard]] std::string report_json(const ImportResult& result, const Diagnostics& diagnostics);

}  // namespace orrery::import_config
