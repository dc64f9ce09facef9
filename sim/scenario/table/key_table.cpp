#include "sim/scenario/table/key_table.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/scenario/table/key_makers.hpp"

namespace orrery::scenario {

namespace {

void append(std::vector<Key>& keys, std::vector<Key> more) {
  for (Key& key : more) {
    keys.push_back(std::move(key));
  }
}

// `format` is checked before anything else (load.cpp): the other rows belong to this format.
std::vector<Key> head_keys() {
  std::vector<Key> keys;
  keys.push_back(name_key({.path = "format",
                           .meaning = "Format and version of the file.",
                           .example = std::string(kFormat),
                           .required = true},
                          {std::string(kFormat)}, [](Draft&, const std::string&) {}));
  keys.push_back(text_key({.path = "name",
                           .note = "the name of the file",
                           .meaning = "What reports call the scenario.",
                           .example = "Llama 3 70B, 64 H100"},
                          ORRERY_AT(scenario.name)));
  return keys;
}

std::vector<Key> expect_keys() {
  std::vector<Key> keys;
  Key expect = text_key({.path = "expect",
                         .note = "nothing is checked",
                         .meaning = "What `orrery check` asserts, one expression per item: "
                                    "`operand cmp value`, joined by and, or, not; or a mapping "
                                    "{text, decide}.",
                         .example = "mfu >= 0.38"},
                        ORRERY_AT(scenario.expect.back().text));
  expect.example = "[\"mfu >= 0.38\", \"p10(goodput) >= 0.90\", fits_memory]";  // of the list
  expect.list = true;
  expect.mapping = true;
  expect.enter = items_at(ORRERY_AT(scenario.expect));
  expect.begin = [](const yaml::Value& value, Reading& reading) {
    reading.draft.scenario.expect.push_back({{}, false, value.where});
  };
  keys.push_back(std::move(expect));
  keys.push_back(text_key({.path = "expect[].text",
                           .meaning = "The expression.",
                           .example = "p50(cost) <= $46.1M",
                           .required = true},
                          ORRERY_AT(scenario.expect.back().text)));
  keys.push_back(choice_key<bool>(
      {.path = "expect[].decide",
       .fallback = "interval",
       .meaning = "interval: undecided, and failed, when the confidence interval of a stochastic "
                  "metric straddles the bound; point: its point estimate decides.",
       .example = "point"},
      {{"interval", false}, {"point", true}}, ORRERY_AT(scenario.expect.back().decide_point)));
  return keys;
}

// A section that has presets takes the name of one in place of a mapping: `failures: llama3-2024`.
void take_names_of_presets(std::vector<Key>& keys) {
  for (Key& section : keys) {
    const auto preset = std::find_if(keys.begin(), keys.end(), [&section](const Key& key) {
      return key.path == section.path + ".preset";
    });
    if (preset == keys.end() || section.read) {
      continue;
    }
    section.forms = preset->forms;
    section.read = [read = preset->read, path_of_preset = preset->path](
                       const yaml::Value& value, const std::string& path, Reading& reading) {
      if (value.kind != yaml::Value::Kind::scalar) {
        const yaml::MappingReader says_so(value, reading.diagnostics, path);
        return;
      }
      reading.draft.scenario.locations[path_of_preset] = value.where;
      read(value, path_of_preset, reading);
    };
  }
}

}  // namespace

const std::vector<Key>& key_table() {
  static const std::vector<Key> table = [] {
    std::vector<Key> keys = head_keys();
    append(keys, model_keys());
    append(keys, layer_keys());
    append(keys, cluster_keys());
    append(keys, layout_keys());
    append(keys, step_keys());
    append(keys, overlap_keys());
    append(keys, software_keys());
    append(keys, axis_keys());
    append(keys, imperfection_keys());
    append(keys, rollout_keys());
    append(keys, training_keys());
    append(keys, capacity_keys());
    append(keys, price_keys());
    append(keys, run_keys());
    append(keys, checkpoint_keys());
    append(keys, failure_keys());
    append(keys, recovery_keys());
    append(keys, expect_keys());
    append(keys, measured_keys());
    append(keys, plan_keys());
    take_names_of_presets(keys);
    return keys;
  }();
  return table;
}

std::span<const Key* const> children_of(std::string_view parent) {
  static const auto by_parent = [] {
    std::map<std::string, std::vector<const Key*>, std::less<>> rows;
    for (const Key& key : key_table()) {
      rows[std::string(key.parent())].push_back(&key);
    }
    return rows;
  }();
  const auto found = by_parent.find(parent);
  return found == by_parent.end() ? std::span<const Key* const>() : found->second;
}

const Key* row_below(std::string_view parent, std::string_view name) {
  for (const Key* key : children_of(parent)) {
    if (key->is_named(name)) {
      return key;
    }
  }
  return nullptr;
}

std::vector<std::string_view> paths_named(std::string_view name) {
  std::vector<std::string_view> paths;
  for (const Key& key : key_table()) {
    if (!key.folded && key.path.find("[]") == std::string::npos && key.is_named(name)) {
      paths.push_back(key.path);
    }
  }
  return paths;
}

const yaml::Entry* entry_of(const yaml::Value& mapping, const Key& key) {
  for (const yaml::Entry& entry : mapping.entries) {
    if (key.is_named(entry.key)) {
      return &entry;
    }
  }
  return nullptr;
}

std::string_view key_of_text(std::string_view row) {
  for (const std::string_view name : {"preset", "name", "compute"}) {
    if (!row.empty() && row_below(row, name) != nullptr) {
      return name;
    }
  }
  return {};
}

}  // namespace orrery::scenario
