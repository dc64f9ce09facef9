#include "sim/base/yaml/reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace orrery::yaml {

namespace {

// Beyond this length nobody mistyped a name, and comparing would be slow.
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMaxUnknownKeys = 20;  // reported per mapping

std::string join(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > kLongestName) {
    return {};
  }
  return nearest_name(word, std::vector<std::string_view>(candidates.begin(), candidates.end()));
}

}  // namespace

void report(Diagnostics& diagnostics, const SourceLocation& where, std::string_view path,
            std::string_view message, std::string_view allowed) {
  const std::size_t count = diagnostics.all().size();
  if (count < kMaxReaderProblems) {
    diagnostics.error(where, path, message, allowed);
  } else if (count == kMaxReaderProblems) {
    diagnostics.error({where.file, 0, 0}, {}, "too many problems, the rest is not shown");
  }
}

const std::string* read_text(const Value& value, std::string_view path, std::string_view what,
                             std::string_view example, Diagnostics& diagnostics) {
  if (value.kind == Value::Kind::scalar) {
    return &value.text;
  }
  const std::string allowed = fmt::format("{} such as {}", what, example);
  if (value.kind == Value::Kind::null) {
    report(diagnostics, value.where, path, "has no value", allowed);
  } else {
    report(diagnostics, value.where, path,
           fmt::format("is {} where {} is needed", describe(value.kind), what), allowed);
  }
  return nullptr;
}

std::optional<std::size_t> read_word(const Value& value, std::string_view path,
                                     std::span<const std::string_view> words,
                                     Diagnostics& diagnostics) {
  const std::string_view example = words.empty() ? std::string_view() : words.front();
  const std::string* text = read_text(value, path, "a name", example, diagnostics);
  if (text == nullptr) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(words, *text);
  if (found != words.end()) {
    return static_cast<std::size_t>(found - words.begin());
  }
  constexpr std::size_t kTelling = 3;  // letters
  std::vector<std::string_view> longer;
  std::copy_if(words.begin(), words.end(), std::back_inserter(longer), [text](auto word) {
    return text->size() >= kTelling && word.find(*text) != std::string_view::npos;
  });
  const std::string_view guess = longer.size() == 1 ? longer.front() : nearest(*text, words);
  std::string message = fmt::format("{} is not known", display(*text));
  if (longer.size() > 1) {
    message += fmt::format(", which of {}?", join(longer));
  } else if (!guess.empty()) {
    message += fmt::format(", did you mean `{}`?", guess);
  }
  report(diagnostics, value.where, path, message,
         words.empty() ? "none was found" : "allowed: " + join(words));
  return std::nullopt;
}

bool is_word(const Value& value, std::string_view word) {
  return value.kind == Value::Kind::scalar && value.text == word;
}

MappingReader::MappingReader(const Value& value, Diagnostics& diagnostics, std::string path)
    : value_(&value),
      diagnostics_(&diagnostics),
      path_(std::move(path)),
      valid_(value.kind == Value::Kind::mapping),
      used_(value.entries.size(), false) {
  if (!valid_) {
    const bool null = value.kind == Value::Kind::null;
    report(diagnostics, value.where, path_,
           null ? std::string("has no value")
                : fmt::format("is {} where a mapping is needed", describe(value.kind)),
           "a mapping of keys to values");
  }
}

std::string MappingReader::path_of(std::string_view key) const {
  std::string path = path_;
  if (!path.empty()) {
    path += '.';
  }
  return path.append(key);
}

// Names that are asked for twice stand twice until finish() needs them: hardly any file has an
// unknown key.
void MappingReader::learn(const KeyNames& names) {
  known_.insert(known_.end(), names.all().begin(), names.all().end());
  known_first_.push_back(names.primary());
}

std::optional<std::size_t> MappingReader::find(const KeyNames& names) const {
  if (!valid_) {
    return std::nullopt;
  }
  const std::vector<std::string_view>& all = names.all();
  for (std::size_t i = 0; i < value_->entries.size(); ++i) {
    if (std::ranges::find(all, value_->entries[i].key) != all.end()) {
      return i;
    }
  }
  return std::nullopt;
}

const Value* MappingReader::take(const KeyNames& names) {
  learn(names);
  const std::optional<std::size_t> first = find(names);
  if (!first) {
    return nullptr;
  }
  const Entry& entry = value_->entries[*first];
  const bool again = used_[*first];
  used_[*first] = true;
  const std::vector<std::string_view>& all = names.all();
  for (std::size_t i = *first + 1; all.size() > 1 && i < value_->entries.size(); ++i) {
    const Entry& other = value_->entries[i];
    if (std::ranges::find(all, other.key) == all.end()) {
      continue;
    }
    used_[i] = true;
    if (!again) {
      report(
          *diagnostics_, other.key_where, path_of(other.key),
          fmt::format("is another name of `{}`, given in line {}", entry.key, entry.key_where.line),
          "give one of them");
    }
  }
  return &entry.value;
}

const Value* MappingReader::take_required(const KeyNames& names, std::string_view what,
                                          std::string_view example) {
  const Value* value = take(names);
  if (value == nullptr && valid_) {
    report(*diagnostics_, value_->where, path_of(names.primary()), "is required but missing",
           fmt::format("{} such as {}", what, example));
  }
  return value;
}

bool MappingReader::take_word(const KeyNames& names, std::string_view word) {
  const std::optional<std::size_t> found = find(names);
  return found && is_word(value_->entries[*found].value, word) && take(names) != nullptr;
}

void MappingReader::allow(const KeyNames& names) { static_cast<void>(take(names)); }

bool MappingReader::has(const KeyNames& names) const { return find(names).has_value(); }

SourceLocation MappingReader::where(const KeyNames& names) const {
  const std::optional<std::size_t> found = find(names);
  return found ? value_->entries[*found].value.where : value_->where;
}

void MappingReader::error(const KeyNames& names, std::string_view message,
                          std::string_view allowed) const {
  report(*diagnostics_, where(names), path_of(names.primary()), message, allowed);
}

namespace {

std::optional<std::string> text_of(const Value* value, const std::string& path,
                                   Diagnostics& diagnostics) {
  if (value == nullptr) {
    return std::nullopt;
  }
  const std::string* text = read_text(*value, path, "a text", "`abc`", diagnostics);
  if (text == nullptr) {
    return std::nullopt;
  }
  if (text->empty()) {
    report(diagnostics, value->where, path, "is an empty text", "at least one character");
    return std::nullopt;
  }
  return *text;
}

}  // namespace

std::optional<std::string> MappingReader::optional_text(const KeyNames& names) {
  return text_of(take(names), path_of(names.primary()), *diagnostics_);
}

std::optional<std::string> MappingReader::require_text(const KeyNames& names,
                                                       std::string_view example) {
  return text_of(take_required(names, "a text", example), path_of(names.primary()), *diagnostics_);
}

const std::vector<Value>* MappingReader::optional_sequence(const KeyNames& names) {
  const Value* value = take(names);
  if (value == nullptr) {
    return nullptr;
  }
  if (value->kind != Value::Kind::sequence) {
    const bool null = value->kind == Value::Kind::null;
    report(*diagnostics_, value->where, path_of(names.primary()),
           null ? std::string("has no value")
                : fmt::format("is {} where a list is needed", describe(value->kind)),
           "a list such as [a, b]");
    return nullptr;
  }
  return &value->items;
}

std::optional<std::vector<std::string>> MappingReader::optional_text_list(const KeyNames& names) {
  const std::vector<Value>* items = optional_sequence(names);
  if (items == nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> list;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const std::string path = fmt::format("{}[{}]", path_of(names.primary()), i);
    if (auto text = text_of(&(*items)[i], path, *diagnostics_)) {
      list.push_back(std::move(*text));
    }
  }
  return list.size() == items->size() ? std::optional(std::move(list)) : std::nullopt;
}

std::optional<MappingReader> MappingReader::optional_mapping(const KeyNames& names) {
  const Value* value = take(names);
  if (value == nullptr) {
    return std::nullopt;
  }
  MappingReader reader(*value, *diagnostics_, path_of(names.primary()));
  return reader.valid() ? std::optional(std::move(reader)) : std::nullopt;
}

std::optional<MappingReader> MappingReader::require_mapping(const KeyNames& names) {
  const Value* value = take_required(names, "a mapping", "{key: value}");
  if (value == nullptr) {
    return std::nullopt;
  }
  MappingReader reader(*value, *diagnostics_, path_of(names.primary()));
  return reader.valid() ? std::optional(std::move(reader)) : std::nullopt;
}

std::vector<MappingReader> MappingReader::optional_mappings(const KeyNames& names) {
  std::vector<MappingReader> readers;
  const std::vector<Value>* items = optional_sequence(names);
  for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
    MappingReader reader((*items)[i], *diagnostics_,
                         fmt::format("{}[{}]", path_of(names.primary()), i));
    if (reader.valid()) {
      readers.push_back(std::move(reader));
    }
  }
  return readers;
}

namespace {

// The first of equal names stays.
void drop_repeated(std::vector<std::string_view>& names) {
  std::set<std::string_view> seen;
  std::erase_if(names, [&seen](std::string_view name) { return !seen.insert(name).second; });
}

}  // namespace

void MappingReader::finish(const std::function<std::string_view(std::string_view)>& elsewhere) {
  std::size_t unknown = 0;
  for (std::size_t i = 0; valid_ && i < used_.size(); ++i) {
    if (used_[i]) {
      continue;
    }
    const Entry& entry = value_->entries[i];
    if (++unknown > kMaxUnknownKeys) {
      report(*diagnostics_, entry.key_where, path_, "more unknown keys follow");
      return;
    }
    if (unknown == 1) {
      drop_repeated(known_);
      drop_repeated(known_first_);
    }
    const std::string_view other = elsewhere ? elsewhere(entry.key) : std::string_view();
    const std::string_view guess = nearest(entry.key, known_);
    report(*diagnostics_, entry.key_where, path_of(entry.key), "unknown key",
           !other.empty()  ? fmt::format("it is `{}`; here: {}", other, join(known_first_))
           : guess.empty() ? "allowed: " + join(known_first_)
                           : fmt::format("did you mean `{}`?", guess));
  }
}

}  // namespace orrery::yaml
