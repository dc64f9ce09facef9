#pragma once

// Compares a text with the accepted one in a file of tests/golden/.

#include <string>
#include <string_view>

namespace orrery::golden {

// Compares with tests/golden/<name>; with ORRERY_UPDATE_GOLDEN=1 writes it instead.
void expect_golden(std::string_view name, const std::string& text);

}  // namespace orrery::golden
