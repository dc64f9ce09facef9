// JSON is YAML in flow style: one parser reads both. What only JSON forbids is found here.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/text/untrusted_json.hpp"
#include "sim/base/yaml/text_check.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

// Python's Infinity and NaN become a text of the same length.
std::string with_plain_words(std::string_view text) {
  std::string plain(text);
  bool quoted = false;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    const std::string_view rest = std::string_view(plain).substr(at);
    if (quoted && rest.front() == '\\') {
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

// Sound JSON with its pairs of escapes, \ud83d\ude00, as YAML writes such a character: \U0001f600.
// Blanks behind the text that holds them keep the columns of what follows.
std::string with_long_escapes(std::string_view json) {
  constexpr std::size_t kEscape = 6;  // \ud83d
  const auto code_at = [json](std::size_t at) {
    unsigned code = 0;
    const std::string_view digits = json.substr(at + 2, kEscape - 2);
    std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    return code;
  };
  std::string yaml;
  std::size_t saved = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (quoted && json[at] == '\\') {
      const unsigned first = json[at + 1] == 'u' ? code_at(at) : 0;
      if (first >= 0xD800U && first < 0xDC00U) {
        const unsigned second = code_at(at + kEscape);
        yaml += fmt::format("\\U{:08x}", 0x10000U + ((first - 0xD800U) << 10U) + second - 0xDC00U);
        saved += 2;
        at += 2 * kEscape - 1;
      } else {
        yaml += json.substr(at, 2);
        ++at;
      }
      continue;
    }
    yaml += json[at];
    if (json[at] == '"') {
      quoted = !quoted;
      yaml.append(quoted ? 0 : std::exchange(saved, 0), ' ');
    }
  }
  return yaml;
}

bool check_syntax(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  const yaml::LineIndex lines(text);
  if (const JsonProblem problem = exceeded(text, {.levels = kMostLevels}); !problem.what.empty()) {
    diagnostics.error(lines.location_of(file, problem.byte), "", problem.what);
    return false;
  }
  const auto drop = [](int, nlohmann::json::parse_event_t, const nlohmann::json&) { return false; };
  try {
    [[maybe_unused]] const nlohmann::json dropped = nlohmann::json::parse(text, drop);
  } catch (const nlohmann::json::parse_error& error) {
    std::string message = error.what();
    const std::size_t column = message.find("column ");
    const std::size_t colon = message.find(": ", column == std::string::npos ? 0 : column);
    message.erase(0, colon == std::string::npos ? 0 : colon + 2);
    const std::size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    diagnostics.error(lines.location_of(file, at), "", "is no JSON: " + message);
    return false;
  } catch (const nlohmann::json::out_of_range&) {
    diagnostics.error({file, 0, 0}, "", "holds a number that is too large");
    return false;
  }
  return true;
}

}  // namespace

std::optional<yaml::Value> parse_json(std::string_view text, const std::string& file,
                                      Diagnostics& diagnostics) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  const std::string plain = with_plain_words(text);
  const bool sound = yaml::check_text(text, file, yaml::LineIndex(text), diagnostics) &&
                     check_syntax(plain, file, diagnostics);
  return sound ? parse_yaml(with_long_escapes(plain), file, diagnostics) : std::nullopt;
}

}  // namespace orrery::import_config
