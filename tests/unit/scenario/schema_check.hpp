#pragma once

// Validates a document against the JSON Schema: the part of draft 7 that json_schema() uses, on the
// tree of the YAML reader, with plain scalars typed as editors do: true, 8, 1.5, else text.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/yaml/document.hpp"

namespace orrery::scenario {

// One line per violation: "layout.tensor: ...". An unknown keyword of the schema is one too.
[[nodiscard]] std::vector<std::string> violations(const yaml::Value& value,
                                                  const nlohmann::json& schema);

}  // namespace orrery::scenario
