#pragma once

// The keys that the files of one format state, which of them were used, and what is left over.
// Internal to import_config/.
//
// Nested mappings are laid flat: `training: {seq_len: 8192}` is `training.seq_len`. Of a part of a
// path, leading dashes are dropped and other dashes become underscores, so that `--num-layers` and
// `num_layers` are one key.
//
// A getter returns nothing for a key that is absent, null, wrong (a diagnostic) or unread (`auto`,
// `${VARIABLE}`, `???`): the latter is remembered with its reason.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/import_config/imported.hpp"

namespace orrery::import_config {

struct SourceItem {
  std::string path;   // laid flat and normalised
  std::string shown;  // as the file writes it
  SourceLocation where;
  yaml::Value value;  // a scalar, a list, null or an empty mapping
  bool used = false;
  bool unread = false;
  bool by_default = false;  // no file states it: what the program takes
};

class SourceKeys {
 public:
  explicit SourceKeys(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // The flags of the command take no value: what a variable of a script holds behind one is more.
  void have_bare_flags() { bare_flags_ = true; }

  // What a key of a later tree does to that of another file.
  enum class Again { replaces, agrees };

  // Adds the keys of a tree. Of two files that must agree another value is an error.
  void add(const yaml::Value& tree, Again again = Again::replaces);

  // What the program takes where no file states the key.
  void add_default(std::string_view path, std::string_view value, std::string_view program);

  // A key under its older name takes the newer one, unless the file has both.
  void rename(std::string_view old, std::string_view now);

  // The key, marked as used; nullptr when it is absent or null.
  [[nodiscard]] const SourceItem* take(std::string_view path);

  // The same without marking it.
  [[nodiscard]] const SourceItem* find(std::string_view path) const;

  [[nodiscard]] std::optional<std::int64_t> count(std::string_view path);
  [[nodiscard]] std::optional<double> number(std::string_view path);
  [[nodiscard]] std::optional<bool> flag(std::string_view path);
  [[nodiscard]] std::optional<std::string> text(std::string_view path);
  [[nodiscard]] std::vector<std::string> texts(std::string_view path);  // of a list or one scalar

  // Whether a key is stated and could not be read; `why` then says what is in the way.
  [[nodiscard]] bool is_unread(std::string_view path) const;

  void error(const SourceItem& item, std::string_view message, std::string_view allowed = {});

  [[nodiscard]] std::deque<SourceItem>& items() { return items_; }

 private:
  void add_below(const yaml::Value& value, const std::string& path, const std::string& shown,
                 const SourceLocation& where);
  [[nodiscard]] const std::string* scalar(SourceItem& item, std::string_view what);
  [[nodiscard]] SourceItem* taken(std::string_view path);

  Diagnostics& diagnostics_;
  bool bare_flags_ = false;
  Again again_ = Again::replaces;
  std::deque<SourceItem> items_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

// Leading dashes dropped, others underscores: `--num-layers` is `num_layers`.
[[nodiscard]] std::string normalised_key(std::string_view name);

// The text of a value for reports: lists in brackets, long ones cut.
[[nodiscard]] std::string value_text(const yaml::Value& value);

// Why such a value cannot be read; empty when it can.
[[nodiscard]] std::string unread_reason(const yaml::Value& value);

// From the text of a file to a tree of keys with positions, whatever its syntax.
//
// syntax    | read by                     | kept strict
// ----------|-----------------------------|-------------------------------------------------------
// JSON      | nlohmann-json, then as YAML | what JSON forbids, and what YAML does
// YAML      | yaml/document.hpp           | its own rules
// TOML      | toml++                      | depth; a build without toml++ says so
// arguments | shell_script.hpp            | never executed
// Slurm     | slurm_topology.cpp          | NAME=VALUE, hostlists
// XML       | nccl_topology.cpp           | what NCCL's own reader takes
//
// Every problem is a diagnostic with file, line and column; then there is no tree.

// Levels of nesting that a configuration may have.
inline constexpr std::size_t kMostLevels = 64;
inline constexpr std::size_t kMostValues = 50'000;
inline constexpr std::size_t kLongestKey = 1024;

[[nodiscard]] std::optional<yaml::Value> parse_json(std::string_view text, const std::string& file,
                                                    Diagnostics& diagnostics);

[[nodiscard]] std::optional<yaml::Value> parse_toml(std::string_view text, const std::string& file,
                                                    Diagnostics& diagnostics);

[[nodiscard]] std::optional<yaml::Value> parse_yaml(std::string_view text, const std::string& file,
                                                    Diagnostics& diagnostics);

// The repr() of a Python dataclass, which begins with the name of the class:
//
//   Config(general=GeneralArgs(run='a', step=None), tokens=TokensArgs(sequence_length=256))
//
// is {general: {run: a, step: null}, tokens: {sequence_length: 256}}. Names of classes are dropped,
// as are arguments without a name; objects in angle brackets become the text between them.
[[nodiscard]] std::optional<yaml::Value> parse_python_repr(std::string_view text,
                                                           const std::string& file,
                                                           Diagnostics& diagnostics);

// Digits alone; nothing for other texts.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);

// {SwitchName: {s0: {Nodes: "n[0-15]"}}, BlockSizes: ...}; keys as its manual has them.
[[nodiscard]] std::optional<yaml::Value> parse_slurm_topology(std::string_view text,
                                                              const std::string& file,
                                                              Diagnostics& diagnostics);

// XML of elements and attributes: {net: {speed: [200000, ...]}}.
[[nodiscard]] std::optional<yaml::Value> parse_nccl_topology(std::string_view text,
                                                             const std::string& file,
                                                             Diagnostics& diagnostics);

// Follows values that point at others: ${.encoder_seq_length}, ${model.num_layers},
// ${multiply:4, ${.hidden_size}}. What cannot be followed stays as it is, and is reported as unread
// where it is needed; the number of replacements is bounded.
void follow_references(yaml::Value& root);

}  // namespace orrery::import_config
