#pragma once

// The keys of Megatron-LM, under whichever names and sections a file has them. Internal to
// import_config/.
//
// Meaning and defaults: megatron/training/arguments.py, megatron/core/model_parallel_config.py and
// megatron/core/transformer/transformer_config.py at d98e8a64 (2026-08); of NeMo the configurations
// under examples/nlp/language_modeling/conf and the predefined ones of NeMo-Megatron-Launcher.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

// `names` are those of one key, with bars between them; the first that the file has counts.
struct MegatronKeys {
  Import& import;
  std::vector<std::string> prefixes;  // of the sections that may hold a key, the nearest first

  // Where the key stands; under the first section and name when it stands nowhere.
  [[nodiscard]] std::string path(std::string_view names) const;

  [[nodiscard]] const SourceItem* find(std::string_view names) const {
    return import.keys.find(path(names));
  }

  [[nodiscard]] auto flag(std::string_view names) const { return import.keys.flag(path(names)); }

  [[nodiscard]] bool on(std::string_view names) const { return flag(names).value_or(false); }

  [[nodiscard]] auto count(std::string_view names) const { return import.keys.count(path(names)); }

  [[nodiscard]] auto text(std::string_view names) const { return import.keys.text(path(names)); }

  // Read, and of no further use.
  void pass(std::string_view names) const { static_cast<void>(import.keys.take(path(names))); }

  template <typename T>
  void set(std::string_view target, T value, std::string_view names) const {
    import.set(target, std::move(value), path(names));
  }

  template <typename T>
  void derive(std::string_view target, T value, std::string_view names, std::string why) const {
    import.derive(target, std::move(value), path(names), std::move(why));
  }

  template <typename T>
  void usual(std::string_view target, T value, std::string why) const {
    import.usual(target, std::move(value), std::move(why));
  }

  template <typename T>
  bool set_if(std::string_view names, std::string_view target, T value) const {
    return import.set_if(path(names), target, std::move(value));
  }

  auto copy(std::string_view names, std::string_view target) const {
    return copy_count(import, path(names), target);
  }

  // Every count that the key table of scenarios knows in the section, in all sections of the file.
  void copy_known(std::string_view section) const {
    for (const std::string& prefix : prefixes) {
      copy_known_counts(import, prefix, section);
    }
  }

  void leave_out(std::string_view names, Effect effect, std::string why,
                 std::string_view states = {}) const {
    import_config::leave_out(import, path(names), effect, std::move(why), states);
  }
};

// The small languages in which Megatron-Core says which layers have experts, and which lie on which
// stage.
//
// pattern                    | meaning
// ---------------------------|---------------------------------------------------------------
// 2                          | every second layer has experts, the first one included
// [0]*3+[1]*58, ([0]+[1])*24 | Python lists: 1 for a layer with experts
// Et*3|(tt|)*29,m|L          | stages between bars; E embedding, t layer, m prediction, L loss

// One value per layer; nothing when it is no such pattern or far too long.
[[nodiscard]] std::optional<std::vector<bool>> parse_expert_pattern(std::string_view text,
                                                                    std::int64_t layers);

struct StageLayout {
  std::vector<std::int64_t> layers;  // of each virtual stage, in the order of the layers
  std::int64_t prediction = 0;       // multi-token-prediction layers in all
  bool prediction_apart = false;     // they stand on another stage than the loss
};

[[nodiscard]] std::optional<StageLayout> parse_stage_layout(std::string_view text);

}  // namespace orrery::import_config
