#include "sim/scenario/edit_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "sim/base/yaml/document.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/table/fields.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using yaml::Entry;
using yaml::Value;

constexpr std::size_t kIndent = 2;

// One part of a dotted path and the row of the table above it.
struct Part {
  std::string row;   // of the mapping that holds it
  std::string name;  // in the spelling of the reference
  std::optional<std::size_t> index;
};

std::vector<Part> parts_of(std::string_view path) {
  std::vector<Part> parts;
  std::string row;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view word = path.substr(0, dot);
    const std::size_t bracket = word.find('[');
    Part part{row, std::string(word.substr(0, bracket)), std::nullopt};
    if (bracket != std::string_view::npos) {
      std::size_t index = 0;
      std::from_chars(word.data() + bracket + 1, word.data() + word.size(), index);
      part.index = index;
    }
    row += (row.empty() ? "" : ".") + part.name + (part.index ? "[]" : "");
    parts.push_back(std::move(part));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return parts;
}

const Entry* entry_of(const Value& mapping, const Part& part) {
  const Key* key = row_below(part.row, part.name);
  return key == nullptr ? nullptr : entry_of(mapping, *key);
}

bool is_flow(std::string_view text, const Value& value) {
  const std::size_t at = offset_of(text, value.where.line, value.where.column);
  return at < text.size() && (text[at] == '{' || text[at] == '[');
}

std::size_t end_of_line(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end;
}

std::size_t end_of_quoted(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '\'' && i + 1 < text.size() && text[i + 1] == quote) {
        ++i;
        continue;
      }
      return i + 1;
    }
  }
  return std::string_view::npos;
}

std::size_t end_of_flow(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    const bool after_blank = i > 0 && (text[i - 1] == ' ' || text[i - 1] == '\n');
    if (c == '"' || c == '\'') {
      const bool opens = std::string_view(" [{,:\n").find(text[i - 1]) != std::string_view::npos;
      const std::size_t end = opens ? end_of_quoted(text, i) : i + 1;
      if (end == std::string_view::npos) {
        return end;
      }
      i = end - 1;
    } else if (c == '#' && after_blank) {
      i = end_of_line(text, i);
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
      if (depth == 0) {
        return i + 1;
      }
    }
  }
  return std::string_view::npos;
}

// Behind the colon of an entry.
std::optional<std::size_t> after_colon(std::string_view text, const Entry& entry) {
  std::size_t at = offset_of(text, entry.key_where.line, entry.key_where.column);
  const bool quoted = at < text.size() && (text[at] == '"' || text[at] == '\'');
  at = quoted ? end_of_quoted(text, at) : at + entry.key.size();
  at = at < text.size() ? text.find(':', at) : std::string_view::npos;
  return at == std::string_view::npos ? std::nullopt : std::optional(at + 1);
}

// End of the last line of an entry; nothing when it is not told easily.
std::optional<std::size_t> last_line_of(std::string_view text, const Entry& entry) {
  const Value& value = entry.value;
  if (value.kind == Value::Kind::null) {
    const auto at = after_colon(text, entry);
    return at ? std::optional(end_of_line(text, *at)) : std::nullopt;
  }
  if (const auto span = span_of(text, value)) {
    return end_of_line(text, span->begin + span->length);
  }
  if (value.kind == Value::Kind::mapping && !value.entries.empty()) {
    return last_line_of(text, value.entries.back());
  }
  if (value.kind == Value::Kind::sequence && !value.items.empty()) {
    const Value& item = value.items.back();
    if (const auto span = span_of(text, item)) {
      return end_of_line(text, span->begin + span->length);
    }
    if (item.kind == Value::Kind::mapping && !item.entries.empty()) {
      return last_line_of(text, item.entries.back());
    }
  }
  return std::nullopt;
}

// "spares: 64" below its missing sections: "{spares: 64}" or lines of their own.
std::string flow_text(const std::vector<Part>& parts, std::size_t from, const std::string& value) {
  std::string text = parts[from].name + ": ";
  return from + 1 == parts.size() ? text + value
                                  : text + "{" + flow_text(parts, from + 1, value) + "}";
}

std::string block_text(const std::vector<Part>& parts, std::size_t from, std::size_t indent,
                       const std::string& value) {
  std::string text = std::string(indent, ' ') + parts[from].name + ":";
  return from + 1 == parts.size()
             ? text + " " + value
             : text + "\n" + block_text(parts, from + 1, indent + kIndent, value);
}

std::optional<TextEdit> insert_into(std::string_view text, const Value& mapping,
                                    const std::vector<Part>& parts, std::size_t from,
                                    const std::string& value) {
  const std::size_t begin = offset_of(text, mapping.where.line, mapping.where.column);
  if (is_flow(text, mapping)) {
    const bool empty = mapping.entries.empty();
    if (empty) {
      return TextEdit{begin + 1, 0, flow_text(parts, from, value)};
    }
    const std::size_t end = end_of_flow(text, begin);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    std::size_t last = end - 1;
    while (last > begin && (text[last - 1] == ' ' || text[last - 1] == '\n')) {
      --last;
    }
    return TextEdit{last, 0, ", " + flow_text(parts, from, value)};
  }
  if (mapping.entries.empty()) {
    return std::nullopt;
  }
  const SourceLocation& first = mapping.entries.front().key_where;
  const auto indent = static_cast<std::size_t>(first.column - 1);
  if (const auto end = last_line_of(text, mapping.entries.back())) {
    return TextEdit{*end, 0, "\n" + block_text(parts, from, indent, value)};
  }
  const std::string line = block_text(parts, from, indent, value).substr(indent);
  return TextEdit{offset_of(text, first.line, first.column), 0,
                  line + "\n" + std::string(indent, ' ')};
}

std::optional<TextEdit> replace_entry(std::string_view text, const Entry& entry,
                                      const std::vector<Part>& parts, std::size_t at,
                                      const std::string& value) {
  const bool here = at + 1 == parts.size();
  if (entry.value.kind == Value::Kind::null) {
    const auto colon = after_colon(text, entry);
    if (!colon) {
      return std::nullopt;
    }
    const auto indent = static_cast<std::size_t>(entry.key_where.column - 1) + kIndent;
    return TextEdit{*colon, 0,
                    here ? " " + value : "\n" + block_text(parts, at + 1, indent, value)};
  }
  const auto span = here ? span_of(text, entry.value) : std::nullopt;
  return span ? std::optional(TextEdit{span->begin, span->length, value}) : std::nullopt;
}

// `software: nemo` becomes `software: {name: nemo, release: "25.04"}`.
std::optional<TextEdit> spell_out(std::string_view text, const Value& section,
                                  const std::vector<Part>& parts, std::size_t from,
                                  const std::string& value) {
  const std::string_view name = key_of_text(parts[from].row);
  const auto span = span_of(text, section);
  if (name.empty() || !span) {
    return std::nullopt;
  }
  return TextEdit{span->begin, span->length,
                  fmt::format("{{{}: {}, {}}}", name, text.substr(span->begin, span->length),
                              flow_text(parts, from, value))};
}

// The edit, unchecked.
std::optional<TextEdit> find_edit(std::string_view text, const Value& root,
                                  const std::vector<Part>& parts, const std::string& value) {
  const Value* mapping = &root;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (mapping->kind == Value::Kind::scalar) {
      return spell_out(text, *mapping, parts, i, value);
    }
    if (mapping->kind != Value::Kind::mapping) {
      return std::nullopt;
    }
    const Entry* entry = entry_of(*mapping, parts[i]);
    if (entry == nullptr) {
      return parts[i].index ? std::nullopt : insert_into(text, *mapping, parts, i, value);
    }
    const Value* found = &entry->value;
    if (parts[i].index) {
      if (*parts[i].index >= found->items.size()) {
        return std::nullopt;
      }
      found = &found->items[*parts[i].index];
    }
    if (i + 1 == parts.size() || found->kind == Value::Kind::null) {
      return parts[i].index ? std::nullopt : replace_entry(text, *entry, parts, i, value);
    }
    mapping = found;
  }
  return std::nullopt;
}

bool is_below(std::string_view key, std::string_view parent) {
  return key.starts_with(parent) &&
         (key.size() == parent.size() || key[parent.size()] == '.' || key[parent.size()] == '[');
}

std::vector<std::pair<std::string, std::string>> others(std::string_view text, std::string_view key,
                                                        bool inside) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (StatedKey& stated : stated_keys(text)) {
    const std::string_view name = stated.value == "{}" ? "" : key_of_text(stated.key);
    if (!name.empty()) {  // a text in place of a section is its key
      stated.key += fmt::format(".{}", name);
    }
    // A section that was empty is no key of its own once it holds one.
    const bool empty_section = is_below(key, stated.key) && stated.key != key;
    if (is_below(stated.key, key) == inside && !empty_section) {
      rows.emplace_back(std::move(stated.key), std::move(stated.value));
    }
  }
  std::ranges::sort(rows);
  return rows;
}

std::string with_edit(std::string_view text, const TextEdit& edit) {
  std::string edited(text);
  return edited.replace(edit.begin, edit.length, edit.text);
}

// What the key and the keys below it say when it has this value alone.
std::vector<std::pair<std::string, std::string>> said_by(const std::vector<Part>& parts,
                                                         std::string_view path,
                                                         const std::string& value) {
  std::vector<Part> plain = parts;
  const bool listed = std::ranges::any_of(parts, [](const Part& part) { return !!part.index; });
  return listed ? std::vector<std::pair<std::string, std::string>>{}
                : others(block_text(plain, 0, 0, value), path, true);
}

constexpr std::string_view kByHand = "change it in the text";

}  // namespace

std::size_t offset_of(std::string_view text, int line, int column) {
  std::size_t at = 0;
  for (int i = 1; i < line && at < text.size(); ++i) {
    at = std::min(end_of_line(text, at) + 1, text.size());
  }
  constexpr unsigned kContinuation = 0x80U;
  constexpr unsigned kTopBits = 0xC0U;
  for (int i = 1; i < column && at < text.size(); ++i) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & kTopBits) == kContinuation) {
      ++at;
    }
  }
  return at;
}

std::optional<TextSpan> span_of(std::string_view text, const Value& value) {
  const std::size_t begin = offset_of(text, value.where.line, value.where.column);
  if (begin >= text.size() || value.where.line == 0) {
    return std::nullopt;
  }
  std::size_t end = std::string_view::npos;
  if (value.kind == Value::Kind::scalar && !value.quoted) {
    const bool plain = text.substr(begin, value.text.size()) == value.text;
    end = plain ? begin + value.text.size() : end;
  } else if (value.kind == Value::Kind::scalar && (text[begin] == '"' || text[begin] == '\'')) {
    end = end_of_quoted(text, begin);
  } else if (text[begin] == '[' || text[begin] == '{') {
    end = end_of_flow(text, begin);
  }
  return end == std::string_view::npos ? std::nullopt : std::optional(TextSpan{begin, end - begin});
}

std::optional<TextEdit> set_key(std::string_view text, const KeyValue& change,
                                Diagnostics& diagnostics) {
  const auto facts = find_key(change.key, change.where, diagnostics);
  const auto root = yaml::parse(text, change.where.file, {}, diagnostics);
  if (!facts || !root) {
    return std::nullopt;
  }
  const std::vector<Part> parts = parts_of(facts->path);
  const auto edit = find_edit(text, *root, parts, change.value);
  if (edit) {
    const std::string edited = with_edit(text, *edit);
    const auto wanted = said_by(parts, facts->path, change.value);
    const auto got = others(edited, facts->path, true);
    if (!got.empty() && (wanted.empty() || got == wanted) &&
        others(edited, facts->path, false) == others(text, facts->path, false)) {
      return edit;
    }
  }
  // What the reader has against the value, if that is it.
  Diagnostics problems;
  Diagnostics unused;
  if (const auto base = ScenarioTemplate::from_text(text, change.where.file, unused)) {
    static_cast<void>(base->with(std::span(&change, 1), problems));
  }
  bool explained = false;
  for (const Diagnostic& problem : problems.all()) {
    if (problem.severity == Severity::error && problem.key.starts_with(facts->path)) {
      diagnostics.add(problem);
      explained = true;
    }
  }
  if (!explained) {
    diagnostics.error(change.where, change.key, "cannot be set here to this value", kByHand);
  }
  return std::nullopt;
}

std::optional<TextEdit> remove_key(std::string_view text, std::string_view key,
                                   Diagnostics& diagnostics) {
  const auto facts = find_key(key, {}, diagnostics);
  const auto root = yaml::parse(text, {}, {}, diagnostics);
  if (!facts || !root) {
    return std::nullopt;
  }
  const std::vector<Part> parts = parts_of(facts->path);
  const Value* mapping = &*root;
  const Entry* entry = nullptr;
  for (const Part& part : parts) {
    entry = mapping->kind == Value::Kind::mapping ? entry_of(*mapping, part) : nullptr;
    if (entry == nullptr) {
      return TextEdit{};  // not stated: nothing to take away
    }
    mapping = part.index && *part.index < entry->value.items.size()
                  ? &entry->value.items[*part.index]
                  : &entry->value;
  }
  const std::size_t begin = offset_of(text, entry->key_where.line, 1);
  const auto end = last_line_of(text, *entry);
  if (end) {
    const TextEdit edit{begin, std::min(*end + 1, text.size()) - begin, {}};
    if (others(with_edit(text, edit), facts->path, false) == others(text, facts->path, false)) {
      return edit;
    }
  }
  // Inside braces: with the comma before it, or after it.
  const std::size_t from = offset_of(text, entry->key_where.line, entry->key_where.column);
  if (const auto span = span_of(text, entry->value)) {
    const std::size_t stop = span->begin + span->length;
    const std::size_t before = text.find_last_not_of(" \n", from == 0 ? 0 : from - 1);
    const std::size_t after = text.find_first_not_of(" \n", stop);
    const std::size_t next =
        after < text.size() ? std::min(text.find_first_not_of(' ', after + 1), text.size()) : after;
    for (const TextEdit& edit :
         {TextEdit{before, stop - before, {}}, TextEdit{from, next - from, {}}}) {
      Diagnostics ignored;
      const bool fits = edit.begin < text.size() && after != std::string_view::npos;
      if (fits && text[edit.begin == before ? before : after] == ',' &&
          others(with_edit(text, edit), facts->path, false) == others(text, facts->path, false)) {
        return edit;
      }
    }
  }
  diagnostics.error({}, key, "cannot be taken away here", kByHand);
  return std::nullopt;
}

std::optional<std::string> with_keys(std::string_view text, std::span<const KeyValue> changes,
                                     Diagnostics& diagnostics) {
  std::string edited(text);
  for (const KeyValue& change : changes) {
    const auto edit = set_key(edited, change, diagnostics);
    if (!edit) {
      return std::nullopt;
    }
    edited = with_edit(edited, *edit);
  }
  return edited;
}

void drop_outdated_data(std::string& text, std::span<const KeyValue> changes,
                        const std::string& file_name, const ScenarioTemplate::Search& search,
                        Diagnostics& diagnostics) {
  Diagnostics unused;
  const auto scenario = load_text(text, file_name, unused, search);
  const auto outdated = scenario ? outdated_data(*scenario, changes) : std::nullopt;
  const auto edit = outdated ? remove_key(text, "layout.data", unused) : std::nullopt;
  if (edit) {
    text = with_edit(text, *edit);
    diagnostics.add(*outdated);
  }
}

}  // namespace orrery::scenario
