#pragma once

// What does the log of each program say? One pair of functions per flavour, each in its own file;
// training_log.cpp has them in a table. Internal to import_config/.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::import_config {

// The settings under the names that the reader of the format knows; nothing after an error.
using LogSettingsReader = std::optional<yaml::Value> (*)(std::string_view text,
                                                         const std::string& file,
                                                         Diagnostics& diagnostics);

// The steps whose time is printed, in order.
using LogStepsReader = std::vector<LoggedStep> (*)(std::string_view text, const std::string& file);

[[nodiscard]] std::optional<yaml::Value> megatron_log_settings(std::string_view text,
                                                               const std::string& file,
                                                               Diagnostics& diagnostics);
[[nodiscard]] std::vector<LoggedStep> megatron_log_steps(std::string_view text,
                                                         const std::string& file);

[[nodiscard]] std::optional<yaml::Value> torchtitan_log_settings(std::string_view text,
                                                                 const std::string& file,
                                                                 Diagnostics& diagnostics);
[[nodiscard]] std::vector<LoggedStep> torchtitan_log_steps(std::string_view text,
                                                           const std::string& file);

}  // namespace orrery::import_config
