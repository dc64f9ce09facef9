#pragma once

// A table of table.hpp as an element of HTML; numbers as people read them.

#include <string>

namespace orrery::report {

struct Table;

[[nodiscard]] std::string to_html(const Table& table);

}  // namespace orrery::report
