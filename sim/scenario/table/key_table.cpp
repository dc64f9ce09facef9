#include "sim/scenario/table/key_table.hpp"

#include <algorithm>
#include <map>

#include "sim/scenario/table/key_makers.hpp"

namespace orrery::scenario {

namespace {

// `format` is checked before anything else (load.cpp): the other rows belong to this format.
void head_keys(Rows& keys) {
  keys.name("format", "Format and version of the file.", kFormat, {std::string(kFormat)},
            [](Draft&, const std::string&) {}, {.required = true});
  keys.text("name", "What reports call the scenario.", "Llama 3 70B, 64 H100",
            ORRERY_AT(scenario.name), {.note = "the name of the file"});
}

void expect_keys(Rows& keys) {
  Key& expect = keys.text("expect",
                          "What `orrery check` asserts, one expression per item: `operand cmp "
                          "value`, joined by and, or, not; or a mapping {text, decide}.",
                          "mfu >= 0.38", ORRERY_AT(scenario.expect.back().text),
                          {.note = "nothing is checked"});
  expect.example = "[\"mfu >= 0.38\", \"p10(goodput) >= 0.90\", fits_memory]";  // of the list
  expect.list = true;
  expect.mapping = true;
  expect.enter = items_at(ORRERY_AT(scenario.expect));
  expect.begin = [](const yaml::Value& value, Reading& reading) {
    reading.draft.scenario.expect.push_back({{}, false, value.where});
  };
  keys.text("expect[].text", "The expression.", "p50(cost) <= $46.1M",
            ORRERY_AT(scenario.expect.back().text), {.required = true});
  keys.choice<bool>("expect[].decide",
                    "interval: undecided, and failed, when the confidence interval of a stochastic "
                    "metric straddles the bound; point: its point estimate decides.",
                    "point", {{"interval", false}, {"point", true}},
                    ORRERY_AT(scenario.expect.back().decide_point), {.fallback = "interval"});
}

// A section that has presets takes the name of one in place of a mapping: `failures: llama3-2024`.
void take_names_of_presets(std::vector<Key>& keys) {
  for (Key& section : keys) {
    const auto preset = std::ranges::find(keys, section.path + ".preset", &Key::path);
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
      reading.draft.scenario.locations.set(path_of_preset, value.where);
      read(value, path_of_preset, reading);
    };
  }
}

}  // namespace

const std::vector<Key>& key_table() {
  static const std::vector<Key> table = [] {
    Rows rows;
    for (void (*add)(Rows&) :
         {head_keys,     model_keys,    layer_keys, cluster_keys,      layout_keys,  step_keys,
          overlap_keys,  software_keys, axis_keys,  imperfection_keys, rollout_keys, training_keys,
          capacity_keys, price_keys,    run_keys,   checkpoint_keys,   failure_keys, recovery_keys,
          expect_keys,   measured_keys, plan_keys}) {
      add(rows);
    }
    std::vector<Key> keys = rows.take();
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
