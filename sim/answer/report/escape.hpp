#pragma once

// Escaping of arbitrary text for a table or a document of another format.
//
// format       | what changes
// -------------|--------------------------------------------------------------------------------
// CSV          | quoted where RFC 4180 asks for it, quotes doubled
// XML 1.0, SVG | & < > " and line ends as references; what no document may hold or no reader
//              | can see (base/unicode.hpp) as ?

#include <string>
#include <string_view>

namespace orrery::report {

[[nodiscard]] std::string csv_cell(std::string_view text);
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace orrery::report
