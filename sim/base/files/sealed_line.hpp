#pragma once

// A checksum inside each line of a journal, which shows whether the line is the one written.
//
//   {"a": 1}   ->   {"a": 1,"crc32":"fba18e97"}
//
// symbol | meaning                                                              | unit | origin
// -------|----------------------------------------------------------------------|------|----------
// crc32  | CRC-32 of the bytes of the line without that member, as in ISO-HDLC  | -    | computed
//
// A sealed line is still one object of JSON, for other programs. The checksum finds every change of
// up to 32 adjacent bits, so every changed byte; it is no protection against somebody
// who means harm.

#include <optional>
#include <string>
#include <string_view>

namespace orrery {

// `object`: the text of an object of JSON, in one line.
[[nodiscard]] std::string sealed(std::string_view object);

// The object without its checksum; nothing when it has none, or when it does not fit.
[[nodiscard]] std::optional<std::string> unsealed(std::string_view line);

}  // namespace orrery
