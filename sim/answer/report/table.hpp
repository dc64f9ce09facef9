#pragma once

// A table of numbers and texts in rows and columns, written as text for people, Markdown, CSV and
// JSON alike.
//
// form     | cells
// ---------|--------------------------------------------------------------------------------------
// text     | numbers in the unit of the column's dimension, "-" where there is none, bars
// Markdown | the same, safe inside a table
// CSV      | numbers in base units with all digits, empty where there is none; RFC 4180, "\n"
// JSON     | objects by column name, numbers in base units, null where there is none
//
// A cell is nothing, a text, or a number in the base unit of its column. A number that is not
// finite is none. A column without a name is for people alone.

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/answer/report/metrics.hpp"
#include "sim/answer/report/text/text_page.hpp"

namespace orrery::report {

using Cell = std::variant<std::monostate, std::string, double>;

struct Column {
  std::string name = {};                    // in CSV and JSON, with the unit
  std::string title = {};                   // for people
  std::optional<Dimension> dimension = {};  // of numbers; none: as they are
  bool bar = false;                         // a share: text draws it
};

struct Table {
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};  // may be shorter than the columns
  std::size_t left = 1;                      // columns that text aligns to the left

  // A row of texts, whatever stands for them.
  template <typename... Values>
  void add(const Values&... values) {
    rows.push_back({Cell(fmt::to_string(values))...});
  }
};

// Columns that are called the same everywhere.
[[nodiscard]] Table table_of(std::initializer_list<std::string_view> names);

// Texts in columns, as many as fit on the page.
[[nodiscard]] std::string to_text(const Table& table, const TextPage& page);
[[nodiscard]] std::string to_markdown(const Table& table);
[[nodiscard]] std::string to_csv(const Table& table);

[[nodiscard]] nlohmann::ordered_json json_of(const Cell& cell);
[[nodiscard]] nlohmann::ordered_json rows_json(const Table& table);

// Escaping of arbitrary text for a table or a document of another format.
//
// format       | what changes
// -------------|--------------------------------------------------------------------------------
// CSV          | quoted where RFC 4180 asks for it, quotes doubled
// XML 1.0, SVG | & < > " and line ends as references; what no document may hold or no reader
//              | can see (base/unicode.hpp) as ?

[[nodiscard]] std::string csv_cell(std::string_view text);
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace orrery::report
