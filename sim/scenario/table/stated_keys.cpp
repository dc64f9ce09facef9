#include "sim/scenario/table/stated_keys.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "sim/base/yaml/document.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using yaml::Value;

bool is_scalar(const Value& value) {
  return value.kind == Value::Kind::scalar || value.kind == Value::Kind::null;
}

std::string scalar_text(const Value& value) {
  return value.kind == Value::Kind::null ? std::string("~") : value.text;
}

std::string list_text(const Value& value) {
  std::string text;
  for (const Value& item : value.items) {
    text += text.empty() ? "" : ", ";
    text += scalar_text(item);
  }
  return "[" + text + "]";
}

// `row`: the row of the table, with [] for items; `path`: the key itself, with their numbers.
void gather(const Value& value, const std::string& row, const std::string& path,
            std::vector<StatedKey>& keys) {
  const auto below = [](const std::string& parent, const std::string& name) {
    return parent.empty() ? name : parent + "." + name;
  };
  if (value.kind == Value::Kind::mapping && !value.entries.empty()) {
    for (const yaml::Entry& entry : value.entries) {
      const Key* key = row_below(row, entry.key);
      const std::string name = key == nullptr ? entry.key : std::string(key->name());
      gather(entry.value, below(row, name), below(path, name), keys);
    }
    return;
  }
  const bool list = value.kind == Value::Kind::sequence;
  if (list && !std::all_of(value.items.begin(), value.items.end(), is_scalar)) {
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      gather(value.items[i], row + "[]", fmt::format("{}[{}]", path, i), keys);
    }
    return;
  }
  const std::string text = list                                 ? list_text(value)
                           : value.kind == Value::Kind::mapping ? std::string("{}")
                                                                : scalar_text(value);
  keys.push_back({path, text, value.where});
}

}  // namespace

std::vector<StatedKey> stated_keys(std::string_view text) {
  Diagnostics ignored;
  std::vector<StatedKey> keys;
  if (const auto root = yaml::parse(text, {}, {}, ignored)) {
    gather(*root, {}, {}, keys);
  }
  return keys;
}

std::vector<DifferingKey> differing_keys(std::span<const std::string> texts) {
  std::vector<DifferingKey> all;
  std::map<std::string, std::size_t, std::less<>> places;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (StatedKey& stated : stated_keys(texts[i])) {
      const auto [place, added] = places.try_emplace(stated.key, all.size());
      if (added) {
        all.push_back({stated.key, std::vector<std::optional<std::string>>(texts.size())});
      }
      all[place->second].values[i] = std::move(stated.value);
    }
  }
  std::erase_if(all, [](const DifferingKey& key) {
    return std::all_of(key.values.begin(), key.values.end(),
                       [&key](const auto& value) { return value == key.values.front(); });
  });
  return all;
}

}  // namespace orrery::scenario
