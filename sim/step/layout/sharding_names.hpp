#pragma once

// The names of the sharding strategies, in scenarios and in answers.

#include <array>
#include <cstddef>
#include <string_view>

#include "sim/step/layout/layout_spec.hpp"

namespace orrery::layout {

inline constexpr std::array<std::string_view, 5> kShardingNames = {"none", "zero1", "zero2",
                                                                   "zero3", "hsdp"};  // by Sharding

[[nodiscard]] constexpr std::string_view name_of(Sharding sharding) {
  return kShardingNames[static_cast<std::size_t>(sharding)];
}

}  // namespace orrery::layout
