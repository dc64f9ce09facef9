#pragma once

// Typed, strict access to one mapping of a document: known keys, checked values, nothing left over.
// Every problem becomes a diagnostic with file, line, column and dotted key path; the caller reads
// on, so that all problems are reported at once.
//
//   MappingReader layout(value, diagnostics, "layout");
//   auto tensor = layout.require<kind::Count>({"tensor", "tp"}, at_least<std::int64_t>(1));
//   auto sharding = layout.optional_choice<Sharding>("sharding", kShardingNames);
//   layout.finish();  // unknown keys are errors: did you mean `tensor`?
//
// A getter returns nothing when the key is absent or its value is wrong; the two differ by the
// diagnostics only. `require` reports an absent key. A key may have alternate names; giving two of
// them is an error that names both lines. A key that is present but empty is an error.
//
// A table-driven reader keeps {path, kind, doc, default, allowed, setter} per key and calls the
// getters from it; values that may have several forms go through take() and read_value().
//
// Names passed in must live until finish(); the Value and the Diagnostics must outlive the reader.

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/kinds.hpp"

namespace orrery::yaml {

// One name of an enumeration value; several names may stand for the same value.
template <typename E>
struct Choice {
  std::string_view name;
  E value;
};

// The name of a key, and other names that mean the same; the first is printed in messages.
class KeyNames {
 public:
  KeyNames(const char* name) : names_{std::string_view(name)} {}

  KeyNames(std::string_view name) : names_{name} {}

  KeyNames(std::initializer_list<std::string_view> names) : names_(names) {}

  explicit KeyNames(std::vector<std::string_view> names) : names_(std::move(names)) {}

  [[nodiscard]] std::string_view primary() const {
    return names_.empty() ? std::string_view() : names_.front();
  }

  [[nodiscard]] const std::vector<std::string_view>& all() const { return names_; }

 private:
  std::vector<std::string_view> names_;
};

// Diagnostics of a reader stop after this many, with one line that says so.
inline constexpr std::size_t kMaxReaderProblems = 200;

// Adds an error at `where` for the dotted `path`, unless kMaxReaderProblems are already there.
void report(Diagnostics& diagnostics, const SourceLocation& where, std::string_view path,
            std::string_view message, std::string_view allowed = {});

// The text of a scalar, or nothing after a diagnostic "is a mapping where <what> is needed".
[[nodiscard]] const std::string* read_text(const Value& value, std::string_view path,
                                           std::string_view what, std::string_view example,
                                           Diagnostics& diagnostics);

// The index of the word in `words`; otherwise a diagnostic with the nearest and all allowed words.
[[nodiscard]] std::optional<std::size_t> read_word(const Value& value, std::string_view path,
                                                   std::span<const std::string_view> words,
                                                   Diagnostics& diagnostics);

// True for the scalar `word`, such as auto or none; JSON puts it in quotes.
[[nodiscard]] bool is_word(const Value& value, std::string_view word);

// One scalar of kind K inside the range, or nothing after a diagnostic.
template <typename K>
[[nodiscard]] std::optional<typename K::Type> read_value(const Value& value, std::string_view path,
                                                         Diagnostics& diagnostics,
                                                         const Range<typename K::Type>& range = {});

class MappingReader {
 public:
  // `path` is the dotted path of this mapping, empty for the root. A value that is no mapping is
  // reported here; the reader then finds no keys and reports no missing ones.
  MappingReader(const Value& value, Diagnostics& diagnostics, std::string path = {});

  // False when the value is no mapping.
  [[nodiscard]] bool valid() const { return valid_; }

  template <typename K>
  [[nodiscard]] std::optional<typename K::Type> optional(
      const KeyNames& names, const Range<typename K::Type>& range = {}) {
    const Value* value = take(names);
    return value == nullptr ? std::nullopt
                            : read_value<K>(*value, path_of(names.primary()), *diagnostics_, range);
  }

  template <typename K>
  [[nodiscard]] std::optional<typename K::Type> require(const KeyNames& names,
                                                        const Range<typename K::Type>& range = {}) {
    const Value* value = take_required(names, K::kWhat, K::kExample);
    return value == nullptr ? std::nullopt
                            : read_value<K>(*value, path_of(names.primary()), *diagnostics_, range);
  }

  // Any scalar, kept as text; an empty text is an error. `example`: of what could stand there.
  [[nodiscard]] std::optional<std::string> optional_text(const KeyNames& names);
  [[nodiscard]] std::optional<std::string> require_text(const KeyNames& names,
                                                        std::string_view example = "`abc`");

  template <typename E, std::size_t N>
  [[nodiscard]] std::optional<E> optional_choice(const KeyNames& names,
                                                 const std::array<Choice<E>, N>& choices) {
    return choose(take(names), names, choices);
  }

  template <typename E, std::size_t N>
  [[nodiscard]] std::optional<E> require_choice(const KeyNames& names,
                                                const std::array<Choice<E>, N>& choices) {
    return choose(take_required(names, "a name", choices.front().name), names, choices);
  }

  // A sequence of scalars of kind K. A single wrong item makes the whole list absent.
  template <typename K>
  [[nodiscard]] std::optional<std::vector<typename K::Type>> optional_list(
      const KeyNames& names, const Range<typename K::Type>& range = {});
  [[nodiscard]] std::optional<std::vector<std::string>> optional_text_list(const KeyNames& names);

  // A nested mapping; the caller reads it and calls its finish().
  [[nodiscard]] std::optional<MappingReader> optional_mapping(const KeyNames& names);
  [[nodiscard]] std::optional<MappingReader> require_mapping(const KeyNames& names);

  // A sequence of mappings, one reader per item with the path "key[0]"; empty when absent.
  [[nodiscard]] std::vector<MappingReader> optional_mappings(const KeyNames& names);

  // The items of a sequence of anything, or nothing when absent or no sequence (reported).
  [[nodiscard]] const std::vector<Value>* optional_sequence(const KeyNames& names);

  // The value as it stands, marked as read; nullptr when absent. For values of several forms.
  [[nodiscard]] const Value* take(const KeyNames& names);
  [[nodiscard]] const Value* take_required(const KeyNames& names, std::string_view what,
                                           std::string_view example);

  // True, and marked as read, when the value is exactly this word (auto, none).
  [[nodiscard]] bool take_word(const KeyNames& names, std::string_view word);

  // Declares a key as known without reading it.
  void allow(const KeyNames& names);

  // Whether the key stands in the mapping; does not mark it as read.
  [[nodiscard]] bool has(const KeyNames& names) const;

  // Position of the key's value; of the mapping when the key is absent.
  [[nodiscard]] SourceLocation where(const KeyNames& names) const;

  // Dotted path of a key of this mapping, and of the mapping itself.
  [[nodiscard]] std::string path_of(std::string_view key) const;

  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] const Value& value() const { return *value_; }

  [[nodiscard]] Diagnostics& diagnostics() const { return *diagnostics_; }

  // An error at the key's value (at the mapping when absent), for checks across keys.
  void error(const KeyNames& names, std::string_view message, std::string_view allowed = {}) const;

  // Reports every key that no getter asked for. Call once, after all getters. `elsewhere` gives the
  // full path of a key of this name outside this mapping, or nothing.
  void finish(const std::function<std::string_view(std::string_view)>& elsewhere = {});

 private:
  void learn(const KeyNames& names);
  [[nodiscard]] std::optional<std::size_t> find(const KeyNames& names) const;

  template <typename E, std::size_t N>
  std::optional<E> choose(const Value* value, const KeyNames& names,
                          const std::array<Choice<E>, N>& choices) const;

  const Value* value_;
  Diagnostics* diagnostics_;
  std::string path_;
  bool valid_;
  std::vector<bool> used_;                     // one per entry of the mapping
  std::vector<std::string_view> known_;        // every name asked for, alternates included
  std::vector<std::string_view> known_first_;  // the first name of each, for the list of allowed
};

template <typename K>
std::optional<typename K::Type> read_value(const Value& value, std::string_view path,
                                           Diagnostics& diagnostics,
                                           const Range<typename K::Type>& range) {
  const std::string* text = read_text(value, path, K::kWhat, K::kExample, diagnostics);
  if (text == nullptr) {
    return std::nullopt;
  }
  auto parsed = K::parse(*text);
  if (!parsed.value) {
    report(diagnostics, value.where, path, parsed.message, parsed.allowed);
    return std::nullopt;
  }
  if constexpr (!std::is_same_v<typename K::Type, StepsOrTime>) {  // steps and times do not compare
    if (range.min &&
        (*parsed.value < *range.min || (range.min_exclusive && !(*range.min < *parsed.value)))) {
      report(diagnostics, value.where, path, display(*text) + " is too small",
             (range.min_exclusive ? "above " : "at least ") + K::format(*range.min));
      return std::nullopt;
    }
    if (range.max && *range.max < *parsed.value) {
      report(diagnostics, value.where, path, display(*text) + " is too large",
             "at most " + K::format(*range.max));
      return std::nullopt;
    }
  }
  return parsed.value;
}

template <typename K>
std::optional<std::vector<typename K::Type>> MappingReader::optional_list(
    const KeyNames& names, const Range<typename K::Type>& range) {
  const std::vector<Value>* items = optional_sequence(names);
  if (items == nullptr) {
    return std::nullopt;
  }
  std::vector<typename K::Type> list;
  bool complete = true;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const std::string path = path_of(names.primary()) + "[" + std::to_string(i) + "]";
    const auto item = read_value<K>((*items)[i], path, *diagnostics_, range);
    complete = complete && item.has_value();
    if (item) {
      list.push_back(*item);
    }
  }
  return complete ? std::optional(std::move(list)) : std::nullopt;
}

template <typename E, std::size_t N>
std::optional<E> MappingReader::choose(const Value* value, const KeyNames& names,
                                       const std::array<Choice<E>, N>& choices) const {
  if (value == nullptr) {
    return std::nullopt;
  }
  std::array<std::string_view, N> words{};
  for (std::size_t i = 0; i < N; ++i) {
    words[i] = choices[i].name;
  }
  const auto index = read_word(*value, path_of(names.primary()), words, *diagnostics_);
  return index ? std::optional<E>(choices[*index].value) : std::nullopt;
}

}  // namespace orrery::yaml
