#pragma once

// What does DeepSpeed print of its settings, whoever starts it? Internal to import_config/.

#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/training_log.hpp"

namespace orrery::import_config {

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

}  // namespace orrery::import_config
