#pragma once

// What the readers of logs share: lines, numbers behind words, settings gathered on the way.
// Internal to import_config/.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"

namespace orrery::import_config {

struct LogLine {
  std::string_view text;
  int number = 0;
};

// Begins a line that holds the number of the next one.
inline constexpr char kGap = '\x1E';

// Of the text of a ScannedLog.
[[nodiscard]] std::vector<LogLine> log_lines(std::string_view text);

[[nodiscard]] std::string_view trimmed(std::string_view text);

[[nodiscard]] bool is_word(char c);

// With commas between thousands, and perhaps a unit; K, M, B and `billion` are multiplied.
struct LogNumber {
  double value = 0.0;
  double rounding = 0.0;  // of 4.71K as a share: 0.005 / 4.71
  std::size_t end = 0;    // behind it, and behind the K
};

// The number at `at`, or behind the blanks there; nothing where the word is no number as a whole.
[[nodiscard]] std::optional<LogNumber> number_at(std::string_view line, std::size_t at);

// The number behind the first `words`.
[[nodiscard]] std::optional<double> number_behind(std::string_view line, std::string_view words);

// The line without `prefix`; nothing when it begins in another way.
[[nodiscard]] std::optional<std::string_view> without_prefix(std::string_view line,
                                                             std::string_view prefix);

// Without the sequences of a terminal: colours (ESC [ ... m), links (ESC ] 8 ; ; ...).
[[nodiscard]] std::string without_colours(std::string_view text);

// Part of a log as a text of its own. What is read of it has the lines of the log.
class LogExcerpt {
 public:
  using Parser = std::optional<yaml::Value> (*)(std::string_view, const std::string&, Diagnostics&);

  explicit LogExcerpt(int first_line) : before_(first_line - 1) {}

  void add(std::string_view line) {
    text_ += line;
    text_ += '\n';
  }

  [[nodiscard]] std::optional<yaml::Value> read(Parser parse, const std::string& file,
                                                Diagnostics& diagnostics) const;

 private:
  int before_;  // lines of the log
  std::string text_;
};

// Settings as a tree, in the order in which the log first has them.
class LogSettings {
 public:
  explicit LogSettings(const std::string& file);

  // A later value replaces an earlier one.
  void put(std::string key, std::string_view text, int line);

  [[nodiscard]] bool has(const std::string& key) const { return places_.contains(key); }

  [[nodiscard]] yaml::Value take();

 private:
  // As Python prints it: None, True, 12, ['16', '16', '5859375'].
  [[nodiscard]] yaml::Value value_of(std::string_view text, int line) const;

  const std::string& file_;
  yaml::Value tree_;
  std::map<std::string, std::size_t> places_;
};

// `{'stage': 1, 'overlap_comm': True}` as a value: Python's dictionaries of plain values are YAML.
void open_dictionaries(yaml::Value& tree);

}  // namespace orrery::import_config
