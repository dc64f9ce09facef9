#include "sim/import_config/trees/key_fates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "sim/base/text/text.hpp"
#include "sim/base/units.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

struct KeyTable {
  std::string_view name;
  std::string_view stack;
  std::map<std::string_view, KeyFate> keys;
  std::vector<std::pair<std::string_view, KeyFate>> patterns;
  std::vector<std::pair<std::string_view, std::string_view>> absent;   // key and value
  std::vector<std::pair<std::string_view, std::string_view>> renamed;  // key, and what it was
};

namespace {

using yaml::Value;

constexpr std::array<std::pair<std::string_view, Fate>, 7> kFates = {{{"takes", Fate::takes},
                                                                      {"sets", Fate::sets},
                                                                      {"none", Fate::none},
                                                                      {"small", Fate::small},
                                                                      {"large", Fate::large},
                                                                      {"beside", Fate::beside},
                                                                      {"refused", Fate::refused}}};

// The line behind a fate: a reason, of `takes` a key and values; perhaps `if` and other keys.
KeyFate fate_of(Fate fate, std::string_view line) {
  constexpr std::string_view kIf = " if ";
  const std::size_t at = line.rfind(kIf);
  const bool needs = at != std::string_view::npos &&
                     line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.!?&* ",
                                            at + kIf.size()) == std::string_view::npos;
  const std::string_view others = needs ? line.substr(at + kIf.size()) : std::string_view();
  line = needs ? line.substr(0, at) : line;
  const std::string_view key = fate == Fate::takes ? cut(line, ' ') : std::exchange(line, {});
  return {fate, key, line, others, {}};
}

KeyTable parse_table(const NamedTable& shipped) {
  KeyTable table;
  table.name = shipped.name.substr(0, shipped.name.rfind('.'));
  for (const TableRow& row : table_rows(shipped.text)) {
    if (row.fate == "stack") {
      table.stack = row.rest;
      continue;
    }
    const auto* known = std::find_if(kFates.begin(), kFates.end(),
                                     [&row](const auto& one) { return one.first == row.fate; });
    KeyFate fate = fate_of(known == kFates.end() ? Fate::large : known->second, row.rest);
    for (std::string_view word : row.keys) {
      const std::string_view key = cut(word, '=');
      fate.neutral = word;
      if (row.fate == "absent") {
        table.absent.emplace_back(key, word);
      } else if (row.fate == "renamed") {
        table.renamed.emplace_back(row.rest, key);
      } else if (key.find('*') != std::string_view::npos) {
        table.patterns.emplace_back(key, fate);
      } else {
        table.keys.try_emplace(key, fate);
      }
    }
  }
  return table;
}

const KeyTable* table_of(std::string_view name) {
  static const std::vector<KeyTable> tables = [] {
    std::vector<KeyTable> all;
    for (const NamedTable& shipped : key_tables()) {
      if (shipped.name.ends_with(".keys")) {
        all.push_back(parse_table(shipped));
      }
    }
    return all;
  }();
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [name](const KeyTable& table) { return table.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

std::optional<KeyFate> find_in(const KeyTable& table, std::string_view path) {
  if (const auto found = table.keys.find(path); found != table.keys.end()) {
    return found->second;
  }
  for (const auto& [pattern, fate] : table.patterns) {
    if (matches(pattern, path)) {
      return fate;
    }
  }
  return std::nullopt;
}

bool is_off(std::string_view text) {
  constexpr std::array<std::string_view, 10> kOff = {"",    "false", "none", "null", "no",
                                                     "off", "[]",    "{}",   "0",    "0.0"};
  const std::string word = lower_case(text);
  return std::find(kOff.begin(), kOff.end(), word) != kOff.end();
}

std::optional<double> number_of(std::string_view text) {
  double value = 0.0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && stop == text.data() + text.size() ? std::optional(value)
                                                                   : std::nullopt;
}

// Behind the dot of an enumeration: `AttnBackend.auto`, `<AttnBackend.auto: 5>`.
std::string_view without_class(std::string_view text) {
  if (text.starts_with("<")) {
    text = text.substr(1, text.find(':') - 1);
  }
  const std::size_t dot = text.rfind('.');
  return dot == std::string_view::npos || number_of(text) ? text : text.substr(dot + 1);
}

bool is_empty(const Value& value) {
  return value.kind == Value::Kind::null || value.kind == Value::Kind::mapping ||
         (value.kind == Value::Kind::sequence && value.items.empty()) ||
         (value.kind == Value::Kind::scalar &&
          (value.text.empty() || value.text == "None" || value.text == "null"));
}

// An empty section, algorithms: {alibi: {}}, where the table names another value for off.
bool is_switched_on(const Value& value, const std::optional<KeyFate>& fate) {
  return value.kind == Value::Kind::mapping && fate && !fate->neutral.empty();
}

// A section whose own switch is off does nothing: {enabled: false, ...}.
bool is_switched_off(const SourceKeys& keys, std::string_view path) {
  for (std::size_t dot = path.rfind('.'); dot != std::string_view::npos;
       dot = dot == 0 ? std::string_view::npos : path.rfind('.', dot - 1)) {
    for (const std::string_view name : {"enabled", "enable"}) {
      const SourceItem* item = keys.find(fmt::format("{}.{}", path.substr(0, dot), name));
      if (item != nullptr && item->value.kind == Value::Kind::scalar && is_off(item->value.text)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::string_view cut(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view piece = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return piece;
}

// A line that begins with a fate says why, those behind it with blanks before them the keys.
std::vector<TableRow> table_rows(std::string_view text) {
  std::vector<TableRow> rows;
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
      if (const std::string_view word = cut(line, ' '); !word.empty()) {
        rows.back().keys.push_back(word);
      }
    }
  }
  return rows;
}

std::string_view shipped_text(std::string_view name) {
  const auto& all = key_tables();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [name](const NamedTable& table) { return table.name == name; });
  return found == all.end() ? std::string_view() : found->text;
}

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && lower_case(pattern[p]) == lower_case(text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

bool is_neutral(const Value& value, std::string_view neutral) {
  if (is_empty(value)) {
    return true;
  }
  const bool one = value.kind == Value::Kind::sequence && value.items.size() == 1 &&
                   value.items.front().kind == Value::Kind::scalar;
  const std::string text = value_text(one ? value.items.front() : value);
  if (neutral.empty()) {
    const auto number = number_of(text);
    const bool off = text.ends_with(".NONE");  // of an enumeration
    return is_off(text) || off || (number && *number == 0.0);
  }
  while (!neutral.empty()) {
    const std::string_view wanted = cut(neutral, '|');
    const auto number = number_of(wanted);
    if (matches(wanted, text) || matches(wanted, without_class(text)) ||
        (number && number == number_of(text))) {
      return true;
    }
  }
  return false;
}

KeyTables::KeyTables(const FormatReader& reader, const SourceKeys& keys) : reader_(reader) {
  const SourceItem* base = keys.find("trainer_config");  // that a file of Primus goes on from
  if (base != nullptr && base->value.text.ends_with("pre_trainer.yaml")) {
    tables_.push_back(table_of("primus-trainer"));
  }
  std::string_view names = tables_of(reader, keys);
  while (!names.empty()) {
    tables_.push_back(table_of(cut(names, ' ')));
  }
}

std::string_view KeyTables::stack() const {
  const auto found = std::find_if(tables_.begin(), tables_.end(),
                                  [](const KeyTable* table) { return !table->stack.empty(); });
  return found == tables_.end() ? std::string_view() : (*found)->stack;
}

void KeyTables::prepare(SourceKeys& keys) const {
  for (const KeyTable* table : tables_) {
    for (const auto& [now, old] : table->renamed) {
      keys.rename(old, now);
    }
    for (const auto& [key, value] : table->absent) {
      keys.add_default(key, value, table->name);
    }
  }
}

std::optional<KeyFate> KeyTables::find(std::string_view path) const {
  constexpr std::string_view kText = "text_config.";
  const bool text = reader_.format == ConfigFormat::hugging_face && path.starts_with(kText);
  path.remove_prefix(text ? kText.size() : 0);
  for (const KeyTable* table : tables_) {
    if (const auto found = find_in(*table, path)) {
      return found;
    }
  }
  const std::string name(path.substr(path.rfind('.') + 1));
  const bool below = reader_.sections && name.size() < path.size();
  for (const KeyTable* table : tables_) {
    auto found = below ? find_in(*table, name) : std::nullopt;
    found = below && !found ? find_in(*table, "model." + name) : found;
    if (found) {
      return found;
    }
  }
  return std::nullopt;
}

namespace {

class Judge {
 public:
  Judge(Import& import, const FormatReader& reader)
      : import_(import), reader_(reader), tables_(reader, import.keys) {}

  void run() {
    for (const bool first : {true, false}) {  // what needs another key comes behind it
      for (SourceItem& item : import_.keys.items()) {
        const auto fate = item.used ? std::nullopt : tables_.find(item.path);
        if (fate && fate->fate == Fate::takes && fate->needs.empty() == first) {
          take(item, *fate);
        }
      }
    }
    for (const SourceItem& item : import_.keys.items()) {
      if (!item.by_default && (!item.used || item.unread)) {
        judge(item);
      }
    }
    if (reader_.format == ConfigFormat::megatron_args ||
        reader_.format == ConfigFormat::torchtitan_command ||
        reader_.format == ConfigFormat::trainer_args) {
      judge_passed_over();
    }
  }

 private:
  [[nodiscard]] bool has_all(std::string_view paths) const {
    while (!paths.empty()) {
      if (!has(orrery::trimmed(cut(paths, '&'), " "))) {
        return false;
      }
    }
    return true;
  }

  // Whether the scenario has the key, with more than nothing or one.
  [[nodiscard]] bool has(std::string_view path) const {
    if (path.starts_with("!") || path.starts_with("?")) {  // a key of the files, off or on
      const auto& items = import_.keys.items();
      const bool on = std::any_of(items.begin(), items.end(), [path](const SourceItem& item) {
        const std::string_view name = std::string_view(item.path).substr(item.path.rfind('.') + 1);
        return name == path.substr(1) && !is_neutral(item.value, "");
      });
      return on == path.starts_with("?");
    }
    if (path.ends_with("*")) {
      return import_.draft.has_below(path.substr(0, path.size() - 1));
    }
    const ImportedSetting* setting = import_.draft.find(path);
    return setting != nullptr && setting->value != "1" && setting->value != "none" &&
           setting->value != "false";
  }

  void take(SourceItem& item, const KeyFate& fate) {
    const std::string text = value_text(item.value);
    if (!has_all(fate.needs) || is_empty(item.value)) {
      return;
    }
    const std::string unread = unread_reason(item.value);
    std::string_view rest = fate.values;
    while (!rest.empty()) {
      std::string_view ours = orrery::trimmed(cut(rest, ';'), " ");
      const std::string_view theirs = cut(ours, '=');
      const bool named = unread.empty() || theirs == text;  // a line may know what `auto` is
      if (!named || (!matches(theirs, text) && !matches(theirs, without_class(text)))) {
        continue;
      }
      item.used = true;
      std::string value(ours);
      if (const std::size_t at = value.find("{}"); at != std::string::npos) {
        std::string plain = text;  // 32_000 is a number in Python and in YAML 1.1
        std::erase(plain, '_');
        value.replace(at, 2, number_of(plain) ? plain : text);
      }
      if (fate.why.starts_with("@")) {
        keep(item, fate.why.substr(1), value);
      } else if (!value.empty()) {
        import_.draft.set(fate.why, std::move(value), read_from(item));
      }
      return;
    }
    if (!unread.empty()) {
      import_.draft.leave_open(fate.why, item, unread);
    }
  }

  // What becomes a key of the scenario only with others.
  void keep(const SourceItem& item, std::string_view name, std::string_view value) {
    using Place = std::optional<PendingCount> Pending::*;
    constexpr std::array<std::pair<std::string_view, Place>, 5> kPlaces = {
        {{"ranks", &Pending::ranks},
         {"accumulation", &Pending::accumulation},
         {"device_batch", &Pending::device_batch},
         {"replicate", &Pending::replicate},
         {"shard", &Pending::shard}}};
    const auto number = number_of(value);
    const auto* place = std::find_if(kPlaces.begin(), kPlaces.end(),
                                     [name](const auto& one) { return one.first == name; });
    if (place == kPlaces.end() || !number || *number < 0.0 || *number > kTera) {
      return;
    }
    if (*number != std::floor(*number)) {
      import_.draft.leave_open("batch.global", item, "no whole number of sequences");
    } else {
      import_.pending.*(place->second) =
          PendingCount{static_cast<std::int64_t>(*number), read_from(item)};
    }
  }

  // The same key in another section, which a reader took: model.bf16 and optimizer.bf16.
  [[nodiscard]] bool is_repeated(std::string_view path) const {
    const std::string_view name = path.substr(path.rfind('.') + 1);
    const auto& items = import_.keys.items();
    return reader_.sections &&
           std::any_of(items.begin(), items.end(), [name](const SourceItem& other) {
             return other.used && std::string_view(other.path).ends_with(name) &&
                    (other.path.size() == name.size() ||
                     other.path[other.path.size() - name.size() - 1] == '.');
           });
  }

  // Of experts that the model does not have, or of a format in which it does not compute.
  [[nodiscard]] bool is_of_what_is_off(std::string_view path) const {
    const std::string_view name = path.substr(path.rfind('.') + 1);
    const bool wide = import_.draft.is("precision.compute", "bf16") ||
                      import_.draft.is("precision.compute", "fp16");
    if (reader_.sections && name.starts_with("fp8_") && wide) {
      return true;
    }
    const bool counts = name.ends_with("num_experts");  // says that there are any
    return reader_.format != ConfigFormat::hugging_face && name.starts_with("moe_") && !counts &&
           import_.draft.find("model.num_layers") != nullptr &&
           import_.draft.find("model.moe.num_experts") == nullptr;
  }

  // What cannot be read matters where no other file and no caller says it: the program's default is
  // not what it would have been. `auto` is settled elsewhere, and what counts is asked for anyway.
  void judge_unread(LeftOutKey& key, const std::optional<KeyFate>& fate) const {
    key.effect = Effect::unread;
    if (!fate || key.value == "auto") {
      return;
    }
    const bool set = fate->fate == Fate::sets || fate->fate == Fate::takes;
    if (set && !fate->why.starts_with("@") && has_all(fate->needs)) {
      const ImportedSetting* setting = import_.draft.find(fate->why);
      // What --bf16 says is no longer so where --fp8-format may stand beside it.
      const bool other = fate->why.starts_with("precision.") && setting != nullptr &&
                         setting->origin.kind != OriginKind::given &&
                         normalised_key(setting->origin.key) != normalised_key(key.key);
      const bool said = setting != nullptr && !other &&
                        setting->origin.kind != OriginKind::by_default &&
                        setting->origin.kind != OriginKind::assumed;
      key.effect =
          said || import_.draft.open(fate->why) != nullptr ? Effect::unread : Effect::large;
      key.states = fate->why;
    } else if (!set && fate->fate != Fate::none && fate->fate != Fate::small) {
      key.effect = Effect::large;
      key.why += "; " + std::string(fate->why);
    }
  }

  // Arguments of a script that stand where it could not be followed.
  void judge_passed_over() {
    for (LeftOutKey& key : import_.left_out) {
      if (key.effect == Effect::unread && key.key.starts_with("--")) {
        judge_unread(key, tables_.find(normalised_key(key.key)));
      }
    }
  }

  void judge(const SourceItem& item) {
    const auto fate = tables_.find(item.path);
    LeftOutKey key{item.where, item.shown, value_text(item.value), Effect::none, "", ""};
    const std::string unread = unread_reason(item.value);
    const bool set = fate && (fate->fate == Fate::sets || fate->fate == Fate::takes);
    if (!unread.empty() && (item.used || !fate || fate->fate != Fate::none)) {
      key.why = unread;
      judge_unread(key, fate);
    } else if (is_switched_off(import_.keys, item.path) ||
               (!is_switched_on(item.value, fate) &&
                (is_empty(item.value) ||
                 (fate && unread.empty() && is_neutral(item.value, fate->neutral))))) {
      key.why = "as if it were absent";
    } else if (!fate) {
      const bool off = is_neutral(item.value, "");
      key.effect = off ? Effect::small : Effect::unknown;
      key.why = off ? std::string("not understood, but off")
                    : fmt::format("not understood: no key of {} that is known", import_.program);
    } else if (is_of_what_is_off(item.path)) {
      key.why = "read with experts, or with 8 bits only";
    } else if ((set && is_repeated(item.path)) || !has_all(fate->needs)) {
      key.why = fate->needs.empty() ? "another section says the same"
                : fate->needs.starts_with("!")
                    ? fmt::format("read without {} only", fate->needs.substr(1))
                    : fmt::format("read with {} only",
                                  fate->needs.substr(fate->needs.starts_with("?") ? 1 : 0));
    } else if (fate->fate == Fate::beside && !import_.model_class.empty()) {
      key.why = "--as leaves it out";
    } else if (set) {
      key.effect = Effect::large;
      key.states = fate->why.starts_with("precision.optimizer") ? "precision.optimizer"
                                                                : std::string(fate->why);
      key.why = fmt::format("is not read; a scenario says it by {}", fate->why);
    } else {
      key.effect = fate->fate == Fate::none    ? Effect::none
                   : fate->fate == Fate::small ? Effect::small
                                               : Effect::large;
      key.why = fate->why;
    }
    import_.left_out.push_back(std::move(key));
  }

  Import& import_;
  const FormatReader& reader_;
  KeyTables tables_;
};

}  // namespace

void judge_keys(Import& import, const FormatReader& reader) { Judge(import, reader).run(); }

}  // namespace orrery::import_config
