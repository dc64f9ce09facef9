#pragma once

// Fixes for a diagnostic: changes of the text to values that the message itself names.
//
// message                                        | offered
// -----------------------------------------------|----------------------------------------------
// `1f1b1` is not known, did you mean `1f1b`?     | the key with that value, first
// (allowed: none, gpipe, 1f1b)                   | the key with each of them
// (at least 1), (2), (zero1, or overlap.x: y)    | the key, or the key that is named, with it
// tensr: unknown key (did you mean `tensor`?)    | the same line with that key
//
// Every change is tried: the reader must object to fewer things than before, or, where it objected
// to nothing (layout, memory, run), still to nothing. Whether the scenario is then what was meant
// is for its author: examples ("such as 30min") are never offered.

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/edit_text.hpp"

namespace orrery::scenario {

struct Fix {
  std::string key;
  std::string value;  // empty: the key gets another name
  TextEdit edit;
};

// Numbers by their distance to what is stated, names that are like it first; else in the order of
// the message. Of a long list only those that are near; at most `most`.
// `file`: as for load_text.
[[nodiscard]] std::vector<Fix> fixes_for(std::string_view text, std::string_view file,
                                         const Diagnostic& diagnostic, std::size_t most = 6);

}  // namespace orrery::scenario
