#pragma once

// The small languages in which Megatron-Core says which layers have experts, and which lie on which
// stage. Internal to import_config/.
//
// pattern                    | meaning
// ---------------------------|---------------------------------------------------------------
// 2                          | every second layer has experts, the first one included
// [0]*3+[1]*58, ([0]+[1])*24 | Python lists: 1 for a layer with experts
// Et*3|(tt|)*29,m|L          | stages between bars; E embedding, t layer, m prediction, L loss

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace orrery::import_config {

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
