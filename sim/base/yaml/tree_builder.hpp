#pragma once

// From parser events to a Value tree, with every rule and limit of document.hpp applied on the way.
// Internal to yaml/; knows nothing of the parser library.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/text_check.hpp"

namespace orrery::yaml {

// Zero-based position as the parser reports it; columns count bytes.
struct Mark {
  int line = 0;
  int column = 0;
};

// Thrown through the parser after a diagnostic that makes further reading pointless.
struct StopReading {};

class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, std::string file, const LineIndex& lines, const Limits& limits,
              bool foreign, Diagnostics& diagnostics);

  // Anchors are numbered from 1; 0 means none. An empty tag is none.
  void begin_document(Mark mark);
  void null(Mark mark, std::size_t anchor);
  void alias(Mark mark, std::size_t anchor);
  void scalar(Mark mark, std::string_view tag, bool quoted, std::size_t anchor, std::string text);
  void begin_sequence(Mark mark, std::string_view tag, std::size_t anchor);
  void end_sequence();
  void begin_mapping(Mark mark, std::string_view tag, std::size_t anchor);
  void end_mapping();

  // The finished tree, once; nothing when no document was there.
  [[nodiscard]] std::optional<Value> take_root();

  // Adds an error; throws StopReading when the number of problems is exhausted.
  void problem(const SourceLocation& where, std::string_view path, std::string_view message,
               std::string_view allowed = {});

  [[nodiscard]] SourceLocation locate(Mark mark) const;

  // Whether a tab is among the blanks that the line of this mark begins with.
  [[nodiscard]] bool is_indented_by_tab(Mark mark) const;

 private:
  // Cost of a subtree: what copying it would need.
  struct Weight {
    std::size_t nodes = 1;
    std::size_t bytes = 0;
    int height = 0;  // collections inside each other, 0 for a scalar
  };

  struct Frame {
    Value value;
    Weight weight;
    std::size_t anchor = 0;
    bool stands_as_key = false;
    std::optional<std::string> key;  // mapping: the key whose value comes next
    SourceLocation key_where;
  };

  struct Anchored {
    Value value;
    Weight weight;
  };

  [[nodiscard]] bool wants_key() const;
  void take_key(std::string text, bool quoted, const SourceLocation& where);
  void refuse_tag(std::string_view tag, const SourceLocation& where);
  [[noreturn]] void refuse_key(const SourceLocation& where);
  void begin_collection(Value::Kind kind, Mark mark, std::string_view tag, std::size_t anchor);
  void end_collection();
  void complete(Value value, Weight weight, std::size_t anchor);
  void count_nodes(std::size_t nodes, const SourceLocation& where);
  void count_alias(const Weight& weight, const SourceLocation& where);
  void merge(Value& mapping);
  void report_duplicates(const Value& mapping);
  [[nodiscard]] bool null_is_written(Mark mark) const;
  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::string path_to(std::string_view key) const;
  [[noreturn]] void stop(const SourceLocation& where, std::string_view message,
                         std::string_view allowed);

  std::string_view text_;
  std::string file_;
  const LineIndex& lines_;
  const Limits& limits_;
  bool foreign_;  // a file of another program
  Diagnostics& diagnostics_;
  std::vector<Frame> frames_;
  std::unordered_map<std::size_t, Anchored> anchors_;
  std::optional<Value> root_;
  int documents_ = 0;
  std::size_t lists_as_keys_ =
      0;  // how many of frames_ are lists in place of a key; closing one is an error
  std::size_t nodes_ = 0;
  std::size_t alias_nodes_ = 0;
  std::size_t alias_bytes_ = 0;
};

}  // namespace orrery::yaml
