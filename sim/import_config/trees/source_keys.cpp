#include "sim/import_config/trees/source_keys.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "sim/base/text/text.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

// Counts stay exact in a double, and products of two of them in 128 bits.
constexpr double kMostCount = 9007199254740992.0;
constexpr std::size_t kMostShown = 60;
constexpr std::size_t kLongestPath = 1024;

std::optional<double> parse_double(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  if (digits.starts_with("+")) {
    digits.erase(0, 1);
  }
  double value = 0.0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc{} && stop == digits.data() + digits.size();
  return whole && !digits.empty() && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// $NAME, ${...}, $(...), `...`; not the end of a regular expression.
bool names_variable(std::string_view text) {
  for (std::size_t at = text.find('$'); at < text.size(); at = text.find('$', at + 1)) {
    const char next = at + 1 < text.size() ? text[at + 1] : ' ';
    if (std::isalnum(static_cast<unsigned char>(next)) != 0 ||
        std::string_view("_{(@*#?!").find(next) != std::string_view::npos) {
      return true;
    }
  }
  return text.find('`') != std::string_view::npos;
}

}  // namespace

std::string normalised_key(std::string_view name) {
  while (name.starts_with("-")) {
    name.remove_prefix(1);
  }
  std::string path(name);
  std::replace(path.begin(), path.end(), '-', '_');
  return path;
}

std::string value_text(const Value& value) {
  std::string text;
  if (value.kind == Value::Kind::scalar) {
    text = value.text;
  } else if (value.kind == Value::Kind::sequence) {
    for (const Value& item : value.items) {
      text += text.empty() ? "[" : ", ";
      text += value_text(item);
      if (text.size() > kMostShown) {
        break;
      }
    }
    text = text.empty() ? "[]" : text + "]";
  } else {
    text = value.kind == Value::Kind::mapping ? "{}" : "null";
  }
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kSpace = 0x20;
    constexpr unsigned char kDelete = 0x7F;
    c = byte < kSpace || byte == kDelete ? ' ' : c;
  }
  if (text.size() > kMostShown) {
    std::size_t end = kMostShown;
    constexpr unsigned char kContinuation = 0x80;
    constexpr unsigned char kContinuationMask = 0xC0;
    while (end > 0 &&
           (static_cast<unsigned char>(text[end]) & kContinuationMask) == kContinuation) {
      --end;
    }
    text = text.substr(0, end) + "...";
  }
  return text;
}

std::string unread_reason(const Value& value) {
  if (value.kind != Value::Kind::scalar) {
    return {};
  }
  if (value.text == "auto") {
    return "`auto` is settled when the program runs";
  }
  if (value.text == "???") {
    return "`???` is to be stated by whoever starts the program";
  }
  if (names_variable(value.text)) {
    return fmt::format("{} has no value in the file", yaml::display(value.text));
  }
  return {};
}

void SourceKeys::add(const Value& tree, Again again) {
  again_ = again;
  add_below(tree, "", "", tree.where);
}

void SourceKeys::add_below(const Value& value, const std::string& path, const std::string& shown,
                           const SourceLocation& where) {
  if (value.kind == Value::Kind::mapping && (!value.entries.empty() || path.empty())) {
    if (path.size() > kLongestPath) {
      diagnostics_.error(where, yaml::display(shown), "has a name that no configuration has");
      return;
    }
    for (const yaml::Entry& entry : value.entries) {
      const std::string name = normalised_key(entry.key);
      add_below(entry.value, path.empty() ? name : path + "." + name,
                shown.empty() ? entry.key : shown + "." + entry.key, entry.key_where);
    }
    return;
  }
  if (path.empty()) {
    return;
  }
  if (path.size() > kLongestPath) {
    diagnostics_.error(where, yaml::display(shown), "has a name that no configuration has");
    return;
  }
  SourceItem item{path, shown, where, value};
  const auto [found, added] = index_.try_emplace(path, items_.size());
  if (added) {
    items_.push_back(std::move(item));
    return;
  }
  if (value.text == kNotPrinted) {
    return;
  }
  SourceItem& before = items_[found->second];
  const std::string text = value_text(value);
  if (again_ == Again::agrees && before.where.file != where.file &&
      value_text(before.value) != text) {
    diagnostics_.error(where, shown,
                       fmt::format("says {}, but {} ({}:{}) says {}", text, before.shown,
                                   before.where.file, before.where.line, value_text(before.value)),
                       "one of these files, or the one that goes on from the other");
  }
  before = std::move(item);
}

void SourceKeys::add_default(std::string_view path, std::string_view value,
                             std::string_view program) {
  const auto [found, added] = index_.try_emplace(std::string(path), items_.size());
  if (added) {
    SourceItem& item = items_.emplace_back();
    item.path = std::string(path);
    item.shown = fmt::format("{}: {}", program, path);
    item.value.kind = Value::Kind::scalar;
    item.value.text = std::string(value);
    item.by_default = true;
  }
}

void SourceKeys::rename(std::string_view old, std::string_view now) {
  const auto found = index_.find(old);
  if (found != index_.end() && index_.find(now) == index_.end()) {
    const std::size_t place = found->second;
    items_[place].path = std::string(now);
    index_.erase(found);
    index_.emplace(std::string(now), place);
  }
}

const SourceItem* SourceKeys::find(std::string_view path) const {
  const auto found = index_.find(path);
  if (found == index_.end()) {
    return nullptr;
  }
  const SourceItem& item = items_[found->second];
  return item.value.kind == Value::Kind::null ? nullptr : &item;
}

SourceItem* SourceKeys::taken(std::string_view path) {
  const auto found = index_.find(path);
  if (found == index_.end()) {
    return nullptr;
  }
  SourceItem& item = items_[found->second];
  item.used = true;
  const bool none = item.value.kind == Value::Kind::scalar && !item.value.quoted &&
                    (item.value.text == "None" || item.value.text == "null");
  return item.value.kind == Value::Kind::null || none ? nullptr : &item;
}

const SourceItem* SourceKeys::take(std::string_view path) {
  SourceItem* item = taken(path);
  if (item != nullptr && !unread_reason(item->value).empty()) {
    item->unread = true;
    return nullptr;
  }
  return item;
}

bool SourceKeys::is_unread(std::string_view path) const {
  const SourceItem* item = find(path);
  return item != nullptr && !unread_reason(item->value).empty();
}

void SourceKeys::error(const SourceItem& item, std::string_view message, std::string_view allowed) {
  // Two readers of one key say what is wrong with it once.
  const std::vector<Diagnostic>& said = diagnostics_.all();
  const bool known = std::any_of(said.begin(), said.end(), [&](const Diagnostic& one) {
    return one.where == item.where && one.key == item.shown && one.message == message;
  });
  if (!known) {
    diagnostics_.error(item.where, item.shown, message, allowed);
  }
}

const std::string* SourceKeys::scalar(SourceItem& item, std::string_view what) {
  if (!unread_reason(item.value).empty()) {
    item.unread = true;
    return nullptr;
  }
  // A number for every layer, all of them the same.
  const auto& list = item.value.items;
  if (item.value.kind == Value::Kind::sequence && list.size() > 1 && what == "a number" &&
      std::all_of(list.begin(), list.end(), [&list](const Value& one) {
        return one.kind == Value::Kind::scalar && one.text == list.front().text;
      })) {
    return &list.front().text;
  }
  if (item.value.kind != Value::Kind::scalar) {
    error(item, fmt::format("is {} where {} is needed", yaml::describe(item.value.kind), what));
    return nullptr;
  }
  return &item.value.text;
}

std::optional<std::int64_t> SourceKeys::count(std::string_view path) {
  const std::optional<double> value = number(path);
  if (!value) {
    return std::nullopt;
  }
  if (*value < 0.0 || *value > kMostCount || std::floor(*value) != *value) {
    const SourceItem& item = *find(path);
    error(item, fmt::format("{} is no whole number from 0 on", yaml::display(item.value.text)));
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*value);
}

std::optional<double> SourceKeys::number(std::string_view path) {
  SourceItem* item = taken(path);
  const std::string* text = item == nullptr ? nullptr : scalar(*item, "a number");
  if (text == nullptr) {
    return std::nullopt;
  }
  const std::optional<double> value = parse_double(*text);
  if (!value) {
    // What a command line states without a value reads as true.
    const bool bare = *text == "true" && item->shown.starts_with("--");
    error(*item, bare ? std::string("has no number behind it")
                      : fmt::format("{} is no number", yaml::display(*text)));
  }
  return value;
}

std::optional<bool> SourceKeys::flag(std::string_view path) {
  SourceItem* item = taken(path);
  if (item != nullptr && bare_flags_ && item->shown.starts_with("--") &&
      item->value.text.starts_with("$")) {
    item->unread = true;
    return true;
  }
  const std::string* text = item == nullptr ? nullptr : scalar(*item, "true or false");
  if (text == nullptr) {
    return std::nullopt;
  }
  constexpr std::array<std::string_view, 4> kTrue = {"true", "1", "yes", "on"};
  constexpr std::array<std::string_view, 4> kFalse = {"false", "0", "no", "off"};
  const std::string word = lower_case(*text);
  if (std::find(kTrue.begin(), kTrue.end(), word) != kTrue.end()) {
    return true;
  }
  if (std::find(kFalse.begin(), kFalse.end(), word) != kFalse.end()) {
    return false;
  }
  error(*item, fmt::format("{} is neither true nor false", yaml::display(*text)));
  return std::nullopt;
}

std::optional<std::string> SourceKeys::text(std::string_view path) {
  SourceItem* item = taken(path);
  const std::string* text = item == nullptr ? nullptr : scalar(*item, "a text");
  return text == nullptr ? std::nullopt : std::optional(*text);
}

std::vector<std::string> SourceKeys::texts(std::string_view path) {
  SourceItem* item = taken(path);
  std::vector<std::string> texts;
  if (item == nullptr) {
    return texts;
  }
  if (item->value.kind == Value::Kind::scalar) {
    if (const std::string* text = scalar(*item, "a text")) {
      texts.push_back(*text);
    }
    return texts;
  }
  for (const Value& value : item->value.items) {
    if (value.kind == Value::Kind::scalar) {
      texts.push_back(value.text);
    } else {
      error(*item, fmt::format("holds {} where a text is needed", yaml::describe(value.kind)));
    }
  }
  return texts;
}

}  // namespace orrery::import_config
