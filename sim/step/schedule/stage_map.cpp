#include "sim/step/schedule/stage_map.hpp"

#include "sim/base/check.hpp"

namespace orrery::schedule {

int stage_count(const StageMap& map) {
  switch (map.placement) {
    case Placement::bidirectional:
      return map.devices;
    case Placement::loop:
      return map.devices * map.chunks;
    case Placement::vee:
      return 2 * map.devices;
  }
  return map.devices;
}

int virtual_stage(const StageMap& map, Position at) {
  switch (map.placement) {
    case Placement::loop:
      return at.chunk * map.devices + at.device;
    case Placement::vee:
      return at.chunk == 0 ? at.device : 2 * map.devices - 1 - at.device;
    case Placement::bidirectional:
      return at.chunk == 0 ? at.device : map.devices - 1 - at.device;
  }
  return at.device;
}

Position position_of_stage(const StageMap& map, int stage, int direction) {
  ORRERY_CHECK(stage >= 0 && stage < stage_count(map), "stage {} of a pipeline of {} stages", stage,
               stage_count(map));
  switch (map.placement) {
    case Placement::loop:
      return {stage % map.devices, stage / map.devices};
    case Placement::vee:
      return stage < map.devices ? Position{stage, 0} : Position{2 * map.devices - 1 - stage, 1};
    case Placement::bidirectional:
      return direction == 0 ? Position{stage, 0} : Position{map.devices - 1 - stage, 1};
  }
  return {stage, 0};
}

std::optional<Position> downstream(const StageMap& map, Position at) {
  const int stage = virtual_stage(map, at);
  if (stage + 1 == stage_count(map)) {
    return std::nullopt;
  }
  return position_of_stage(map, stage + 1, at.chunk);
}

std::optional<Position> upstream(const StageMap& map, Position at) {
  const int stage = virtual_stage(map, at);
  if (stage == 0) {
    return std::nullopt;
  }
  return position_of_stage(map, stage - 1, at.chunk);
}

}  // namespace orrery::schedule
