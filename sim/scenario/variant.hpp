#pragma once

// Variants of a scenario with a few keys changed. For sweeps: one file, many variants.
//
//   const auto base = ScenarioTemplate::from_file("scenario.yaml", diagnostics);
//   const auto scenario = base->with({{"capacity.spares", "16"}}, diagnostics);
//
// A key is a dotted path in the spelling of the reference or any alias, with [N] for the N-th item
// of a list: `layout.tp`, `failures.causes[0].weight`. A value is the text that would follow
// the key in the file, mappings and lists in flow style included. It replaces what the file states
// there; sections on the way are added. The result is read along the key table as every file is, so
// that checks, messages and defaults are the same.

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::yaml {
struct Value;
}

namespace orrery::scenario {

struct KeyValue {
  std::string key;
  std::string value;
  SourceLocation where;  // printed by diagnostics about it
};

// What the key table knows about a key, indices of lists left in place.
struct KeyFacts {
  std::string path;            // in the spelling of the reference
  std::string section;         // its first part
  bool whole_numbers = false;  // takes whole numbers and nothing else that is a number
};

// Nothing, and an error with the nearest key, when there is no such key.
[[nodiscard]] std::optional<KeyFacts> find_key(std::string_view key, const SourceLocation& where,
                                               Diagnostics& diagnostics);

// The value of a key as the specs hold it, in the spelling of a scenario: with this value the key
// changes nothing. Nothing where the specs hold none, and for lists of axes, files and metrics.
[[nodiscard]] std::optional<std::string> value_of(const Scenario& scenario, std::string_view key);

// The specs with one key read from its text; keys that others derive from it stay as they are.
[[nodiscard]] std::optional<Scenario> with_value(const Scenario& scenario, const KeyValue& change,
                                                 Diagnostics& diagnostics);

// The data-parallel degree follows from the others. Where a change of one of them makes a stated
// layout.data wrong, it is to be left out, and this says so: a warning at its place. Nothing where
// the changes state it, it holds, or no whole number would.
[[nodiscard]] std::optional<Diagnostic> outdated_data(const Scenario& changed,
                                                      std::span<const KeyValue> changes);

class ScenarioTemplate {
 public:
  using Search = std::optional<hardware::ProfileSearch>;  // of presets; default: that of the file

  // Nothing when it is no YAML or of another format. Throws Error(io) when it cannot be read.
  [[nodiscard]] static std::optional<ScenarioTemplate> from_file(const std::filesystem::path& path,
                                                                 Diagnostics& diagnostics,
                                                                 const Search& search = {});
  [[nodiscard]] static std::optional<ScenarioTemplate> from_text(std::string_view text,
                                                                 const std::string& file_name,
                                                                 Diagnostics& diagnostics,
                                                                 const Search& search = {});

  // The scenario with these keys replaced, in order, and layout.data left out where that makes it
  // wrong (outdated_data); nothing when `diagnostics` got an error.
  [[nodiscard]] std::optional<Scenario> with(std::span<const KeyValue> changes,
                                             Diagnostics& diagnostics) const;

  // Whether the value is one that the key takes, whatever the other keys say: reports the errors
  // that stand at the value itself.
  void check(const KeyValue& change, Diagnostics& diagnostics) const;

  [[nodiscard]] const std::string& file() const { return file_; }

  [[nodiscard]] const std::string& sha256() const { return sha256_; }

 private:
  std::string file_;
  std::string sha256_;
  std::shared_ptr<const yaml::Value> root_;
  std::shared_ptr<const PresetLibrary> presets_;
};

// Lookup of a key by its name or any alias, as find_key of variant.hpp, without a message: for
// importers, which try the names of other programs.

[[nodiscard]] std::optional<KeyFacts> known_key(std::string_view key);

}  // namespace orrery::scenario
