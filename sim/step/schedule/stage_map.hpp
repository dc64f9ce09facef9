#pragma once

// The map between virtual stages and the chunks of devices, and the neighbours of each stage.
//
// placement     | stage g of (device r, chunk c)                         | stages G
// --------------|--------------------------------------------------------|---------
// linear        | r                                                      | p
// loop          | c p + r                                                | p v
// vee           | chunk 0: r, chunk 1: 2p - 1 - r                        | 2p
// bidirectional | chunk 0: r, chunk 1: p - 1 - r; each a pipeline of its own | p
//
// symbol | meaning                                      | unit | origin
// -------|----------------------------------------------|------|-------
// p      | devices (pipeline ranks)                     | -    | layout
// v      | chunks per device                            | -    | layout
//
// A forward goes from stage g to g + 1, a backward from g to g - 1. Neighbouring stages on one
// device exchange nothing.

#include <cstdint>
#include <optional>

#include "sim/step/layout/layout_rules.hpp"

namespace orrery::schedule {

using Placement = layout::StagePlacement;

struct Position {
  int device = 0;
  int chunk = 0;

  friend constexpr bool operator==(Position a, Position b) = default;
};

struct StageMap {
  Placement placement = Placement::loop;
  int devices = 1;
  int chunks = 1;
};

// Stages of one pipeline from the input to the loss.
[[nodiscard]] int stage_count(const StageMap& map);

[[nodiscard]] int virtual_stage(const StageMap& map, Position at);

// Inverse of virtual_stage; `direction` chooses the pipeline of the bidirectional placement.
[[nodiscard]] Position position_of_stage(const StageMap& map, int stage, int direction = 0);

// Where the forward of `at` sends its output; nothing on the last stage.
[[nodiscard]] std::optional<Position> downstream(const StageMap& map, Position at);

// Where the backward of `at` sends its gradient; nothing on the first stage.
[[nodiscard]] std::optional<Position> upstream(const StageMap& map, Position at);

}  // namespace orrery::schedule
