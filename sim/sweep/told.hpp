#pragma once

// How do processes that work together tell each other what they found, or why they could not?
//
//   process -> all   "R" + what it found
//                    "E<kind>" + text: what went wrong there; all end with it
//
// Nobody may leave before all have spoken: an error is kept until then, and thrown by all alike.

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::sweep {

[[nodiscard]] std::string told(std::string_view found);
[[nodiscard]] std::string told(const std::exception& error);

// Of every process what it found, by its number. Throws the Error of the first that has one; an
// empty text is of a process that ended.
[[nodiscard]] std::vector<std::string> heard(std::vector<std::string> all);

// The first line of the text, which goes on behind it.
[[nodiscard]] std::string_view take_line(std::string_view& text);

}  // namespace orrery::sweep
