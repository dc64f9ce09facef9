#pragma once

// Per-thread body of the kernels in rotary_parts.cu that separate queries, keys and values or join
// their gradients. It also runs on the host, for the tests. Team: team.cuh; symbols:
// rotary_parts.hpp.

#include "kernels/own/elementwise_body.hpp"
#include "kernels/own/rotary_parts.hpp"
#include "kernels/own/vector.hpp"

namespace orrery::kernels {

// Packs of the first halves of all heads: each has its partner in the second half.
[[nodiscard]] ORRERY_HD inline std::int64_t rotary_parts_packs(const RotaryParts& parts) {
  return parts.tokens * (parts.heads + 2 * parts.groups) * (parts.dim / 2 / kLanes);
}

template <bool kJoin, typename Team>
ORRERY_HD void rotary_parts_body(const Team& team, const RotaryParts& parts) {
  const auto half = static_cast<std::uint32_t>(parts.dim / 2 / kLanes);  // packs
  const auto heads = static_cast<std::uint32_t>(parts.heads);
  const auto groups = static_cast<std::uint32_t>(parts.groups);
  const auto positions = static_cast<std::uint32_t>(parts.positions);
  const std::uint32_t all = heads + 2 * groups;
  const auto count = static_cast<std::uint32_t>(rotary_parts_packs(parts));
  for_each_pack(team, count, [&](std::uint32_t i) {
    const std::uint32_t joined_head = i / half;  // of all tokens
    const std::uint32_t pair = i - joined_head * half;
    const std::uint32_t token = joined_head / all;
    const std::uint32_t head = joined_head - token * all;
    __nv_bfloat16* part = parts.q;
    std::int64_t part_head = std::int64_t{token} * heads + head;
    if (head >= heads) {
      const bool value = head >= heads + groups;
      part = value ? parts.v : parts.k;
      part_head = std::int64_t{token} * groups + (head - heads - (value ? groups : 0U));
    }
    const std::int64_t in_joined = std::int64_t{joined_head} * 2 * half + pair;
    const std::int64_t in_part = part_head * 2 * half + pair;
    const __nv_bfloat16* from = kJoin ? part : parts.joined;
    __nv_bfloat16* to = kJoin ? parts.joined : part;
    const std::int64_t source = kJoin ? in_part : in_joined;
    const std::int64_t target = kJoin ? in_joined : in_part;
    const Lanes x = load_lanes(from, source);
    const Lanes other = load_lanes(from, source + half);
    if (head >= heads + groups) {  // values are not turned
      store_lanes(to, target, x);
      store_lanes(to, target + half, other);
      return;
    }
    const std::int64_t angle = std::int64_t{token % positions} * 2 * half + pair;
    const Lanes cosine = load_lanes(parts.angles, angle);
    const Lanes sine = load_lanes(parts.angles, angle + half);
    Lanes low;
    Lanes high;
    for (int l = 0; l < kLanes; ++l) {
      const float s = kJoin ? -sine.value[l] : sine.value[l];
      low.value[l] = x.value[l] * cosine.value[l] - other.value[l] * s;
      high.value[l] = other.value[l] * cosine.value[l] + x.value[l] * s;
    }
    store_lanes(to, target, low);
    store_lanes(to, target + half, high);
  });
}

}  // namespace orrery::kernels
