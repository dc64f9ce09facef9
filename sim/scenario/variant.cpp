#include "sim/scenario/variant.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "sim/base/files/file.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/scenario/table/read_keys.hpp"

namespace orrery::scenario {

namespace {

using yaml::Entry;
using yaml::Value;

// One part of a dotted path: `causes[0]`.
struct PathPart {
  std::string_view name;
  std::optional<std::size_t> index;
  bool broken = false;  // brackets without a whole number
};

PathPart part_of(std::string_view text) {
  const std::size_t bracket = text.find('[');
  PathPart part{text.substr(0, bracket), std::nullopt, false};
  if (bracket == std::string_view::npos) {
    return part;
  }
  std::size_t index = 0;
  const char* begin = text.data() + bracket + 1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, index);
  part.broken = error != std::errc{} || stop + 1 != end || *stop != ']';
  part.index = index;
  return part;
}

std::vector<PathPart> path_parts(std::string_view key) {
  std::vector<PathPart> parts;
  while (true) {
    const std::size_t dot = key.find('.');
    parts.push_back(part_of(key.substr(0, dot)));
    if (dot == std::string_view::npos) {
      return parts;
    }
    key.remove_prefix(dot + 1);
  }
}

std::string row_path(const Key& key, const PathPart& part) {
  return part.index ? key.path + "[]" : key.path;
}

// The key meant by somebody who wrote this: the nearest path, or one that ends alike.
std::string meant(std::string_view key) {
  const std::vector<std::string_view> alike = paths_named(key.substr(key.rfind('.') + 1));
  std::vector<std::string_view> paths;
  for (const Key& candidate : key_table()) {
    if (!candidate.folded && candidate.path.find("[]") == std::string::npos) {
      paths.push_back(candidate.path);
    }
  }
  const std::string_view near = alike.empty() ? nearest_name(key, paths) : alike.front();
  return near.empty() ? std::string("a key of docs/scenario-reference.md")
                      : fmt::format("did you mean `{}`?", near);
}

bool is_count(const Form& form) { return form.kind == FormKind::integer; }

bool takes_whole_numbers(const Key& key) {
  const bool any = std::ranges::any_of(key.forms, is_count);
  return any && std::ranges::all_of(key.forms, [](const Form& form) {
           return is_count(form) || form.kind == FormKind::words || form.kind == FormKind::boolean;
         });
}

void move_to(Value& value, const SourceLocation& where) {
  value.where = where;
  for (Value& item : value.items) {
    move_to(item, where);
  }
  for (Entry& entry : value.entries) {
    entry.key_where = where;
    move_to(entry.value, where);
  }
}

// Messages of the parser name a place inside the text; the place of the change is what helps.
std::optional<Value> parse_value(const KeyValue& change, Diagnostics& diagnostics) {
  Diagnostics found;
  std::optional<Value> value = yaml::parse(change.value, change.where.file, {}, found);
  for (Diagnostic problem : found.all()) {
    problem.where = change.where;
    problem.key = change.key;
    diagnostics.add(std::move(problem));
  }
  if (value) {
    move_to(*value, change.where);
  }
  return value;
}

// The entry of the mapping for this row, under whichever of its names; added when it is not there.
Value& value_at(Value& mapping, const Key& row, const SourceLocation& where) {
  for (Entry& entry : mapping.entries) {
    if (row.is_named(entry.key)) {
      return entry.value;
    }
  }
  Value empty;
  empty.kind = Value::Kind::mapping;
  empty.where = where;
  mapping.entries.push_back({std::string(row.name()), where, std::move(empty)});
  return mapping.entries.back().value;
}

// `failures: llama3-2024` is `failures: {preset: llama3-2024}`, to which keys can be added.
void spell_out(Value& value, const std::string& row) {
  const std::string_view name = key_of_text(row);
  if (value.kind != Value::Kind::scalar || name.empty()) {
    return;
  }
  Value section;
  section.kind = Value::Kind::mapping;
  section.where = value.where;
  section.entries.push_back({std::string(name), value.where, std::move(value)});
  value = std::move(section);
}

// False after a diagnostic. Every part of the key is known to have its row.
bool apply(Value& root, const KeyValue& change, Diagnostics& diagnostics) {
  std::optional<Value> value = parse_value(change, diagnostics);
  if (!value) {
    return false;
  }
  Value* at = &root;
  std::string row;
  for (const PathPart& part : path_parts(change.key)) {
    spell_out(*at, row);
    if (at->kind != Value::Kind::mapping) {
      diagnostics.error(change.where, change.key,
                        fmt::format("cannot be changed: the scenario states {} for `{}`",
                                    at->kind == Value::Kind::scalar ? yaml::display(at->text)
                                                                    : yaml::describe(at->kind),
                                    row),
                        "a value for the whole key");
      return false;
    }
    const Key& key = *row_below(row, part.name);
    at = &value_at(*at, key, change.where);
    if (part.index) {
      if (*part.index >= at->items.size()) {
        diagnostics.error(
            change.where, change.key,
            fmt::format("the scenario has {} items in `{}`", at->items.size(), key.path),
            "the first is [0]");
        return false;
      }
      at = &at->items[*part.index];
    }
    row = row_path(key, part);
  }
  *at = *std::move(value);
  return true;
}

// Takes a key away that stands in mappings below the root.
void remove(Value& root, std::string_view key) {
  Value* at = &root;
  std::string row;
  for (const PathPart& part : path_parts(key)) {
    const Key& found = *row_below(row, part.name);
    const auto entry = std::ranges::find_if(
        at->entries, [&found](const Entry& one) { return found.is_named(one.key); });
    if (entry == at->entries.end()) {
      return;
    }
    if (found.path == key) {
      at->entries.erase(entry);
      return;
    }
    at = &entry->value;
    row = found.path;
  }
}

bool is_degree(std::string_view path) {
  constexpr std::array<std::string_view, 6> kDegrees = {"layout.tensor",   "layout.context",
                                                        "layout.pipeline", "cluster.nodes",
                                                        "cluster.gpus",    "cluster.gpus_per_node"};
  return std::ranges::find(kDegrees, path) != kDegrees.end();
}

}  // namespace

std::optional<Diagnostic> outdated_data(const Scenario& changed,
                                        std::span<const KeyValue> changes) {
  bool degree = false;
  for (const KeyValue& change : changes) {
    const std::optional<KeyFacts> facts = known_key(change.key);
    if (facts && (facts->path == "layout.data" || facts->path == "layout")) {
      return std::nullopt;
    }
    degree = degree || (facts && is_degree(facts->path));
  }
  const layout::LayoutSpec& layout = changed.layout;
  const std::int64_t gpus = changed.cluster.nodes * changed.cluster.gpus_per_node;
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  if (!degree || !layout.data || *layout.data * replica == gpus || gpus % replica != 0) {
    return std::nullopt;
  }
  return Diagnostic{.severity = Severity::warning,
                    .where = changed.where("layout.data"),
                    .key = "layout.data",
                    .message = fmt::format("is taken as {}: {}, as stated, does not go with the "
                                           "changed keys",
                                           gpus / replica, *layout.data),
                    .allowed = "changed as well, it is held"};
}

std::optional<KeyFacts> known_key(std::string_view key) {
  KeyFacts facts;
  std::string row;
  for (const PathPart& part : path_parts(key)) {
    const Key* found = part.broken ? nullptr : row_below(row, part.name);
    if (found == nullptr || (part.index && !found->list)) {
      return std::nullopt;
    }
    facts.path += facts.path.empty() ? "" : ".";
    facts.path += found->name();
    facts.path += part.index ? fmt::format("[{}]", *part.index) : "";
    row = row_path(*found, part);
    facts.whole_numbers = takes_whole_numbers(*found);
  }
  facts.section = std::string(path_parts(facts.path).front().name);
  return facts;
}

std::optional<KeyFacts> find_key(std::string_view key, const SourceLocation& where,
                                 Diagnostics& diagnostics) {
  std::optional<KeyFacts> facts = known_key(key);
  if (!facts) {
    diagnostics.error(where, key, "unknown key", meant(key));
    return std::nullopt;
  }
  if (facts->path == "format") {
    diagnostics.error(where, key, "cannot be changed");
    return std::nullopt;
  }
  return facts;
}

std::optional<std::string> value_of(const Scenario& scenario, std::string_view key) {
  Draft draft = draft_of(scenario);
  const Key* found = nullptr;
  std::string row;
  for (const PathPart& part : path_parts(key)) {
    found = row_below(row, part.name);
    const bool entered = found != nullptr && (found->list == part.index.has_value()) &&
                         (!found->enter || found->enter(draft, part.index.value_or(0)));
    if (!entered) {
      return std::nullopt;
    }
    row = row_path(*found, part);
  }
  return found->print ? found->print(draft) : std::nullopt;
}

std::optional<Scenario> with_value(const Scenario& scenario, const KeyValue& change,
                                   Diagnostics& diagnostics) {
  const std::optional<Value> value = parse_value(change, diagnostics);
  if (!value) {
    return std::nullopt;
  }
  Draft draft = draft_of(scenario);
  Diagnostics found;
  Reading reading{draft, found};
  read_value(*value, change.key, change.key, reading);
  diagnostics.add(found);
  return found.has_errors() ? std::nullopt : std::optional(std::move(draft.scenario));
}

std::optional<ScenarioTemplate> ScenarioTemplate::from_text(std::string_view text,
                                                            const std::string& file_name,
                                                            Diagnostics& diagnostics,
                                                            const Search& search) {
  std::optional<Value> root = parse_tree(text, file_name, diagnostics);
  if (!root) {
    return std::nullopt;
  }
  ScenarioTemplate result;
  result.file_ = file_name;
  result.sha256_ = sha256_hex(text);
  result.root_ = std::make_shared<const Value>(*std::move(root));
  result.presets_ = presets_for(file_name, search);
  return result;
}

std::optional<ScenarioTemplate> ScenarioTemplate::from_file(const std::filesystem::path& path,
                                                            Diagnostics& diagnostics,
                                                            const Search& search) {
  const std::optional<std::string> text = read_text_of(path.string(), diagnostics);
  return text ? from_text(*text, path.string(), diagnostics, search) : std::nullopt;
}

std::optional<Scenario> ScenarioTemplate::with(std::span<const KeyValue> changes,
                                               Diagnostics& diagnostics) const {
  Value root = *root_;
  for (const KeyValue& change : changes) {
    if (!find_key(change.key, change.where, diagnostics) || !apply(root, change, diagnostics)) {
      return std::nullopt;
    }
  }
  Diagnostics found;
  auto scenario = read_tree(root, file_, sha256_, presets_, found);
  if (const auto outdated = scenario ? outdated_data(*scenario, changes) : std::nullopt) {
    Diagnostics again;
    again.add(*outdated);
    std::swap(found, again);
    remove(root, "layout.data");
    scenario = read_tree(root, file_, sha256_, presets_, found);
  }
  diagnostics.add(found);
  return scenario;
}

void ScenarioTemplate::check(const KeyValue& change, Diagnostics& diagnostics) const {
  const std::optional<KeyFacts> facts = find_key(change.key, change.where, diagnostics);
  if (!facts) {
    return;
  }
  // The section of the key says all that its value can be wrong about.
  Value root;
  root.kind = root_->kind;
  root.where = root_->where;
  std::copy_if(root_->entries.begin(), root_->entries.end(), std::back_inserter(root.entries),
               [&facts](const Entry& entry) {
                 const Key* row = row_below("", entry.key);
                 return row != nullptr && row->name() == facts->section;
               });
  if (!apply(root, change, diagnostics)) {
    return;
  }
  Draft draft;
  draft.scenario.presets = presets_;
  Diagnostics found;
  Reading reading{draft, found};
  read_keys(root, reading);
  for (const Diagnostic& problem : found.all()) {
    if (problem.severity == Severity::error && problem.where == change.where) {
      diagnostics.add(problem);
    }
  }
}

}  // namespace orrery::scenario
