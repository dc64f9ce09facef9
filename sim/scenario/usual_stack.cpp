#include "sim/scenario/usual_stack.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/recipes/recipe_document.hpp"
#include "sim/scenario/rules/rules.hpp"
#include "sim/scenario/table/read_keys.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::scenario {

namespace {

using yaml::MappingReader;

UsualStack read_entry(MappingReader& reader, const std::string& name, Diagnostics& diagnostics) {
  UsualStack usual{name, {}, {}};
  if (auto when = reader.require_mapping("when")) {
    for (const yaml::Entry& entry : when->value().entries) {
      if (!entry.key.starts_with("layout.")) {
        yaml::report(diagnostics, entry.key_where, entry.key, "is no key of the layout",
                     "layout.sharding, layout.pipeline, ...");
      } else if (find_key(entry.key, entry.key_where, diagnostics)) {
        usual.when.push_back({entry.key, condition_words(entry.value)});
      }
    }
  }
  usual.other = reader.require_text("other", "`megatron-core`").value_or(std::string());
  reader.finish();
  return usual;
}

bool holds(const UsualStack& usual, Draft& draft) {
  return std::ranges::all_of(usual.when, [&draft](const UsualCondition& condition) {
    return std::ranges::any_of(condition.words, [&](const std::string& word) {
      return has_value(draft, condition.key, word);
    });
  });
}

// Of one stack the first entry.
std::vector<UsualStack> strongest(Draft& draft, Diagnostics& diagnostics) {
  std::vector<UsualStack> best;
  for (const UsualStack& usual : presets_of(draft.scenario).usual_stacks(diagnostics)) {
    const bool weaker = !best.empty() && usual.when.size() < best.front().when.size();
    if (weaker || !holds(usual, draft)) {
      continue;
    }
    if (!best.empty() && usual.when.size() > best.front().when.size()) {
      best.clear();
    }
    if (best.empty() || best.back().name != usual.name) {
      best.push_back(usual);
    }
  }
  return best;
}

}  // namespace

std::vector<UsualStack> read_default_for(const hardware::SoftwareProfile& profile,
                                         Diagnostics& diagnostics) {
  std::vector<UsualStack> entries;
  if (profile.default_for == nullptr) {
    return entries;
  }
  if (profile.default_for->kind != yaml::Value::Kind::sequence) {
    yaml::report(diagnostics, profile.default_for->where, "default_for", "is no list",
                 "- {when: {layout.pipeline: 1}, other: megatron-core}");
  }
  for (std::size_t i = 0; i < profile.default_for->items.size(); ++i) {
    MappingReader reader(profile.default_for->items[i], diagnostics,
                         fmt::format("default_for[{}]", i));
    entries.push_back(read_entry(reader, profile.name, diagnostics));
  }
  return entries;
}

std::vector<UsualStack> usual_stacks(const Scenario& scenario) {
  Draft draft = draft_of(scenario);
  Diagnostics unused;
  return strongest(draft, unused);
}

bool is_usual_stack(const Scenario& scenario) {
  const std::vector<UsualStack> usual = usual_stacks(scenario);
  return usual.size() == 1 && usual.front().name == scenario.software;
}

void settle_stack(Reading& reading) {
  Scenario& scenario = reading.draft.scenario;
  const PresetLibrary& presets = presets_of(scenario);
  if (scenario.names_stack()) {
    scenario.software = presets.stack_named(scenario.software);
    return;
  }
  const std::vector<UsualStack> usual = strongest(reading.draft, reading.diagnostics);
  if (usual.size() == 1) {
    scenario.software = usual.front().name;
    return;
  }
  std::vector<std::string> names;
  for (const UsualStack& one : usual) {
    names.push_back(one.name);
  }
  if (!names.empty()) {
    error(reading, "software",
          fmt::format("is required: the profiles of {} each claim to be the default for this "
                      "layout",
                      fmt::join(names, " and ")),
          fmt::format("{}", fmt::join(names, ", ")));
  } else if (!is_broken(reading.diagnostics, "software")) {
    error(reading, "software",
          "is required: no profile of a stack says that it is the default for this layout",
          "the name of a profile, which `orrery list software` shows, or the path of a file");
  }
}

}  // namespace orrery::scenario
