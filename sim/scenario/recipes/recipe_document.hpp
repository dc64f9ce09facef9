#pragma once

// The `recipes` of a training stack's profile: what its released configurations switch on. Each
// sets keys of a scenario where its conditions hold.
//
//   newest: "26.06"
//   recipes:
//     - when: {model: moe, gpu: [gb200, gb300], release: ["26.04", "26.06"], layout.tensor: ">=2"}
//       sets: {software_options.expert_dispatcher: hybridep, overlap.expert: true}
//       certainty: certain             # read in the file named, or inferred
//       source: "NVIDIA-NeMo/Megatron-Bridge v0.4.0: ..."
//
// condition | holds for
// ----------|--------------------------------------------------------------------------------------
// model     | dense, moe, lora, or a name that the model's begins with, case and separators aside
// gpu       | an architecture, amd, or a name that the GPU profile's begins with
// release   | the release that the scenario states, else `newest`
// context   | who runs the stack, where the scenario says so
// other     | a key of the scenario: its value, or a bound as ">=2" or "<=1"
//
// A list holds where one of its items does. The layout is the scenario's own: no recipe sets it.
// Entries that tell models apart are those of pretraining: where adapters are trained (model.lora),
// only those of them hold that name `lora`.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/yaml/document.hpp"
#include "sim/scenario/table/key.hpp"
#include "sim/step/hardware/software_profile.hpp"

namespace orrery::scenario {

struct RecipeCondition {
  enum class Subject { model, gpu, release, context, key };

  Subject subject = Subject::key;
  std::string path;                // of the key
  std::vector<std::string> words;  // any of them
};

struct RecipeValue {
  std::string key;
  std::string text;  // on one line
  yaml::Value value;
};

struct RecipeEntry {
  std::vector<RecipeCondition> conditions;
  std::vector<RecipeValue> sets;
  bool certain = true;
  std::string source;
};

struct StackRecipes {
  std::string stack;
  std::string newest;
  bool combines_expert_overlap = false;  // hardware/software_profile.hpp
  std::vector<RecipeEntry> entries;      // later ones over earlier ones
  std::vector<std::string> releases;     // that an entry names, and the newest
  std::vector<std::string> contexts;
};

// Nothing after an error of the file.
[[nodiscard]] std::shared_ptr<const StackRecipes> read_recipes(
    const hardware::SoftwareProfile& profile, Diagnostics& diagnostics);

// A condition on a key of the scenario, as the profile of a stack states it: the key's value, a
// bound as ">=2" or "<=1", or a list of which one holds. Internal to scenario/.

// The row of the key where all sections above it are there; nullptr otherwise.
[[nodiscard]] const Key* entered_row(std::string_view path, Draft& draft);

// Whether the key has this value, or one within this bound.
[[nodiscard]] bool has_value(Draft& draft, std::string_view path, std::string_view word);

// One word, or the items of a list.
[[nodiscard]] std::vector<std::string> condition_words(const yaml::Value& value);

}  // namespace orrery::scenario
