// JSON is YAML in flow style: one parser reads both. What only JSON forbids is found here.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/import_config/trees/source_tree.hpp"
#include "sim/yaml/text_check.hpp"

namespace orrery::import_config {

namespace {

// What JSON and YAML do not share becomes a text of the same length: Python's Infinity and NaN, and
// characters that are written as two escapes.
std::string with_plain_words(std::string_view text) {
  std::string plain(text);
  bool quoted = false;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    const std::string_view rest = std::string_view(plain).substr(at);
    if (quoted && rest.front() == '\\') {
      const bool half =
          rest.size() > 3 && rest[1] == 'u' && (rest[2] == 'd' || rest[2] == 'D') && rest[3] > '7';
      if (half) {
        constexpr std::string_view kQuestionMark = "\\u003f";
        plain.replace(at, kQuestionMark.size(), kQuestionMark);
      }
      ++at;
      continue;
    }
    quoted = quoted != (rest.front() == '"');
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (!quoted && rest.starts_with(word)) {
        plain.replace(at, word.size(), "\"?\"" + std::string(word.size() - 3, ' '));
        at += word.size() - 1;
        break;
      }
    }
  }
  return plain;
}

// What is wrong with its syntax; nesting is for the limits of YAML.
bool check_syntax(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  bool deep = false;
  const auto drop = [&deep](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    deep = deep || depth > static_cast<int>(kMostLevels);
    return false;
  };
  try {
    [[maybe_unused]] const nlohmann::json dropped = nlohmann::json::parse(text, drop);
  } catch (const nlohmann::json::parse_error& error) {
    std::string message = error.what();
    const std::size_t column = message.find("column ");
    const std::size_t colon = message.find(": ", column == std::string::npos ? 0 : column);
    message.erase(0, colon == std::string::npos ? 0 : colon + 2);
    if (!deep) {
      const std::size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
      diagnostics.error(yaml::LineIndex(text).location_of(file, at), "", "is no JSON: " + message);
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<yaml::Value> parse_json(std::string_view text,
                                      const std::string& file,
                                      Diagnostics& diagnostics) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  const std::string plain = with_plain_words(text);
  const bool sound = yaml::check_text(text, file, yaml::LineIndex(text), diagnostics) &&
                     check_syntax(plain, file, diagnostics);
  return sound ? parse_yaml(plain, file, diagnostics) : std::nullopt;
}

}  // namespace orrery::import_config
