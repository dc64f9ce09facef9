#pragma once

// Strongly typed indices: the identifiers of ranks, nodes, stages and tasks cannot be mixed up.
//
// A StrongId is a 32-bit index with a tag: RankId and TaskId are different types, comparable only
// with themselves. `value` is the zero-based index.

#include <compare>
#include <cstddef>
#include <cstdint>

namespace orrery {

template <typename Tag>
struct StrongId {
  std::int32_t value = 0;

  friend constexpr auto operator<=>(StrongId a, StrongId b) = default;

  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
};

using RankId = StrongId<struct RankTag>;  // global rank, 0 .. gpus-1
using TaskId = StrongId<struct TaskTag>;  // task of a step graph

}  // namespace orrery
