#pragma once

// The text of log_programs.yaml, as it was when the program was built. Internal to import_config/.

#include <string_view>

namespace orrery::import_config {

[[nodiscard]] std::string_view log_programs_text();

}  // namespace orrery::import_config
