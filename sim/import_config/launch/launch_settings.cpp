#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/base/text/text.hpp"
#include "sim/import_config/launch/launch_file.hpp"
#include "sim/import_config/trees/key_fates.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::import_config {

namespace {

const std::vector<TableRow>& rows_of(std::string_view program) {
  static const auto tables = [] {
    std::map<std::string_view, std::vector<TableRow>, std::less<>> all;
    for (const NamedTable& table : key_tables()) {
      all.emplace(table.name, table_rows(table.text));
    }
    return all;
  }();
  return tables.at(fmt::format("{}.keys", program));
}

// A row of launch.words.
struct LaunchRow {
  std::string_view key;
  std::string_view value;   // empty: any; !OTHER: any but that one
  std::string_view beside;  // only where this key is on
  std::string_view words;

  [[nodiscard]] bool holds(const std::string& said) const {
    return !said.empty() &&
           (value.empty() || (value.starts_with("!") ? said != value.substr(1) : said == value));
  }
};

std::vector<LaunchRow> launch_rows(std::string_view program) {
  std::vector<LaunchRow> rows;
  bool inside = false;
  for (std::string_view rest = shipped_text("launch.words"); !rest.empty();) {
    std::string_view line = cut(rest, '\n');
    if (line.starts_with("[")) {
      inside = line.substr(1, line.size() - 2) == program;
    } else if (inside && !line.empty()) {
      const std::string_view key = orrery::trimmed(cut(line, '|'), " ");
      std::string_view beside = cut(line, '|');
      const std::string_view value = orrery::trimmed(cut(beside, '&'), " ");
      rows.push_back({key, value, orrery::trimmed(beside, " "), orrery::trimmed(line, " ")});
    }
  }
  return rows;
}

// `--words of a command line`, or `key=value ...`; {} is the value.
void add_words(std::string_view words, const std::string& value,
               std::vector<LaunchSetting>& settings) {
  std::string text(words);
  for (std::size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}", at)) {
    text.replace(at, 2, value);
    at += value.size();
  }
  if (text.starts_with("--")) {
    const std::vector<LaunchSetting> more = settings_of(text);
    settings.insert(settings.end(), more.begin(), more.end());
    return;
  }
  while (!words.empty()) {
    std::string_view theirs = cut(words, ' ');
    const std::string_view key = cut(theirs, '=');
    settings.push_back({std::string(key), theirs == "{}" ? value : std::string(theirs)});
  }
}

// Theirs of `theirs=ours; ...`; `*` and `{}` are any text.
std::optional<std::string> their_value(std::string_view values, std::string_view value) {
  values = values.substr(0, values.find(" if "));
  while (!values.empty()) {
    std::string_view ours = orrery::trimmed(cut(values, ';'), " ");
    const std::string_view theirs = cut(ours, '=');
    if (ours == value) {
      return std::string(theirs);
    }
    if (theirs == "*" && ours == "{}") {
      return std::string(value);
    }
  }
  return std::nullopt;
}

// A degree above one, a word other than none, true.
bool is_on(std::string_view value) {
  return !value.empty() && value != "0" && value != "1" && value != "none" && value != "false";
}

bool is_number_or_switch(std::string_view value) {
  return value == "true" || value == "false" ||
         (!value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos);
}

}  // namespace

std::string value_at(const scenario::Scenario& scenario, std::string_view key) {
  return scenario::value_of(scenario, key).value_or("");
}

std::int64_t count_at(const scenario::Scenario& scenario, std::string_view key) {
  return std::atoll(value_at(scenario, key).c_str());
}

std::optional<LaunchSetting> inverted(std::string_view program, std::string_view key,
                                      std::string_view value) {
  for (const TableRow& row : rows_of(program)) {
    if (row.keys.empty()) {
      continue;
    }
    std::string_view keys = row.keys.front();
    const std::string_view first = cut(keys, '=');
    if (row.fate == "sets" && row.rest == key && is_number_or_switch(value)) {
      return LaunchSetting{std::string(first), std::string(value)};
    }
    std::string_view rest = row.rest;
    if (row.fate == "takes" && cut(rest, ' ') == key) {
      if (auto theirs = their_value(rest, value)) {
        return LaunchSetting{std::string(first), *std::move(theirs)};
      }
    }
  }
  return std::nullopt;
}

void add_rows(const scenario::Scenario& scenario, std::string_view program,
              std::vector<LaunchSetting>& settings) {
  for (const LaunchRow& row : launch_rows(program)) {
    const std::string value = value_at(scenario, row.key);
    if (!row.holds(value) || (!row.beside.empty() && !is_on(value_at(scenario, row.beside)))) {
      continue;
    }
    if (!row.words.empty()) {
      add_words(row.words, value, settings);
    } else if (auto setting = inverted(program, row.key, value)) {
      settings.push_back(*std::move(setting));
    }
  }
}

bool translate(std::string_view program, const LaunchSetting& argument, const std::string& value,
               std::vector<LaunchSetting>& settings) {
  const std::vector<LaunchRow> rows = launch_rows(program);
  const auto known = std::find_if(rows.begin(), rows.end(), [&](const LaunchRow& row) {
    return row.key == argument.key && (row.value.empty() || row.value == argument.value);
  });
  if (known != rows.end()) {
    add_words(known->words, value, settings);
  }
  return known != rows.end();
}

std::vector<LaunchSetting> settings_of(std::string_view words) {
  std::vector<LaunchSetting> settings;
  while (!words.empty()) {
    const std::string_view word = cut(words, ' ');
    if (word.starts_with("--")) {
      settings.push_back({std::string(word.substr(2)), ""});
    } else if (!word.empty() && !settings.empty()) {
      settings.back().value += settings.back().value.empty() ? "" : " ";
      settings.back().value += word;
    }
  }
  for (LaunchSetting& one : settings) {
    std::replace(one.key.begin(), one.key.end(), '-', '_');
  }
  return settings;
}

std::string key_ending_in(std::string_view program, std::string_view name) {
  const std::string below = fmt::format(".{}", name);
  const std::string of_model = fmt::format("model.{}", name);
  std::string found;
  for (const TableRow& row : rows_of(program)) {
    for (std::string_view word : row.keys) {
      const std::string_view key = cut(word, '=');
      if (key == of_model || key == name) {
        return std::string(key);
      }
      if (found.empty() && key.ends_with(below)) {
        found = key;
      }
    }
  }
  return found;
}

namespace {

using Tree = nlohmann::ordered_json;

// Numbers, switches and lists as they stand, everything else as text.
Tree typed(const std::string& value) {
  const bool list = value.starts_with("[") && value.ends_with("]");
  if (list) {
    Tree items = Tree::array();
    std::string_view rest = std::string_view(value).substr(1, value.size() - 2);
    while (!rest.empty()) {
      items.push_back(typed(std::string(orrery::trimmed(cut(rest, ','), " "))));
    }
    return items;
  }
  const Tree read = Tree::parse(value, nullptr, false);
  return read.is_number() || read.is_boolean() ? read : Tree(value);
}

Tree tree_of(const std::vector<LaunchSetting>& settings) {
  Tree tree = Tree::object();
  for (const LaunchSetting& one : settings) {
    Tree* at = &tree;
    std::string_view rest = one.key;
    for (std::string_view part = cut(rest, '.'); !part.empty(); part = cut(rest, '.')) {
      at = &(*at)[std::string(part)];
    }
    *at = typed(one.value);
  }
  return tree;
}

void add_yaml(const Tree& tree, const std::string& indent, std::string& text) {
  for (const auto& [key, value] : tree.items()) {
    if (value.is_object()) {
      text += fmt::format("{}{}:\n", indent, key);
      add_yaml(value, indent + "  ", text);
    } else {
      text += fmt::format("{}{}: {}\n", indent, key, value.dump());
    }
  }
}

// Values before tables, as TOML wants them.
void add_toml(const Tree& tree, const std::string& path, std::string& text) {
  const bool values =
      std::any_of(tree.begin(), tree.end(), [](const Tree& value) { return !value.is_object(); });
  if (values && !path.empty()) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", path);
  }
  for (const auto& [key, value] : tree.items()) {
    if (!value.is_object()) {
      text += fmt::format("{} = {}\n", key, value.dump());
    }
  }
  for (const auto& [key, value] : tree.items()) {
    if (value.is_object()) {
      add_toml(value, path.empty() ? key : path + "." + key, text);
    }
  }
}

}  // namespace

std::string as_tree(const std::vector<LaunchSetting>& settings, TreeFormat format) {
  const Tree tree = tree_of(settings);
  constexpr int kIndent = 2;
  std::string text;
  switch (format) {
    case TreeFormat::yaml:
      add_yaml(tree, "", text);
      return text;
    case TreeFormat::toml:
      add_toml(tree, "", text);
      return text;
    case TreeFormat::json:
      return tree.dump(kIndent) + "\n";
  }
  return text;
}

// DeepSpeed: what ds_config.json says of a scenario (hugging_face/deepspeed.cpp reads it).
namespace {

using scenario::Scenario;

void add_zero(const Scenario& scenario, std::vector<LaunchSetting>& settings) {
  const auto sharding = scenario.layout.sharding;
  const auto stage = sharding == layout::Sharding::hsdp ? 3 : static_cast<int>(sharding);
  settings.push_back({"zero_optimization.stage", fmt::format("{}", stage)});
  if (sharding == layout::Sharding::hsdp && scenario.layout.shard_group) {
    settings.push_back(
        {"zero_optimization.mics_shard_size", fmt::format("{}", *scenario.layout.shard_group)});
  }
  if (scenario.step.bucket) {
    constexpr double kBytesOfElement = 2.0;
    settings.push_back({"zero_optimization.reduce_bucket_size",
                        fmt::format("{}", static_cast<std::int64_t>(
                                              in_bytes(*scenario.step.bucket) / kBytesOfElement))});
  }
}

}  // namespace

std::vector<LaunchSetting> deepspeed_settings(const Scenario& scenario) {
  const layout::LayoutSpec& layout = scenario.layout;
  const std::int64_t data = scenario.cluster.nodes * scenario.cluster.gpus_per_node /
                            (layout.tensor * layout.context * layout.pipeline);
  std::vector<LaunchSetting> settings = {
      {"train_batch_size", fmt::format("{}", scenario.batch.global)},
      {"train_micro_batch_size_per_gpu", fmt::format("{}", scenario.batch.micro)},
      {"gradient_accumulation_steps",
       fmt::format("{}", scenario.batch.global / (data * scenario.batch.micro))}};
  const std::string compute = value_at(scenario, "precision.compute");
  settings.push_back({compute == "fp16" ? "fp16.enabled" : "bf16.enabled",
                      scenario.step.precision.is_master() ? "false" : "true"});
  add_zero(scenario, settings);
  add_rows(scenario, "deepspeed", settings);
  return settings;
}

}  // namespace orrery::import_config
