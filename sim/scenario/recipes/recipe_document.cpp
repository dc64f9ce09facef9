#include "sim/scenario/recipes/recipe_document.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "sim/base/yaml/flow_text.hpp"
#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::scenario {

namespace {

using yaml::MappingReader;
using yaml::Value;
using Subject = RecipeCondition::Subject;

constexpr std::array<yaml::Choice<bool>, 2> kCertainty = {{{"certain", true}, {"inferred", false}}};
constexpr std::array<yaml::Choice<Subject>, 4> kSubjects = {{{"model", Subject::model},
                                                             {"gpu", Subject::gpu},
                                                             {"release", Subject::release},
                                                             {"context", Subject::context}}};

void note(std::vector<std::string>& all, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (std::ranges::find(all, word) == all.end()) {
      all.push_back(word);
    }
  }
}

RecipeCondition read_condition(const yaml::Entry& entry, StackRecipes& recipes,
                               Diagnostics& diagnostics) {
  RecipeCondition condition{Subject::key, entry.key, condition_words(entry.value)};
  const auto subject =
      std::ranges::find_if(kSubjects, [&](const auto& known) { return known.name == entry.key; });
  if (subject == kSubjects.end()) {
    (void)find_key(entry.key, entry.key_where, diagnostics);
    return condition;
  }
  condition.subject = subject->value;
  if (condition.subject == Subject::release) {
    note(recipes.releases, condition.words);
  } else if (condition.subject == Subject::context) {
    note(recipes.contexts, condition.words);
  }
  return condition;
}

// What programs switch on beside the degrees that a person states.
bool is_switch_of_layouts(std::string_view key) {
  return key == "layout.sharding" || key == "layout.sequence_parallel";
}

RecipeEntry read_entry(const Value& item, const std::string& path, StackRecipes& recipes,
                       Diagnostics& diagnostics) {
  RecipeEntry entry;
  MappingReader reader(item, diagnostics, path);
  if (auto when = reader.require_mapping("when")) {
    for (const yaml::Entry& condition : when->value().entries) {
      entry.conditions.push_back(read_condition(condition, recipes, diagnostics));
    }
  }
  if (auto sets = reader.require_mapping("sets")) {
    for (const yaml::Entry& set : sets->value().entries) {
      if (set.key.starts_with("layout") && !is_switch_of_layouts(set.key)) {
        yaml::report(diagnostics, set.key_where, set.key, "the layout is the scenario's own",
                     "layout.sharding, layout.sequence_parallel, or a key of another section");
      } else if (find_key(set.key, set.key_where, diagnostics)) {
        entry.sets.push_back({set.key, yaml::flow_text(set.value), set.value});
      }
    }
  }
  entry.certain = reader.require_choice("certainty", kCertainty).value_or(true);
  entry.source = reader.require_text("source", "the repository, its commit and the file")
                     .value_or(std::string());
  reader.finish();
  return entry;
}

}  // namespace

std::shared_ptr<const StackRecipes> read_recipes(const hardware::SoftwareProfile& profile,
                                                 Diagnostics& diagnostics) {
  StackRecipes recipes;
  recipes.stack = profile.name;
  recipes.newest = profile.newest;
  recipes.combines_expert_overlap = profile.combines_expert_overlap;
  if (profile.recipes != nullptr) {
    Diagnostics found;
    if (profile.recipes->kind != Value::Kind::sequence) {
      yaml::report(found, profile.recipes->where, "recipes", "is no list", "- when: {model: moe}");
    }
    for (std::size_t i = 0; i < profile.recipes->items.size(); ++i) {
      recipes.entries.push_back(
          read_entry(profile.recipes->items[i], fmt::format("recipes[{}]", i), recipes, found));
    }
    for (const Diagnostic& problem : found.all()) {
      diagnostics.add(problem);
    }
    if (found.has_errors()) {
      return nullptr;
    }
  }
  for (const hardware::StackRelease& release : profile.releases) {
    note(recipes.releases, {release.from});
  }
  if (!recipes.newest.empty()) {
    note(recipes.releases, {recipes.newest});
  }
  return std::make_shared<const StackRecipes>(std::move(recipes));
}

namespace {

std::optional<double> number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

// A word, or a bound such as ">=2".
bool is_met(std::string_view word, std::string_view value) {
  const bool least = word.starts_with(">=");
  if (!least && !word.starts_with("<=")) {
    return word == value;
  }
  const std::optional<double> bound = number(word.substr(2));
  const std::optional<double> found = number(value);
  return bound && found && (least ? *found >= *bound : *found <= *bound);
}

}  // namespace

std::vector<std::string> condition_words(const Value& value) {
  std::vector<std::string> words;
  if (value.kind == Value::Kind::sequence) {
    for (const Value& item : value.items) {
      words.push_back(yaml::flow_text(item));
    }
  } else {
    words.push_back(value.kind == Value::Kind::scalar ? value.text : yaml::flow_text(value));
  }
  for (std::string& word : words) {
    std::erase_if(word, [](char c) { return c == '"' || c == '\''; });
  }
  return words;
}

const Key* entered_row(std::string_view path, Draft& draft) {
  const Key* row = nullptr;
  std::string above;
  while (!path.empty()) {
    if (row != nullptr && row->enter && !row->enter(draft, 0)) {
      return nullptr;
    }
    const std::size_t dot = path.find('.');
    row = row_below(above, path.substr(0, dot));
    if (row == nullptr) {
      return nullptr;
    }
    above = row->path;
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  return row;
}

bool has_value(Draft& draft, std::string_view path, std::string_view word) {
  if (path == "cluster.gpus") {
    const hardware::ClusterSpec& cluster = draft.scenario.cluster;
    return is_met(word, fmt::format("{}", cluster.nodes * cluster.gpus_per_node));
  }
  const Key* row = entered_row(path, draft);
  const std::optional<std::string> value =
      row != nullptr && row->print ? row->print(draft) : std::nullopt;
  return value && is_met(word, *value);
}

}  // namespace orrery::scenario
