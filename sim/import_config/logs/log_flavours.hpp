#pragma once

// The settings that the log of a program prints in a form of its own: a function for each, in its
// own file. Internal to import_config/.

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/logs/log_scan.hpp"
#include "sim/import_config/logs/training_log.hpp"

namespace orrery::import_config {

// By the row or the function of the format; none where its log holds facts alone.
[[nodiscard]] std::vector<LogPart> settings_of_text(ConfigFormat format,
                                                    std::string_view text,
                                                    const std::string& file,
                                                    Diagnostics& diagnostics);

[[nodiscard]] std::vector<LogPart> megatron_log_settings(std::string_view text,
                                                         const std::string& file,
                                                         Diagnostics& diagnostics);
[[nodiscard]] std::vector<LogPart> torchtitan_log_settings(std::string_view text,
                                                           const std::string& file,
                                                           Diagnostics& diagnostics);
[[nodiscard]] std::vector<LogPart> deepspeed_log_settings(std::string_view text,
                                                          const std::string& file,
                                                          Diagnostics& diagnostics);
[[nodiscard]] std::vector<LogPart> trainer_log_settings(std::string_view text,
                                                        const std::string& file,
                                                        Diagnostics& diagnostics);

// What DeepSpeed prints of its settings, whoever starts it.
// The file it was given, then what it settled: `auto` has its value only there.
[[nodiscard]] std::vector<LogPart> deepspeed_parts(const std::vector<LogLine>& lines,
                                                   const std::string& file,
                                                   Diagnostics& diagnostics);

// An object of JSON that begins in line `begin` at the brace, up to the line of its closing brace.
// Each line loses `prefix`. Nothing after an error.
[[nodiscard]] std::optional<yaml::Value> printed_json(const std::vector<LogLine>& lines,
                                                      std::size_t begin,
                                                      std::string_view prefix,
                                                      const std::string& file,
                                                      Diagnostics& diagnostics);

// The trainer_state.json of transformers, whose means are of the whole run.
[[nodiscard]] ScannedLog scan_trainer_state(std::string_view text, const std::string& file);

}  // namespace orrery::import_config
