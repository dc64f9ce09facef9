#include "sim/scenario/recipes/follow_recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "sim/scenario/recipes/recipe.hpp"
#include "sim/scenario/recipes/recipe_document.hpp"
#include "sim/scenario/rules/rules.hpp"
#include "sim/scenario/table/read_keys.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/hardware/gpu_profile.hpp"

namespace orrery::scenario {

namespace {

using Subject = RecipeCondition::Subject;

// Letters and digits alone, in lower case: Qwen3-30B is qwen330b.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      text += static_cast<char>(std::tolower(byte));
    }
  }
  return text;
}

class Follower {
 public:
  Follower(Draft& draft, const StackRecipes& recipes, Diagnostics& diagnostics)
      : draft_(draft),
        recipes_(recipes),
        diagnostics_(diagnostics),
        gpu_(presets_of(draft.scenario)
                 .gpu(draft.scenario.cluster.gpu, draft.scenario.where("cluster.gpu"))) {
    const RecipeUse& use = draft.scenario.recipe;
    release_ = use.release.empty() ? recipes.newest : use.release;
  }

  [[nodiscard]] const std::string& release() const { return release_; }

  // Whoever runs it and whatever its model is called.
  [[nodiscard]] bool is_for_such_models(const RecipeEntry& entry) const {
    return is_for_its_training(entry) &&
           std::ranges::all_of(entry.conditions, [this](const RecipeCondition& condition) {
             const std::string& word = condition.words.front();
             const bool named = condition.subject == Subject::model && word != "moe" &&
                                word != "dense" && word != "lora";
             return named || condition.subject == Subject::context || meets(condition);
           });
  }

  void follow() {
    for (const RecipeEntry& entry : recipes_.entries) {
      const bool holds = is_for_its_training(entry) &&
                         std::ranges::all_of(entry.conditions, [this](const auto& condition) {
                           return meets(condition);
                         });
      for (const RecipeValue& set : entry.sets) {
        if (holds && !is_stated(set.key)) {
          apply(set, entry);
        }
      }
    }
  }

 private:
  // What is said of pretraining a model does not hold for adapters on its frozen weights.
  [[nodiscard]] bool is_for_its_training(const RecipeEntry& entry) const {
    return !draft_.scenario.model.lora ||
           std::ranges::all_of(entry.conditions, [](const auto& condition) {
             const auto& words = condition.words;
             return condition.subject != Subject::model ||
                    std::ranges::find(words, "lora") != words.end();
           });
  }

  // A schedule that is made to hide the exchange of experts says that it is hidden.
  [[nodiscard]] bool is_stated(const std::string& key) const {
    return draft_.stated(key) ||
           (key == "overlap.expert" && schedule::traits_of(draft_.scenario.step.schedule).combines);
  }

  [[nodiscard]] bool meets(const RecipeCondition& condition) const {
    return std::ranges::any_of(condition.words,
                               [&](const auto& word) { return meets(condition, word); });
  }

  [[nodiscard]] bool meets(const RecipeCondition& condition, const std::string& word) const {
    const Scenario& scenario = draft_.scenario;
    switch (condition.subject) {
      case Subject::model:
        return word == "moe"     ? scenario.model.moe.has_value()
               : word == "dense" ? !scenario.model.moe.has_value()
               : word == "lora"  ? scenario.model.lora.has_value()
                                 : is_model(plain(word));
      case Subject::gpu:
        return gpu_ && (word == hardware::to_string(gpu_->arch) ||
                        word == plain(hardware::vendor_of(gpu_->arch)) ||
                        plain(gpu_->name).starts_with(plain(word)));
      case Subject::release:
        return word == release_;
      case Subject::context:
        return word == scenario.recipe.context;
      case Subject::key:
        return has_value(draft_, condition.path, word);
    }
    return false;
  }

  [[nodiscard]] bool is_model(const std::string& name) const {
    return plain(draft_.scenario.model_preset).starts_with(name) ||
           plain(draft_.scenario.model.name).starts_with(name);
  }

  // Where it stands is the profile, not the scenario: its place is not kept.
  void apply(const RecipeValue& set, const RecipeEntry& entry) {
    if (entered_row(set.key, draft_) == nullptr) {
      return;
    }
    auto locations = std::exchange(draft_.scenario.locations, {});
    Reading reading{draft_, diagnostics_};
    read_value(set.value, set.key, set.key, reading);
    draft_.scenario.locations = std::move(locations);
    std::vector<RecipeSetting>& settings = draft_.scenario.recipe.settings;
    std::erase_if(settings, [&set](const RecipeSetting& old) { return old.key == set.key; });
    settings.push_back({set.key, set.text, entry.source, entry.certain});
  }

  Draft& draft_;
  const StackRecipes& recipes_;
  Diagnostics& diagnostics_;
  std::optional<GpuKind> gpu_;
  std::string release_;
};

// 26.04.01 and v5.1 as numbers; nothing for a branch such as `main`.
std::optional<std::vector<int>> release_numbers(std::string_view release) {
  std::vector<int> numbers;
  if (release.starts_with("v")) {
    release.remove_prefix(1);
  }
  while (!release.empty()) {
    int number = 0;
    const auto [end, error] =
        std::from_chars(release.data(), release.data() + release.size(), number);
    const auto read = static_cast<std::size_t>(end - release.data());
    const bool goes_on = read < release.size() && (*end == '.' || *end == '-');
    if (error != std::errc{} || (read < release.size() && !goes_on)) {
      return std::nullopt;
    }
    numbers.push_back(number);
    release.remove_prefix(goes_on ? read + 1 : read);
  }
  return numbers.empty() ? std::nullopt : std::optional(numbers);
}

// The latest release with recipes that is not newer than this one, else the oldest; nothing where
// releases have no order.
std::optional<std::string> nearest_release(const std::string& release,
                                           const std::vector<std::string>& known) {
  const auto wanted = release_numbers(release);
  std::optional<std::string> nearest;
  std::vector<int> numbers;
  for (const std::string& one : known) {
    const auto found = release_numbers(one);
    if (!wanted || !found) {
      return std::nullopt;
    }
    const bool older = *found <= *wanted;
    const bool nearest_is_older = nearest && numbers <= *wanted;
    const bool better = !nearest || (older && (!nearest_is_older || *found > numbers)) ||
                        (!older && !nearest_is_older && *found < numbers);
    if (better) {
      nearest = one;
      numbers = *found;
    }
  }
  return nearest;
}

// A release without recipes of its own follows those of the nearest one.
void settle_release(Reading& reading, const StackRecipes& recipes, RecipeUse& use) {
  const auto& known = recipes.releases;
  if (use.release.empty() || std::ranges::find(known, use.release) != known.end()) {
    return;
  }
  const auto nearest = nearest_release(use.release, known);
  if (!nearest) {
    return;
  }
  reading.diagnostics.warning(reading.draft.scenario.where("software.release"), "software.release",
                              fmt::format("{} has no recipes for {}: those of {} are followed",
                                          recipes.stack, use.release, *nearest),
                              fmt::format("{}", fmt::join(known, ", ")));
  use.release = *nearest;
}

void check_word(Reading& reading, std::string_view key, const std::string& word,
                const std::vector<std::string>& known, const std::string& stack) {
  if (word.empty() || std::ranges::find(known, word) != known.end()) {
    return;
  }
  error(reading, key, fmt::format("{} is not known of {}", yaml::display(word), stack),
        known.empty() ? std::string("nothing: its profile tells none apart")
                      : fmt::format("{}", fmt::join(known, ", ")));
}

// Restores what the recipes of another stack or context have set.
void forget(Scenario& scenario) {
  if (scenario.recipe.silent) {
    scenario.step = scenario.recipe.silent->step;
    scenario.model = scenario.recipe.silent->model;
    scenario.layout.sharding = scenario.recipe.silent->sharding;
    scenario.layout.sequence_parallel = scenario.recipe.silent->sequence_parallel;
  }
  scenario.recipe.silent = nullptr;
  scenario.recipe.settings.clear();
}

std::optional<Scenario> followed(Scenario scenario) {
  forget(scenario);
  Draft draft = draft_of(scenario);
  Diagnostics found;
  Reading reading{draft, found};
  follow_recipe(reading);
  return found.has_errors() ? std::nullopt : std::optional(std::move(draft.scenario));
}

}  // namespace

void follow_recipe(Reading& reading) {
  Draft& draft = reading.draft;
  Scenario& scenario = draft.scenario;
  if (scenario.software.empty() || is_broken(reading.diagnostics, "software")) {
    return;
  }
  const auto recipes = presets_of(scenario).recipes(scenario.software, scenario.where("software"),
                                                    reading.diagnostics);
  if (recipes == nullptr) {
    return;
  }
  RecipeUse& use = scenario.recipe;
  settle_release(reading, *recipes, use);
  check_word(reading, "software.release", use.release, recipes->releases, recipes->stack);
  check_word(reading, "software.context", use.context, recipes->contexts, recipes->stack);
  if (use.plain || recipes->entries.empty() || reading.diagnostics.has_errors()) {
    return;
  }
  use.silent = std::make_shared<const SilentSpecs>(SilentSpecs{
      scenario.model, scenario.step, scenario.layout.sharding, scenario.layout.sequence_parallel});
  Follower follower(draft, *recipes, reading.diagnostics);
  follower.follow();
  use.combines_expert_overlap = recipes->combines_expert_overlap;
  scenario.step.schedule = run_schedule(scenario);
  use.followed = follower.release();
}

schedule::ScheduleKind run_schedule(const Scenario& scenario) {
  using schedule::ScheduleKind;
  const ScheduleKind stated = scenario.step.schedule;
  const bool combines = scenario.recipe.combines_expert_overlap && scenario.model.moe &&
                        scenario.layout.expert > 1 && scenario.is_set_by_recipe("overlap.expert") &&
                        scenario.step.overlap.expert.value_or(false);
  return combines && (stated == ScheduleKind::none || stated == ScheduleKind::interleaved)
             ? ScheduleKind::interleaved_combined
             : stated;
}

std::optional<Scenario> with_stack(const Scenario& scenario, std::string_view stack) {
  Scenario other = scenario;
  other.software = stack;
  other.recipe.release.clear();
  other.recipe.context.clear();
  return followed(std::move(other));
}

std::optional<Scenario> with_context(const Scenario& scenario, std::string_view context) {
  Scenario other = scenario;
  other.recipe.context = context;
  return followed(std::move(other));
}

std::optional<Scenario> without_setting(const Scenario& scenario, std::string_view key) {
  std::optional<Scenario> other = scenario;
  forget(*other);
  Diagnostics found;
  for (const RecipeSetting& setting : scenario.recipe.settings) {
    if (other && setting.key != key) {
      other = with_value(*other, {setting.key, setting.value, {}}, found);
    }
  }
  if (other) {  // what the recipe sets, it still sets: it may combine schedules by it
    other->recipe.settings = scenario.recipe.settings;
    std::erase_if(other->recipe.settings,
                  [key](const RecipeSetting& setting) { return setting.key == key; });
    other->step.schedule = run_schedule(*other);
  }
  return other;
}

std::vector<OfferedValue> offered_values(const Scenario& scenario) {
  Diagnostics unused;
  const auto recipes = presets_of(scenario).recipes(scenario.software, {}, unused);
  std::vector<OfferedValue> values;
  if (recipes == nullptr) {
    return values;
  }
  Draft draft = draft_of(scenario);
  const Follower follower(draft, *recipes, unused);
  for (const RecipeEntry& entry : recipes->entries) {
    for (const RecipeValue& set : entry.sets) {
      const bool known = std::ranges::any_of(values, [&set](const auto& value) {
        return value.key == set.key && value.value == set.text;
      });
      if (!known && !set.key.starts_with("model.") && !set.key.starts_with("layout.") &&
          follower.is_for_such_models(entry)) {
        values.push_back({set.key, set.text});
      }
    }
  }
  return values;
}

std::optional<Scenario> with_recipes(const Scenario& scenario) { return followed(scenario); }

}  // namespace orrery::scenario
