#pragma once

// One key of a scenario: its names, forms, default, meaning, and how it reaches the specs.
//
// One table of keys (key_table.hpp) drives the reader, the JSON Schema and the reference, so that
// the three cannot differ. Internal to scenario/.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/units.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/kinds.hpp"
#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::scenario {

// Bounds that keys of several sections share. Internal to scenario/.

inline constexpr Seconds kLongestSpan = days(25'000.0);
inline constexpr yaml::Range<Seconds> kSpan = {std::nullopt, kLongestSpan, false};
inline constexpr yaml::Range<Seconds> kPositiveSpan = {Seconds{}, kLongestSpan, true};
inline constexpr std::int64_t kWidest = std::int64_t{1} << 24U;  // products of two stay exact
inline constexpr std::int64_t kMostNodes = 1'000'000;
inline constexpr std::int64_t kMostSequences = std::int64_t{1} << 30U;  // of one step
inline constexpr std::int64_t kMostSteps = std::int64_t{1}
                                           << 53U;  // doubles hold such counts exactly

// What holds without a dimension of the model.
inline constexpr std::string_view kOfPreset = "the preset's; required without one";

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
  std::string path;                  // dotted; [] follows a list: failures.causes[].name
  std::vector<std::string> aliases;  // other names of the last part of the path
  std::vector<Form> forms;           // spellings of what is neither a mapping nor a list of them
  bool mapping = false;              // may be one, whose keys are the rows below this path
  bool list = false;                 // a list, whose items have such forms
  bool required = false;
  bool folded = false;   // described once for all keys of its kind, so not a row of the reference
  std::string fallback;  // the default, as a scenario spells it; setting it changes nothing
  std::string note;      // what happens without the key, where no single value says it
  std::string meaning;
  std::string example;
  std::vector<Idle> idle;  // when the stated key changes nothing
  StoreValue read;         // checks and stores a value of one of the forms
  PrintValue print;        // the value that the specs hold; nothing where they hold none
  // Of an optional section: is it there? Of a list: makes item i the last; false if none.
  std::function<bool(Draft&, std::size_t)> enter;
  std::function<void(Reading&)> begin_list;                 // before the first item is read
  std::function<void(const yaml::Value&, Reading&)> begin;  // before the rows of a mapping, an item
  StoreValue end;                                           // after them, to put them together

  [[nodiscard]] std::string_view parent() const;             // "" for a key of the top level
  [[nodiscard]] std::string_view name() const;               // last part of the path
  [[nodiscard]] bool is_named(std::string_view word) const;  // by its name or an alias
};

// What only some rows state.
struct KeyNotes {
  std::vector<std::string> aliases = {};
  std::string fallback = {};
  std::string note = {};
  bool required = false;
  std::vector<Idle> idle = {};
};

}  // namespace orrery::scenario
