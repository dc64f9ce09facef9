#pragma once

// Edits of the text of a scenario file when one key gets another value, for editors: comments and
// the layout of everything else stay as they are.
//
//   const auto edit = set_key(text, {"layout.tensor", "4", {}}, diagnostics);
//   if (edit) { text.replace(edit->begin, edit->length, edit->text); }
//
// case                             | what is written
// ---------------------------------|-------------------------------------------------------------
// the key is stated                | its value is replaced in place
// its section is stated            | a line after the section's last line, or an item of {...}
// the section is missing too       | the section, at the end of the section above or of the file
//
// Every edit is checked by reading the edited text again: the key must say the new value and every
// other key what it said. What cannot be done that way (a value over several lines, an alias) is a
// diagnostic. Whether the scenario takes the value is for the reader (load.hpp) to say.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::yaml {
struct Value;
}

namespace orrery::scenario {

struct TextEdit {
  std::size_t begin = 0;   // bytes
  std::size_t length = 0;  // bytes replaced
  std::string text;
};

// Bytes of a value in the text.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t length = 0;
};

[[nodiscard]] std::optional<TextEdit> set_key(std::string_view text, const KeyValue& change,
                                              Diagnostics& diagnostics);

// The text with all of these keys set, in order; nothing after a diagnostic.
[[nodiscard]] std::optional<std::string> with_keys(std::string_view text,
                                                   std::span<const KeyValue> changes,
                                                   Diagnostics& diagnostics);

// Takes layout.data away where these changes of the text, made already, outdate it
// (outdated_data), with that warning. `file_name`: presets are looked for as for that file.
void drop_outdated_data(std::string& text, std::span<const KeyValue> changes,
                        const std::string& file_name, const ScenarioTemplate::Search& search,
                        Diagnostics& diagnostics);

// Takes the line of the key away, so that its default holds.
[[nodiscard]] std::optional<TextEdit> remove_key(std::string_view text, std::string_view key,
                                                 Diagnostics& diagnostics);

// Where the value stands; nothing for block collections and texts over several lines.
[[nodiscard]] std::optional<TextSpan> span_of(std::string_view text, const yaml::Value& value);

// Byte at which a line and a column (both from 1, columns in characters) begin; the end of the text
// when it is shorter.
[[nodiscard]] std::size_t offset_of(std::string_view text, int line, int column);

}  // namespace orrery::scenario
