#pragma once

// What do the readers of logs share: lines, numbers behind words, settings gathered on the way?
// Internal to import_config/.

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

[[nodiscard]] std::vector<LogLine> log_lines(std::string_view text);

[[nodiscard]] std::string_view trimmed(std::string_view text);

[[nodiscard]] bool is_word(char c);

// The number behind the first `words`, with commas between thousands; nothing without one.
[[nodiscard]] std::optional<double> number_behind(std::string_view line, std::string_view words);

// Of one step: its batch in sequences, its time, what the program counts.
struct LoggedStep {
  double batch = 0.0;
  double seconds = 0.0;
  std::optional<double> tflops;
  int line = 0;
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
