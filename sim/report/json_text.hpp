#pragma once

// How does JSON of ours look as text? Two spaces a level, a newline at the end, and what is no
// UTF-8 replaced.

#include <nlohmann/json.hpp>
#include <string>

namespace orrery::report {

[[nodiscard]] inline std::string json_text(const nlohmann::ordered_json& json) {
  constexpr int kIndent = 2;
  return json.dump(kIndent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::report
