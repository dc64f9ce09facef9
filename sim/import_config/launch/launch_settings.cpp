#include "sim/import_config/launch/launch_settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/base/text/text.hpp"
#include "sim/import_config/key_fates.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::import_config {

namespace {

struct Row {
  std::string_view fate;
  std::string_view rest;               // of its line
  std::vector<std::string_view> keys;  // without their neutral values
};

std::vector<Row> parse_rows(std::string_view text) {
  std::vector<Row> rows;
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    if (line.empty() || line.front() == '#') {
      continue;
    }
    if (line.front() != ' ') {
      const std::string_view fate = cut(line, ' ');
      rows.push_back({fate, line, {}});
      continue;
    }
    while (!line.empty() && !rows.empty()) {
      std::string_view word = cut(line, ' ');
      if (!word.empty()) {
        rows.back().keys.push_back(cut(word, '='));
      }
    }
  }
  return rows;
}

const std::vector<Row>& rows_of(std::string_view program) {
  static const auto tables = [] {
    std::map<std::string_view, std::vector<Row>, std::less<>> all;
    for (const NamedTable& table : key_tables()) {
      all.emplace(table.name, parse_rows(table.text));
    }
    return all;
  }();
  return tables.at(fmt::format("{}.keys", program));
}

// Theirs of `theirs=ours; ...`; `*` and `{}` are any text.
std::optional<std::string> their_value(std::string_view values, std::string_view value) {
  values = values.substr(0, values.find(" if "));
  while (!values.empty()) {
    std::string_view ours = orrery::trimmed(cut(values, ';'), " ");
    const std::string_view theirs = cut(ours, '=');
    if (ours == value) {
      return std::string(theirs);
    }
    if (theirs == "*" && ours == "{}") {
      return std::string(value);
    }
  }
  return std::nullopt;
}

bool is_number_or_switch(std::string_view value) {
  return value == "true" || value == "false" ||
         (!value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos);
}

}  // namespace

std::string value_at(const scenario::Scenario& scenario, std::string_view key) {
  return scenario::value_of(scenario, key).value_or("");
}

std::optional<LaunchSetting> inverted(std::string_view program,
                                      std::string_view key,
                                      std::string_view value) {
  for (const Row& row : rows_of(program)) {
    if (row.keys.empty()) {
      continue;
    }
    if (row.fate == "sets" && row.rest == key && is_number_or_switch(value)) {
      return LaunchSetting{std::string(row.keys.front()), std::string(value)};
    }
    std::string_view rest = row.rest;
    if (row.fate == "takes" && cut(rest, ' ') == key) {
      if (auto theirs = their_value(rest, value)) {
        return LaunchSetting{std::string(row.keys.front()), *std::move(theirs)};
      }
    }
  }
  return std::nullopt;
}

std::string key_ending_in(std::string_view program, std::string_view name) {
  const std::string below = fmt::format(".{}", name);
  const std::string of_model = fmt::format("model.{}", name);
  std::string found;
  for (const Row& row : rows_of(program)) {
    for (const std::string_view key : row.keys) {
      if (key == of_model || key == name) {
        return std::string(key);
      }
      if (found.empty() && key.ends_with(below)) {
        found = key;
      }
    }
  }
  return found;
}

namespace {

using Tree = nlohmann::ordered_json;

// Numbers, switches and lists as they stand, everything else as text.
Tree typed(const std::string& value) {
  const bool list = value.starts_with("[") && value.ends_with("]");
  if (list) {
    Tree items = Tree::array();
    std::string_view rest = std::string_view(value).substr(1, value.size() - 2);
    while (!rest.empty()) {
      items.push_back(typed(std::string(orrery::trimmed(cut(rest, ','), " "))));
    }
    return items;
  }
  const Tree read = Tree::parse(value, nullptr, false);
  return read.is_number() || read.is_boolean() ? read : Tree(value);
}

Tree tree_of(const std::vector<LaunchSetting>& settings) {
  Tree tree = Tree::object();
  for (const LaunchSetting& one : settings) {
    Tree* at = &tree;
    std::string_view rest = one.key;
    for (std::string_view part = cut(rest, '.'); !part.empty(); part = cut(rest, '.')) {
      at = &(*at)[std::string(part)];
    }
    *at = typed(one.value);
  }
  return tree;
}

void add_yaml(const Tree& tree, const std::string& indent, std::string& text) {
  for (const auto& [key, value] : tree.items()) {
    if (value.is_object()) {
      text += fmt::format("{}{}:\n", indent, key);
      add_yaml(value, indent + "  ", text);
    } else {
      text += fmt::format("{}{}: {}\n", indent, key, value.dump());
    }
  }
}

// Values before tables, as TOML wants them.
void add_toml(const Tree& tree, const std::string& path, std::string& text) {
  const bool values =
      std::any_of(tree.begin(), tree.end(), [](const Tree& value) { return !value.is_object(); });
  if (values && !path.empty()) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", path);
  }
  for (const auto& [key, value] : tree.items()) {
    if (!value.is_object()) {
      text += fmt::format("{} = {}\n", key, value.dump());
    }
  }
  for (const auto& [key, value] : tree.items()) {
    if (value.is_object()) {
      add_toml(value, path.empty() ? key : path + "." + key, text);
    }
  }
}

}  // namespace

std::string as_tree(const std::vector<LaunchSetting>& settings, TreeFormat format) {
  const Tree tree = tree_of(settings);
  constexpr int kIndent = 2;
  std::string text;
  switch (format) {
    case TreeFormat::yaml:
      add_yaml(tree, "", text);
      return text;
    case TreeFormat::toml:
      add_toml(tree, "", text);
      return text;
    case TreeFormat::json:
      return tree.dump(kIndent) + "\n";
  }
  return text;
}

}  // namespace orrery::import_config
