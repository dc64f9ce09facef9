#pragma once

// A parsed YAML file: an immutable tree in which every value has its position.
//
// A strict subset of YAML 1.2, on purpose: what is silently misread elsewhere is an error here.
//
// construct                                   | treatment
// --------------------------------------------|---------------------------------------------------
// duplicate keys                              | error that names the line of the first
// merge keys (<<), tags (!!int, !x), several documents, keys that are no text | error
// aliases (*name)                             | expanded here, within the limits below
// scalars                                     | kept as text: `no` and 010 are not interpreted
// ~, null, an empty value                     | Kind::null
// NUL, control characters, invalid UTF-8      | error with their position
//
// No input crashes, hangs or uses unbounded memory: the work is O(n log n) in the size of the file.
// Lines and columns are 1-based; a column counts characters, not bytes.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"

namespace orrery::yaml {

struct Entry;

struct Value {
  enum class Kind { null, scalar, sequence, mapping };

  Kind kind = Kind::null;
  bool quoted = false;  // scalar written as "...", '...', | or >
  std::string text;     // scalar: the text as written, without quotes
  SourceLocation where;
  std::vector<Value> items;    // sequence
  std::vector<Entry> entries;  // mapping, in the order of the file
};

struct Entry {
  std::string key;
  SourceLocation key_where;
  Value value;
};

struct Limits {
  std::size_t max_bytes = std::size_t{4} << 20U;        // of the file
  int max_depth = 64;                                   // mappings and sequences inside each other
  std::size_t max_nodes = 1'000'000;                    // values after alias expansion
  std::size_t max_alias_nodes = 100'000;                // of these, kept for anchors or copied
  std::size_t max_alias_bytes = std::size_t{4} << 20U;  // text kept for anchors or copied
  std::size_t max_key_bytes = 256;                      // one key
  std::size_t max_pending_bytes = std::size_t{1} << 20U;  // input without one finished value
  std::size_t max_problems = 100;                         // diagnostics after which reading stops
};

// The tree of `text`, or nothing after at least one error in `diagnostics`. `file_name` is what the
// diagnostics print. Never throws for bad input.
[[nodiscard]] std::optional<Value> parse(std::string_view text, std::string file_name,
                                         const Limits& limits, Diagnostics& diagnostics);

// The same for a file; `shown_name` is what diagnostics print, the path itself when empty. Throws
// Error(ErrorKind::io) when the file cannot be read; a file above max_bytes is a diagnostic.
[[nodiscard]] std::optional<Value> parse_file(const std::filesystem::path& path,
                                              const Limits& limits, Diagnostics& diagnostics,
                                              std::string shown_name = {});

// "a mapping", "a sequence", "a text", "empty": what a diagnostic calls this kind of value.
[[nodiscard]] std::string_view describe(Value::Kind kind);

// `text` in backquotes for a message: control characters become \xNN, long text is cut with "...".
[[nodiscard]] std::string display(std::string_view text);

// YAML of other programs, by the same rules but for what their parsers take and mean: of a merge
// key (<<: *alias) the keys of the mapping itself count, then those of the first alias; a key may
// stand twice with one value.
[[nodiscard]] std::optional<Value> parse_foreign(std::string_view text, std::string file_name,
                                                 const Limits& limits, Diagnostics& diagnostics);

}  // namespace orrery::yaml
