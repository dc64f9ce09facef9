#pragma once

// One key of a scenario: its names, forms, default, meaning, and how it reaches the specs.
//
// One table of keys (key_table.hpp) drives the reader, the JSON Schema and the reference, so that
// the three cannot differ. Internal to scenario/.
//
// field    | meaning
// ---------|--------------------------------------------------------------------------------------
// path     | dotted path; [] follows the key of a list: failures.causes[].name
// aliases  | other names of the last part of the path
// forms    | spellings of a value that is neither a mapping nor a list of mappings
// mapping  | the value may be a mapping, whose keys are the rows below this path
// list     | the value is a list; each item has one of the forms or is such a mapping
// fallback | the default in the spelling of a scenario; setting the key to it changes nothing
// note     | what happens without the key, where no single value says it
// read     | checks and stores a value of one of the forms
// print    | the value that the specs hold, as a scenario states it; nothing where they hold none
// idle     | conditions under which the key, where it is stated, changes nothing
// enter    | of an optional section: is it there? Of a list: makes item i the last; false if none
// begin_list | called before the first item of a list is read
// begin    | called before the rows of a mapping (of each item of a list) are read
// end      | called after them, to put together what they stored

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::scenario {

// The parameters of a duration as they are met; put together when its mapping ends.
struct DurationDraft {
  std::optional<Seconds> mean;
  std::optional<Seconds> median;
  std::optional<double> sigma;
  std::optional<Seconds> low;
  std::optional<Seconds> high;
  std::vector<Seconds> values;
};

// The parameters of a life law, likewise.
struct LifeDraft {
  std::optional<Seconds> mean;
  std::optional<Seconds> median;
  std::optional<double> shape;
  std::optional<double> sigma;
  std::vector<Seconds> times;
};

struct Draft;

// A condition under which a key has no effect, and the words of the warning.
struct Idle {
  bool (*when)(const Draft&) = nullptr;
  std::string_view reason;
};

#define ORRERY_WHEN(condition, reason)                       \
  Idle {                                                     \
    [](const Draft& d) -> bool { return condition; }, reason \
  }

// A scenario while it is read: the specs, and what the rules need to know beside them.
struct Draft {
  Scenario scenario;
  run::RunSpec run;  // becomes scenario.run when `training` is stated
  model::ModelSpec preset;
  std::optional<model::Activation> activation;
  std::optional<bool> gated_mlp;
  std::optional<std::int64_t> gpus;  // cluster.gpus
  std::optional<std::int64_t> nodes;
  run::PriceSpec offered;        // prices of the cluster's preset
  bool expert_in_order = false;  // layout.order names ep, and where:
  bool expert_after_tensor_and_context = true;
  bool expert_before_data = true;
  DurationDraft duration;
  LifeDraft life;
  double diurnal_amplitude = 0.0;
  double diurnal_peak = 0.0;

  // Whether the file states the key (by its dotted path).
  [[nodiscard]] bool stated(std::string_view key) const {
    return scenario.locations.find(key) != scenario.locations.end();
  }
};

struct Reading {
  Draft& draft;
  Diagnostics& diagnostics;
};

enum class FormKind { text, boolean, integer, number, words, object, any };

// One spelling of a value, for the schema and the reference.
struct Form {
  FormKind kind = FormKind::text;
  std::string name;     // "a time"
  std::string example;  // "30min"
  std::string
      pattern;  // of the text, in the common part of ECMAScript and std::regex; may be empty
  std::optional<double> min;  // integer and number: bounds of a bare number
  std::optional<double> max;
  bool min_exclusive = false;
  std::string range;                  // the bounds in words; may be empty
  std::vector<std::string> words;     // FormKind::words
  std::optional<PresetKind> presets;  // whose names are the words, then
  bool list = false;                  // a list of such values
};

using PrintValue = std::function<std::optional<std::string>(Draft&)>;
using StoreValue = std::function<void(const yaml::Value&, const std::string& path, Reading&)>;

struct Key {
  std::string path;
  std::vector<std::string> aliases;
  std::vector<Form> forms;
  bool mapping = false;
  bool list = false;
  bool required = false;
  bool folded = false;  // described once for all keys of its kind, so not a row of the reference
  std::string fallback;
  std::string note;
  std::string meaning;
  std::string example;
  std::vector<Idle> idle;
  StoreValue read;
  PrintValue print;
  std::function<bool(Draft&, std::size_t)> enter;
  std::function<void(Reading&)> begin_list;
  std::function<void(const yaml::Value&, Reading&)> begin;
  StoreValue end;

  [[nodiscard]] std::string_view parent() const;             // "" for a key of the top level
  [[nodiscard]] std::string_view name() const;               // last part of the path
  [[nodiscard]] bool is_named(std::string_view word) const;  // by its name or an alias
};

// What a row of the table states in words.
struct KeyText {
  std::string path;
  std::vector<std::string> aliases = {};
  std::string fallback = {};
  std::string note = {};
  std::string meaning = {};
  std::string example = {};
  bool required = false;
  std::vector<Idle> idle = {};
};

}  // namespace orrery::scenario
