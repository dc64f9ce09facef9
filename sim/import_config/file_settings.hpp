#pragma once

// The settings that a configuration file holds, whatever its syntax. Internal to import_config/.

#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/imported.hpp"
#include "sim/import_config/logs/training_log.hpp"

namespace orrery::import_config {

// One part as a rule; none after an error. What a script holds that cannot be followed joins
// `left_out`.
[[nodiscard]] std::vector<LogPart> settings_of_file(const ConfigFile& file,
                                                    ConfigFormat format,
                                                    std::vector<LeftOutKey>& left_out,
                                                    Diagnostics& diagnostics);

// Whether Megatron-LM trains a decoder with it: scripts and logs of other models have the same
// arguments, and are an error.
[[nodiscard]] bool is_decoder(const ConfigFile& file,
                              ConfigFormat format,
                              Diagnostics& diagnostics);

}  // namespace orrery::import_config
