#pragma once

// What do the readers of logs share: lines, numbers behind words, settings gathered on the way?
// Internal to import_config/.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/yaml/document.hpp"

namespace orrery::import_config {

struct LogLine {
  std::string_view text;
  int number = 0;
};

// Also what a progress bar writes over itself, from one carriage return to the next.
[[nodiscard]] std::vector<LogLine> log_lines(std::string_view text);

[[nodiscard]] std::string_view trimmed(std::string_view text);

[[nodiscard]] bool is_word(char c);

// The number behind the first `words`, with commas between thousands and perhaps a unit; nothing
// without one, and where the word is no number as a whole, as 419_104.0.
[[nodiscard]] std::optional<double> number_behind(std::string_view line, std::string_view words);

// The same where thousands are K, millions M, as in 4.71K.
[[nodiscard]] std::optional<double> short_number_behind(std::string_view line,
                                                        std::string_view words);

// Of a line that tells of a step.
[[nodiscard]] std::optional<std::int64_t> step_number(std::string_view line);

// The line without `prefix`; nothing when it begins in another way.
[[nodiscard]] std::optional<std::string_view> without_prefix(std::string_view line,
                                                             std::string_view prefix);

// Of one step, or the mean of several: batch in sequences, time, what the program counts.
struct LoggedStep {
  double batch = 0.0;
  double seconds = 0.0;
  std::optional<double> tflops = std::nullopt;
  int line = 0;
  std::optional<std::int64_t> number = std::nullopt;
  bool whole_run = false;  // the mean of all steps with what lies between them
};

// Part of a log as a text of its own, whose lines have the numbers of the log.
class LogExcerpt {
 public:
  explicit LogExcerpt(int first_line) : text_(static_cast<std::size_t>(first_line - 1), '\n') {}

  void add(std::string_view line) {
    text_ += line;
    text_ += '\n';
  }

  [[nodiscard]] const std::string& text() const {
    return text_;
  }

 private:
  std::string text_;
};

// Settings as a tree, in the order in which the log first has them.
class LogSettings {
 public:
  explicit LogSettings(const std::string& file);

  // A later value replaces an earlier one.
  void put(std::string key, std::string_view text, int line);

  [[nodiscard]] bool has(const std::string& key) const {
    return places_.contains(key);
  }

  [[nodiscard]] yaml::Value take();

 private:
  // As Python prints it: None, True, 12, ['16', '16', '5859375'].
  [[nodiscard]] yaml::Value value_of(std::string_view text, int line) const;

  const std::string& file_;
  yaml::Value tree_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace orrery::import_config
