#pragma once

// What keys that no reader took do to the cost of training, and the stack that runs a program's
// files. Internal to import_config/.
//
// Both stand in scenarios/imports, one table per program, which is compiled in. A key that no table
// has is not understood; that it has no effect is never assumed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/import_config/trees/draft.hpp"

namespace orrery::import_config {

enum class Fate {
  takes,   // sets a key of the scenario by the table alone
  sets,    // a scenario has a key for it, which a reader sets
  none,    // proved to change nothing
  small,   // less than the band of a step
  large,   // more than it
  beside,  // belongs to a part beside the decoder, which --as leaves out
  refused  // belongs to what no scenario expresses
};

struct KeyFate {
  Fate fate = Fate::none;
  std::string_view why;     // of `takes` and `sets` the key of the scenario, or @ and a Pending
  std::string_view values;  // of `takes`: theirs=ours; ...
  std::string_view
      needs;  // of `takes`: only where the scenario has this key, and above 1 (README.md)
  std::string_view neutral;  // values as if the key were absent, between bars; empty: off
};

struct KeyTable;
struct FormatReader;

// The tables of a format, the nearest program first.
class KeyTables {
 public:
  KeyTables(const FormatReader& reader, const SourceKeys& keys);

  // Older names become the present ones; keys that no file states what the program takes for them.
  void prepare(SourceKeys& keys) const;

  // Nothing for a key that is not understood.
  [[nodiscard]] std::optional<KeyFate> find(std::string_view path) const;

  // The software profile, where no file and no caller names another; empty: none.
  [[nodiscard]] std::string_view stack() const;

 private:
  const FormatReader& reader_;
  std::vector<const KeyTable*> tables_;
};

// One table as it is shipped: "megatron-lm".
struct NamedTable {
  std::string_view name;
  std::string_view text;
};

[[nodiscard]] const std::vector<NamedTable>& key_tables();

// What the keys below one line of a table do.
struct TableRow {
  std::string_view fate;
  std::string_view rest;               // of its line
  std::vector<std::string_view> keys;  // key=neutral
};

[[nodiscard]] std::vector<TableRow> table_rows(std::string_view text);
// The text of any file of scenarios/imports that is compiled in: "torchtitan.models".
[[nodiscard]] std::string_view shipped_text(std::string_view name);

// Up to the first `end`, which is taken as well.
[[nodiscard]] std::string_view cut(std::string_view& text, char end);

// Whether the value is as if the key were absent.
[[nodiscard]] bool is_neutral(const yaml::Value& value, std::string_view neutral);

// Any text for each `*`, whatever the case.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

// Behind the reader of the format: sets what the tables alone say, and puts what nobody took, with
// its effect, among the keys that are left out.
void judge_keys(Import& import, const FormatReader& reader);

}  // namespace orrery::import_config
