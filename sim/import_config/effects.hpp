#pragma once

// Does a key that was not used change what a step or a run costs? Internal to import_config/.
//
// Keys that are known to change nothing (learning rates, seeds, paths, logging) are listed by
// pattern, `*` standing for any text; every other key may matter.

#include <string_view>

#include "sim/import_config/import_config.hpp"

namespace orrery::import_config {

[[nodiscard]] bool is_known_idle(ConfigFormat format, std::string_view path);

}  // namespace orrery::import_config
