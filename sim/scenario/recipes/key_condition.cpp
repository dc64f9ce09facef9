#include "sim/scenario/recipes/key_condition.hpp"

#include <fmt/core.h>

#include <charconv>
#include <optional>

#include "sim/base/yaml/flow_text.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using yaml::Value;

std::optional<double> number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

// A word, or a bound such as ">=2".
bool is_met(std::string_view word, std::string_view value) {
  const bool least = word.starts_with(">=");
  if (!least && !word.starts_with("<=")) {
    return word == value;
  }
  const std::optional<double> bound = number(word.substr(2));
  const std::optional<double> found = number(value);
  return bound && found && (least ? *found >= *bound : *found <= *bound);
}

}  // namespace

std::vector<std::string> condition_words(const Value& value) {
  std::vector<std::string> words;
  if (value.kind == Value::Kind::sequence) {
    for (const Value& item : value.items) {
      words.push_back(yaml::flow_text(item));
    }
  } else {
    words.push_back(value.kind == Value::Kind::scalar ? value.text : yaml::flow_text(value));
  }
  for (std::string& word : words) {
    std::erase_if(word, [](char c) { return c == '"' || c == '\''; });
  }
  return words;
}

const Key* entered_row(std::string_view path, Draft& draft) {
  const Key* row = nullptr;
  std::string above;
  while (!path.empty()) {
    if (row != nullptr && row->enter && !row->enter(draft, 0)) {
      return nullptr;
    }
    const std::size_t dot = path.find('.');
    row = row_below(above, path.substr(0, dot));
    if (row == nullptr) {
      return nullptr;
    }
    above = row->path;
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  return row;
}

bool has_value(Draft& draft, std::string_view path, std::string_view word) {
  if (path == "cluster.gpus") {
    const hardware::ClusterSpec& cluster = draft.scenario.cluster;
    return is_met(word, fmt::format("{}", cluster.nodes * cluster.gpus_per_node));
  }
  const Key* row = entered_row(path, draft);
  const std::optional<std::string> value =
      row != nullptr && row->print ? row->print(draft) : std::nullopt;
  return value && is_met(word, *value);
}

}  // namespace orrery::scenario
