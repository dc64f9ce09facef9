#pragma once

// What is known, as the text of a scenario: one line per key, and behind it where the value comes
// from. Internal to import_config/.

#include <string>
#include <vector>

#include "sim/import_config/trees/draft.hpp"

namespace orrery::import_config {

// The settings in the order in which a scenario is written.
[[nodiscard]] std::vector<ImportedSetting> in_order(const Draft& draft);

// With the asked keys as lines without a value. `name` of the scenario.
[[nodiscard]] std::string scenario_text(const ImportResult& result, const std::string& name);

// "train.sh:28 --num-layers", "default of Megatron-LM: ...", for people.
[[nodiscard]] std::string origin_text(const Origin& origin);

}  // namespace orrery::import_config
