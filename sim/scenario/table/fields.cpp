#include "sim/scenario/table/fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/base/yaml/document.hpp"
#include "sim/scenario/edit_text.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using yaml::Entry;
using yaml::Value;

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "" : std::string(separator);
    text += word;
  }
  return text;
}

// "a time" -> "time"
std::string without_article(const std::string& name) {
  for (const std::string_view article : {"a ", "an "}) {
    if (name.starts_with(article)) {
      return name.substr(article.size());
    }
  }
  return name;
}

std::string type_of(const Key& key) {
  std::vector<std::string> types;
  for (const Form& form : key.forms) {
    const std::string name = without_article(form.name);
    types.push_back(form.list || key.list ? "list of " + name + "s" : name);
  }
  const auto below = children_of(key.path);
  if (key.mapping && !below.empty() && below.front()->folded) {
    types.emplace_back("law");
  }
  return joined(types, " or ");
}

void describe_values(const Key& key, Field& field) {
  std::vector<std::string> allowed;
  bool only_words = !key.list && !key.mapping;
  for (const Form& form : key.forms) {
    if (form.kind == FormKind::words) {
      const std::vector<std::string> words = words_of(form, PresetLibrary::standard());
      field.choices.insert(field.choices.end(), words.begin(), words.end());
      allowed.push_back(joined(words, ", "));
    } else if (form.kind == FormKind::boolean) {
      field.choices.insert(field.choices.end(), {"true", "false"});
      allowed.emplace_back("true, false");
    } else if (!form.range.empty()) {
      allowed.push_back(form.range);
    }
    only_words = only_words && !form.list &&
                 (form.kind == FormKind::words || form.kind == FormKind::boolean);
  }
  if (!only_words) {
    field.choices.clear();
  }
  field.allowed = joined(allowed, "; or ");
}

class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  // `row`: a row of the table, with [] for items; `path`: the key with their numbers.
  void below(std::string_view row, const std::string& path, const Value* value) {
    for (const Key* key : children_of(row)) {
      const Entry* entry = value != nullptr ? entry_of(*value, *key) : nullptr;
      const std::string here =
          path.empty() ? std::string(key->name()) : fmt::format("{}.{}", path, key->name());
      if (key->path == "format" || (key->folded && entry == nullptr)) {
        continue;
      }
      if (!key->forms.empty()) {
        add(*key, here, entry);
      }
      if (key->list) {
        items(*key, here, entry);
      } else if (key->mapping) {
        below(key->path, here, entry != nullptr ? &entry->value : nullptr);
      }
    }
  }

  std::vector<Field> fields;

 private:
  void items(const Key& key, const std::string& path, const Entry* entry) {
    const std::size_t count = entry != nullptr ? entry->value.items.size() : 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (entry->value.items[i].kind == Value::Kind::mapping) {
        below(key.path + "[]", fmt::format("{}[{}]", path, i), &entry->value.items[i]);
      }
    }
  }

  void add(const Key& key, const std::string& path, const Entry* entry) {
    Field field;
    field.path = path;
    field.section = path.substr(0, path.find_first_of(".["));
    field.type = type_of(key);
    field.fallback = key.fallback;
    field.note = key.note;
    field.meaning = key.meaning;
    field.example = key.example;
    field.required = key.required;
    describe_values(key, field);
    if (entry != nullptr) {
      field.where = entry->value.where;
      if (entry->value.kind == Value::Kind::null) {
        field.stated.emplace();
      } else if (const auto span = span_of(text_, entry->value)) {
        field.stated = std::string(text_.substr(span->begin, span->length));
        field.one_line = field.stated->find('\n') == std::string::npos;
      } else {
        field.stated = std::string(yaml::describe(entry->value.kind));
        field.one_line = false;
      }
    }
    fields.push_back(std::move(field));
  }

  std::string_view text_;
};

}  // namespace

std::vector<Field> fields_of(std::string_view text) {
  Diagnostics ignored;
  const auto root = yaml::parse(text, {}, {}, ignored);
  Walk walk(text);
  walk.below({}, {}, root ? &*root : nullptr);
  return std::move(walk.fields);
}

namespace {

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
  if (list && !std::ranges::all_of(value.items, is_scalar)) {
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
    return std::ranges::all_of(key.values,
                               [&key](const auto& value) { return value == key.values.front(); });
  });
  return all;
}

}  // namespace orrery::scenario
