#pragma once

// The dimensions behind the flavors of torchtitan, whose files name a model and a flavor only.
// Internal to import_config/.
//
// Source: torchtitan, torchtitan/models/*/__init__.py and model/args.py before commit 9810191b, for
// the models in llama3, llama4, deepseek_v3 and qwen3 (BSD-3-Clause; the figures only).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::import_config {

struct TorchtitanFlavor {
  std::string_view model;   // llama3
  std::string_view flavor;  // 8B
  std::string_view facts;   // num_layers=32 hidden_size=4096 ...: keys below `model`
  std::string_view remark = {};
};

// The suffixes _flex, _varlen and _irope of a flavor change the attention kernel, not the widths.
[[nodiscard]] std::optional<TorchtitanFlavor> find_flavor(std::string_view model,
                                                          std::string_view flavor);

[[nodiscard]] std::vector<TorchtitanFlavor> torchtitan_flavors();

// Its name for a schedule of a scenario; nothing where it has none.
[[nodiscard]] std::optional<std::string_view> torchtitan_schedule(std::string_view schedule);

// "llama3 8B, llama3 70B, ...", for messages.
[[nodiscard]] std::string known_flavors();

}  // namespace orrery::import_config
