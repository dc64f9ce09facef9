#pragma once

// A file of each program whose table of keys is walked (key_tables_test.cpp).

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::import_config::testing {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

// A file of each program in which one more line makes no other sense.
struct TableProgram {
  std::string table;
  std::string file;  // its ending says how keys are written
  KeyValues stated;
  std::string head = {};      // before them
  std::string tail = {};      // behind them
  std::string left_out = {};  // a section that the tail has
  // Without which keys of readers do nothing: degrees, experts, switches.
  KeyValues others = {};
  std::string_view read_with = {};  // with blanks around them: need yet others, or are on anyway

  friend void PrintTo(const TableProgram& program, std::ostream* out) { *out << program.table; }
};

[[nodiscard]] std::vector<TableProgram> table_programs();

}  // namespace orrery::import_config::testing
