#include "sim/scenario/table/read_keys.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using yaml::Value;

void read_mapping(const Value& value, const std::string& path, const std::string& row,
                  Reading& reading);

// One value that is no list: a mapping whose rows lie below `row`, or one of the key's forms.
void read_one(const Value& value, const std::string& path, const std::string& row, const Key& key,
              Reading& reading) {
  if (key.begin) {
    key.begin(value, reading);
  }
  const bool as_mapping = key.mapping && (value.kind == Value::Kind::mapping || !key.read);
  if (!as_mapping) {
    key.read(value, path, reading);
    return;
  }
  read_mapping(value, path, row, reading);
  if (key.end) {
    key.end(value, path, reading);
  }
}

void read_list(const Value& value, const std::string& path, const Key& key, Reading& reading) {
  if (value.kind != Value::Kind::sequence) {
    const bool null = value.kind == Value::Kind::null;
    yaml::report(reading.diagnostics, value.where, path,
                 null ? std::string("has no value")
                      : fmt::format("is {} where a list is needed", yaml::describe(value.kind)),
                 "a list such as " + key.example);
    return;
  }
  if (key.begin_list) {
    key.begin_list(reading);
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string item = fmt::format("{}[{}]", path, i);
    reading.draft.scenario.locations.set(item, value.items[i].where);
    read_one(value.items[i], item, key.path + "[]", key, reading);
  }
}

void read_any(const Value& value, const std::string& path, const Key& key, Reading& reading) {
  if (key.list) {
    read_list(value, path, key, reading);
  } else {
    read_one(value, path, key.path, key, reading);
  }
}

void read_key(yaml::MappingReader& reader, const Key& key, Reading& reading) {
  std::vector<std::string_view> names = {key.name()};
  names.insert(names.end(), key.aliases.begin(), key.aliases.end());
  const yaml::KeyNames key_names(names);
  const Value* value = reader.take(key_names);
  if (value == nullptr) {
    if (key.required && reader.valid()) {
      reader.error(key_names, "is required but missing", "such as " + key.example);
    }
    return;
  }
  const std::string path = reader.path_of(key.name());
  reading.draft.scenario.locations.set(path, value->where);
  read_any(*value, path, key, reading);
}

void read_mapping(const Value& value, const std::string& path, const std::string& row,
                  Reading& reading) {
  yaml::MappingReader reader(value, reading.diagnostics, path);
  for (const Key* key : children_of(row)) {
    read_key(reader, *key, reading);
  }
  const bool of_list = path.ends_with("]");  // whose keys have common words
  reader.finish([of_list](std::string_view key) {
    const std::vector<std::string_view> paths = paths_named(key);
    return !of_list && paths.size() == 1 ? paths.front() : std::string_view();
  });
}

}  // namespace

Draft draft_of(const Scenario& scenario) {
  Draft draft;
  draft.scenario = scenario;
  draft.run = scenario.run.value_or(run::RunSpec{});
  draft.activation = scenario.model.activation;
  if (scenario.locations.contains("cluster.gpus")) {
    draft.gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node;
  } else {
    draft.nodes = scenario.cluster.nodes;
  }
  return draft;
}

void read_value(const Value& value, const std::string& path, std::string_view row,
                Reading& reading) {
  for (const Key& key : key_table()) {
    if (key.path == row) {
      read_any(value, path, key, reading);
    }
  }
}

void read_keys(const Value& root, Reading& reading) { read_mapping(root, {}, {}, reading); }

void read_keys(yaml::MappingReader& reader, const std::string& row,
               std::span<const std::string_view> only, Reading& reading) {
  for (const Key* key : children_of(row)) {
    if (std::ranges::find(only, key->path) != only.end()) {
      read_key(reader, *key, reading);
      continue;
    }
    const bool above = std::ranges::any_of(
        only, [key](std::string_view path) { return path.starts_with(key->path + "."); });
    auto below = above ? reader.optional_mapping(key->name()) : std::nullopt;
    if (below) {
      if (key->begin) {
        key->begin(below->value(), reading);
      }
      read_keys(*below, key->path, only, reading);
      below->finish();
    }
  }
}

}  // namespace orrery::scenario
