#include "kernels/launch.cuh"
#include "kernels/rotary_parts.hpp"
#include "kernels/vector.hpp"

namespace orrery::kernels {

namespace {

// One thread to a pack of eight of the first half of a head, and its partner in the second half.
template <bool kJoin>
__global__ void __launch_bounds__(kStreamingThreads)
    rotary_parts_kernel(RotaryParts parts, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) {
    return;
  }
  const auto half = static_cast<std::uint32_t>(parts.dim / 2 / kLanes);  // packs
  const auto heads = static_cast<std::uint32_t>(parts.heads);
  const auto groups = static_cast<std::uint32_t>(parts.groups);
  const std::uint32_t all = heads + 2 * groups;
  const std::uint32_t joined_head = i / half;
  const std::uint32_t pair = i - joined_head * half;
  const std::uint32_t token = joined_head / all;
  const std::uint32_t head = joined_head - token * all;

  __nv_bfloat16* part = parts.q;
  std::int64_t part_head = std::int64_t{token} * heads + head;
  if (head >= heads + groups) {
    part = parts.v;
    part_head = std::int64_t{token} * groups + (head - heads - groups);
  } else if (head >= heads) {
    part = parts.k;
    part_head = std::int64_t{token} * groups + (head - heads);
  }
  const std::int64_t in_joined = std::int64_t{joined_head} * 2 * half + pair;
  const std::int64_t in_part = part_head * 2 * half + pair;
  const __nv_bfloat16* from = kJoin ? part : parts.joined;
  __nv_bfloat16* to = kJoin ? parts.joined : part;
  const std::int64_t source = kJoin ? in_part : in_joined;
  const std::int64_t target = kJoin ? in_joined : in_part;

  const Lanes x = load_lanes(from, source);
  const Lanes other = load_lanes(from, source + half);
  if (head >= heads + groups) {
    store_lanes(to, target, x);
    store_lanes(to, target + half, other);
    return;
  }
  const std::uint32_t position = token % static_cast<std::uint32_t>(parts.positions);
  const std::int64_t angle = std::int64_t{position} * 2 * half + pair;
  const Lanes cosine = load_lanes(parts.angles, angle);
  const Lanes sine = load_lanes(parts.angles, angle + half);
  Lanes low;
  Lanes high;
  ORRERY_UNROLL
  for (int l = 0; l < kLanes; ++l) {
    const float s = kJoin ? -sine.value[l] : sine.value[l];
    low.value[l] = x.value[l] * cosine.value[l] - other.value[l] * s;
    high.value[l] = other.value[l] * cosine.value[l] + x.value[l] * s;
  }
  store_lanes(to, target, low);
  store_lanes(to, target + half, high);
}

template <bool kJoin>
void launch(const RotaryParts& parts, Stream stream) {
  require(parts.dim % (2 * kLanes) == 0, "rotary embedding wants a dimension in multiples of 16");
  require(parts.positions > 0, "rotary embedding wants angles");
  const std::int64_t packs =
      parts.tokens * (parts.heads + 2 * parts.groups) * (parts.dim / 2 / kLanes);
  rotary_parts_kernel<kJoin><<<streaming_blocks(packs), kStreamingThreads, 0, stream>>>(
      parts, static_cast<std::uint32_t>(packs));
  check_launch(kJoin ? "the gradient of queries, keys and values"
                     : "the parts of queries and keys");
}

}  // namespace

void launch_rotary_parts(const RotaryParts& parts, Stream stream) {
  launch<false>(parts, stream);
}

void launch_rotary_join(const RotaryParts& parts, Stream stream) {
  launch<true>(parts, stream);
}

}  // namespace orrery::kernels
