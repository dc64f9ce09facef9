#pragma once

// The fields of a form for this scenario: every key that a single line can hold, with what the file
// states now.
//
// field    | meaning
// ---------|--------------------------------------------------------------------------------------
// path     | the key, list items with their number: failures.causes[0].weight
// type     | kind of value in words: "whole number", "time or law"
// choices  | the words it takes, where it takes nothing else
// allowed  | words and bounds for people
// stated   | its text in the file, as it stands there; nothing: the default holds
// one_line | the form can change it; false for values over several lines
//
// From the key table, as the reader, the schema and the reference are.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"

namespace orrery::scenario {

struct Field {
  std::string path;
  std::string section;  // first part of the path
  std::string type;
  std::vector<std::string> choices;
  std::string allowed;
  std::string fallback;  // default in the spelling of a scenario
  std::string note;      // or what happens without the key
  std::string meaning;
  std::string example;
  bool required = false;
  bool one_line = true;
  std::optional<std::string> stated;
  SourceLocation where;  // of the stated value
};

// In the order of the table. Fields of list items are there for the items that the text states.
[[nodiscard]] std::vector<Field> fields_of(std::string_view text);

// The keys that a file states, with their values, and the differences between files.
//
// Keys are in the spelling of the reference whatever alias the file uses; a list of scalars is one
// value in flow style, items of other lists are keys of their own: failures.causes[0].weight. A
// text that is no YAML states nothing.

struct StatedKey {
  std::string key;
  std::string value;  // "[a, b]" for a list of scalars, "{}" and "[]" for what is empty
  SourceLocation where;
};

// In the order of the file.
[[nodiscard]] std::vector<StatedKey> stated_keys(std::string_view text);

struct DifferingKey {
  std::string key;
  std::vector<std::optional<std::string>> values;  // by text; nothing where it is not stated
};

// Keys that not all texts state alike, in the order in which they occur.
[[nodiscard]] std::vector<DifferingKey> differing_keys(std::span<const std::string> texts);

}  // namespace orrery::scenario
