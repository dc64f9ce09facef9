#pragma once

// What does a configuration of nanotron hold: the model in the names of transformers, the rest in
// its own? Internal to import_config/.

#include <vector>

#include "sim/import_config/training_log.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::import_config {

// The dimensions as a config.json has them, and the whole tree.
[[nodiscard]] std::vector<LogPart> nanotron_parts(yaml::Value tree);

}  // namespace orrery::import_config
