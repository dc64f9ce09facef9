#pragma once

// Writes fitted values into the text of a profile in place; order and comments stay as they are.
//
// The block of each changed key (`key:` and the indented lines below it, or one line with a flow
// mapping) is written anew with value, source, citation and residual; a key that the file lacks is
// appended. Keys whose value did not move keep their block.

#include <string>
#include <string_view>
#include <vector>

namespace orrery::fit {

struct NewValue {
  std::string key;
  std::string value;      // with its unit
  std::string source;     // measured, published, assumed
  std::string citation;   // one line, any text
  double residual = 0.0;  // 0: none
};

[[nodiscard]] std::string with_new_values(std::string_view file,
                                          const std::vector<NewValue>& values);

// The profile under another name, which no alias of the first one and no layout leads to.
[[nodiscard]] std::string with_name(std::string_view file, std::string_view name);

// What the old citation of `key` explained beside where the number came from: the text after the
// parenthesis of "fitted to ... (...): why". "" when there is none.
[[nodiscard]] std::string explanation_in(std::string_view file, std::string_view key);

}  // namespace orrery::fit
