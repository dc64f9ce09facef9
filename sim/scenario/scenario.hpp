#pragma once

// A scenario file as typed specs: what the user asked for, without any YAML left.
//
// Scenario only gathers the specs of the stages (each lives with the stage that consumes it).
// `locations` remembers where every key stood, so that rules found later (divisibility, schedule,
// expectations) still point at file, line and column. Presets are resolved: `model` holds numbers.
//
// Source: the format `orrery/1` of docs/scenario-reference.md, generated from the same key table.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/run/hours_spec.hpp"
#include "sim/run/rollout/rollout_spec.hpp"
#include "sim/run/run_spec.hpp"
#include "sim/scenario/locations.hpp"
#include "sim/scenario/plan_spec.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/model/model_spec.hpp"
#include "sim/step/simulate/step_spec.hpp"

namespace orrery::scenario {

class PresetLibrary;

// One line of `expect:`, unparsed; report/ gives it its meaning.
struct ExpectationText {
  std::string text;
  bool decide_point = false;  // `decide: point`: judge the point estimate, not its interval
  SourceLocation where;
};

// One line of `measured:`, unparsed. No stage reads it: validate/ sets predictions beside it.
struct MeasuredText {
  std::string metric;
  std::string text;
  run::HoursKind kind = run::HoursKind::billed;  // of GPU-hours
  SourceLocation metric_where;
  SourceLocation where;
};

// One key on which the scenario is silent and that a recipe of its stack sets.
struct RecipeSetting {
  std::string key;
  std::string value;   // on one line, as a scenario states it
  std::string source;  // repository, commit and file
  bool certain = true;

  friend bool operator==(const RecipeSetting&, const RecipeSetting&) = default;
};

// What the specs held where no recipe was followed.
struct SilentSpecs {
  model::ModelSpec model;
  step::StepSpec step;
  layout::Sharding sharding = layout::Sharding::none;
  bool sequence_parallel = false;
};

// How the stack is run, and what its recipes set (recipes/follow_recipe.hpp).
struct RecipeUse {
  std::string release;                   // of the stack; empty: the newest that its profile knows
  std::string context;                   // who runs it; empty: its released recipes
  bool plain = false;                    // follows none
  std::string followed;                  // the release whose recipes hold
  bool combines_expert_overlap = false;  // and the schedule with it
  std::vector<RecipeSetting> settings;
  std::shared_ptr<const SilentSpecs> silent;  // nullptr: none was followed
};

struct Scenario {
  std::string file;
  std::string sha256;  // of the file's bytes
  std::string name;
  std::string model_preset;  // empty when spelled out
  model::ModelSpec model;
  hardware::ClusterSpec cluster;
  layout::LayoutSpec layout;
  layout::BatchSpec batch;
  step::StepSpec step;
  std::string software;  // name or path of its profile
  RecipeUse recipe;
  std::optional<run::RolloutSpec> rollout;
  std::optional<run::RunSpec> run;  // absent: only the step is asked for (no `training:`)
  std::vector<ExpectationText> expect;
  std::vector<MeasuredText> measured;
  std::optional<plan::PlanSpec> plan;            // of `orrery plan` alone
  Locations locations;                           // of the values
  std::shared_ptr<const PresetLibrary> presets;  // where their names are looked up

  // Place of the key, of the nearest enclosing mapping when the key is absent, or of the file.
  [[nodiscard]] SourceLocation where(std::string_view key) const;

  // By text or in a mapping.
  [[nodiscard]] bool names_stack() const;

  // So that nobody is warned of a key that is nowhere in the file.
  [[nodiscard]] bool is_set_by_recipe(std::string_view key) const;
};

// Those of the scenario, or the standard ones where nobody has said which.
[[nodiscard]] const PresetLibrary& presets_of(const Scenario& scenario);

}  // namespace orrery::scenario
