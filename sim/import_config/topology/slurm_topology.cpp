// Slurm's topology.conf or topology.yaml: switches above nodes (topology/tree) or blocks of them
// (topology/block).
//
//   tier t = switches whose longest way down to a node has t others; its nodes = the most of any
//
// Source: the manual pages topology.conf(5) and topology.yaml(5) of Slurm 25.05 and its hostlist
// expressions. How wide the links are is not in the file.

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "sim/base/text/text.hpp"
#include "sim/import_config/trees/key_fates.hpp"
#include "sim/import_config/trees/readers.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

constexpr std::size_t kMostNames = 1'000'000;

Value text_at(std::string_view text, const SourceLocation& where) {
  Value value;
  value.kind = Value::Kind::scalar;
  value.text = std::string(text);
  value.where = where;
  return value;
}

Value& mapping_below(Value& mapping, std::string_view key, const SourceLocation& where) {
  mapping.kind = Value::Kind::mapping;
  for (yaml::Entry& entry : mapping.entries) {
    if (entry.key == key) {
      return entry.value;
    }
  }
  Value value;
  value.kind = Value::Kind::mapping;
  value.where = where;
  mapping.entries.push_back({std::string(key), where, std::move(value)});
  return mapping.entries.back().value;
}

// "a[1-3,07]b" as a1b, a2b, a3b, a07b, appended; false when it is none or has too many.
bool expand_one(std::string_view text, const std::string& before, std::vector<std::string>& names) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) {
    names.push_back(before + std::string(text));
    return names.size() <= kMostNames && text.find(']') == std::string_view::npos;
  }
  const std::size_t close = text.find(']', open);
  if (close == std::string_view::npos) {
    return false;
  }
  std::string_view ranges = text.substr(open + 1, close - open - 1);
  while (!ranges.empty()) {
    std::string_view range = cut(ranges, ',');
    const std::string_view first = cut(range, '-');
    const auto from = whole_number(first);
    const auto to = range.empty() ? from : whole_number(range);
    if (!from || !to || *to < *from || *to - *from > static_cast<std::int64_t>(kMostNames)) {
      return false;
    }
    for (std::int64_t i = *from; i <= *to; ++i) {
      const std::string name =
          fmt::format("{}{}{:0{}}", before, text.substr(0, open), i, first.size());
      if (!expand_one(text.substr(close + 1), name, names)) {
        return false;
      }
    }
  }
  return true;
}

// Slurm's hostlist: names with commas between them, that outside of brackets.
std::optional<std::vector<std::string>> expand(std::string_view text) {
  std::vector<std::string> names;
  bool inside = false;  // of brackets
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && !inside)) {
      if (i > begin && !expand_one(text.substr(begin, i - begin), "", names)) {
        return std::nullopt;
      }
      begin = i + 1;
    } else {
      inside = text[i] == '[' || (inside && text[i] != ']');
    }
  }
  return names.empty() ? std::nullopt : std::optional(std::move(names));
}

struct FabricSwitch {
  const SourceItem* item = nullptr;  // its nodes or its switches
  std::vector<std::string> below;
  std::int64_t nodes = 0;  // below it, in all
  std::size_t level = 0;
  bool seen = false;
  bool done = false;
};

using Switches = std::map<std::string, FabricSwitch, std::less<>>;

// Counts what is below a switch; false after an error.
bool count_below(Import& import, Switches& switches, FabricSwitch& at) {
  if (at.done || at.seen) {
    if (!at.done) {
      import.keys.error(*at.item, "is above itself");
    }
    return at.done;
  }
  at.seen = true;
  for (const std::string& name : at.below) {
    const auto child = switches.find(name);
    if (child == switches.end()) {
      import.keys.error(*at.item, fmt::format("names {}, which is no SwitchName", name));
      return false;
    }
    if (!count_below(import, switches, child->second)) {
      return false;
    }
    at.nodes += child->second.nodes;
    at.level = std::max(at.level, child->second.level + 1);
  }
  at.done = true;
  return true;
}

// The switches, or the blocks, of the file; none after an error.
Switches switches_of(Import& import) {
  Switches switches;
  for (SourceItem& item : import.keys.items()) {
    std::string_view rest = item.path;
    const std::string_view kind = cut(rest, '.');
    const std::size_t dot = rest.rfind('.');
    const std::string_view what = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
    if ((kind != "SwitchName" && kind != "BlockName") || (what != "Nodes" && what != "Switches")) {
      continue;
    }
    item.used = true;
    auto names = expand(item.value.text);
    if (!names) {
      import.keys.error(item, "is no list of names", "Nodes=tux[0-3,12]");
      return {};
    }
    FabricSwitch& one = switches[std::string(rest.substr(0, dot))];
    one.item = &item;
    if (what == "Nodes") {
      one.nodes += static_cast<std::int64_t>(names->size());
    } else {
      one.below = *std::move(names);
    }
  }
  for (auto& [name, one] : switches) {
    if (!count_below(import, switches, one)) {
      return {};
    }
  }
  return switches;
}

const Value* value_of(const Value& mapping, std::string_view key) {
  const auto found = std::find_if(mapping.entries.begin(), mapping.entries.end(),
                                  [key](const yaml::Entry& entry) { return entry.key == key; });
  return found == mapping.entries.end() ? nullptr : &found->value;
}

// The topology that partitions take which name none; nullptr after an error.
const Value* default_topology(const Value& list, Diagnostics& diagnostics) {
  const Value* taken = list.items.size() == 1 ? list.items.data() : nullptr;
  for (const Value& one : list.items) {
    const Value* stated = value_of(one, "cluster_default");
    taken = taken == nullptr && stated != nullptr && stated->text == "true" ? &one : taken;
  }
  if (taken == nullptr) {
    diagnostics.error(list.where, "cluster_default",
                      fmt::format("is true in none of {} topologies", list.items.size()));
  } else if (value_of(*taken, "tree") == nullptr && value_of(*taken, "block") == nullptr) {
    diagnostics.error(taken->where, "topology", "is neither a tree nor a block: it has no tiers");
    taken = nullptr;
  }
  return taken;
}

// A topology of topology.yaml, with the names of topology.conf.
Value named_as_conf(const Value& topology) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNames = {
      {{"nodes", "Nodes"}, {"children", "Switches"}, {"block_sizes", "BlockSizes"}}};
  const auto renamed = [&kNames](const yaml::Entry& entry) {
    const auto* const found =
        std::find_if(kNames.begin(), kNames.end(),
                     [&entry](const auto& name) { return name.first == entry.key; });
    return yaml::Entry{found == kNames.end() ? entry.key : std::string(found->second),
                       entry.key_where, entry.value};
  };
  const Value* const tree = value_of(topology, "tree");
  const Value* const part_of = tree != nullptr ? tree : value_of(topology, "block");
  const std::vector<yaml::Entry> parts =
      part_of == nullptr ? std::vector<yaml::Entry>() : part_of->entries;
  const std::string_view list = tree != nullptr ? "switches" : "blocks";
  const std::string_view name = tree != nullptr ? "switch" : "block";
  Value conf;
  conf.kind = Value::Kind::mapping;
  conf.where = topology.where;
  for (const yaml::Entry& part : parts) {
    if (part.key != list) {
      conf.entries.push_back(renamed(part));
      continue;
    }
    for (const Value& one : part.value.items) {
      const Value* const called = value_of(one, name);
      std::string text = called == nullptr ? "" : called->text;
      std::replace(text.begin(), text.end(), '.', '_');
      Value& of_switch = mapping_below(
          mapping_below(conf, tree != nullptr ? "SwitchName" : "BlockName", one.where), text,
          one.where);
      for (const yaml::Entry& entry : one.entries) {
        if (entry.key != name) {
          of_switch.entries.push_back(renamed(entry));
        }
      }
    }
  }
  return conf;
}

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end && value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<Value> parse_slurm_topology(std::string_view text, const std::string& file,
                                          Diagnostics& diagnostics) {
  if (text.find("SwitchName=") == std::string_view::npos &&
      text.find("BlockName=") == std::string_view::npos) {
    const std::optional<Value> list = parse_yaml(text, file, diagnostics);
    const Value* const taken = list ? default_topology(*list, diagnostics) : nullptr;
    return taken == nullptr ? std::nullopt : std::optional(named_as_conf(*taken));
  }
  Value tree;
  tree.kind = Value::Kind::mapping;
  tree.where = {file, 1, 1};
  Value* line_of = &tree;
  bool goes_on = false;  // behind a backslash
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view whole = cut(text, '\n');
    std::string_view line = trimmed(whole.substr(0, whole.find('#')), " \t\r");
    line_of = goes_on ? line_of : &tree;
    goes_on = line.ends_with('\\');
    line.remove_suffix(goes_on ? 1 : 0);
    while (!line.empty()) {
      const std::size_t column = static_cast<std::size_t>(line.data() - whole.data()) + 1;
      const SourceLocation where{file, number, static_cast<int>(column)};
      std::string_view word = line.substr(0, line.find_first_of(" \t"));
      line = trimmed(line.substr(word.size()), " \t");
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos || equals == 0 || tree.entries.size() > kMostValues) {
        diagnostics.error(where, std::string(word.substr(0, kLongestKey)), "is no NAME=VALUE");
        return std::nullopt;
      }
      constexpr std::array<std::string_view, 6> kNames = {"SwitchName", "BlockName", "Nodes",
                                                          "Switches",   "LinkSpeed", "BlockSizes"};
      const std::string given = lower_case(word.substr(0, equals));
      const auto* const known = std::find_if(
          kNames.begin(), kNames.end(), [&given](auto name) { return lower_case(name) == given; });
      const std::string key(known == kNames.end() ? word.substr(0, equals) : *known);
      const std::string_view value = word.substr(equals + 1);
      if (key == "SwitchName" || key == "BlockName") {
        std::string name(value);
        std::replace(name.begin(), name.end(), '.', '_');
        line_of = &mapping_below(mapping_below(tree, key, where), name, where);
        if (!line_of->entries.empty()) {
          diagnostics.error(where, key, fmt::format("{} stands twice", name));
          return std::nullopt;
        }
      } else {
        line_of->entries.push_back({key, where, text_at(value, where)});
      }
    }
  }
  return tree;
}

void read_slurm_topology(Import& import) {
  const Switches switches = switches_of(import);
  std::vector<std::pair<std::int64_t, std::int64_t>> levels;  // least and most nodes
  const SourceItem* first = nullptr;
  bool blocks = false;
  for (const auto& [name, one] : switches) {
    levels.resize(std::max(levels.size(), one.level + 1), {INT64_MAX, 0});
    auto& [least, most] = levels[one.level];
    least = std::min(least, one.nodes);
    most = std::max(most, one.nodes);
    first = first == nullptr || one.item->where.line < first->where.line ? one.item : first;
    blocks = blocks || one.item->path.starts_with("BlockName");
  }
  if (first == nullptr) {
    return;
  }
  constexpr std::array<std::string_view, 3> kTiers = {"leaf", "spine", "core"};
  std::vector<std::string> tiers;
  std::string why;
  std::int64_t below = 0;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const auto [least, most] = levels[level];
    const std::string name = blocks                  ? "block"
                             : level < kTiers.size() ? std::string(kTiers[level])
                                                     : fmt::format("tier {}", level + 1);
    if (most > below) {  // a switch above one other holds no more
      tiers.push_back(fmt::format("{{name: {}, nodes: {}}}", name, most));
      below = most;
    }
    if (least < most && level + 1 < levels.size() + (blocks ? 1 : 0)) {
      why += fmt::format("{}{}: {} to {} nodes, the most taken", why.empty() ? "" : "; ", name,
                         least, most);
    }
  }
  import.draft.set("cluster.network.tiers", fmt::format("[{}]", fmt::join(tiers, ", ")),
                   derived_from(*first, why.empty() ? "nodes below each level" : why));
  import.draft.note(
      "Slurm's topology says how nodes are grouped, not how wide the links are: "
      "cluster.network.tiers[].oversubscription is 1 until stated");
}

}  // namespace orrery::import_config
