#pragma once

// Per-thread bodies of the elementwise kernels in elementwise.cu, which also run on the host. Team:
// team.cuh; symbols: elementwise.hpp.

#include "kernels/own/elementwise.hpp"
#include "kernels/own/vector.hpp"

namespace orrery::kernels {

// Calls function(i) for this thread's share of 0 <= i < count.
template <typename Team, typename Function>
ORRERY_HD void for_each_pack(const Team& team, std::uint32_t count, Function function) {
  const auto threads = static_cast<std::uint32_t>(team.threads());
  const auto step = static_cast<std::uint32_t>(team.blocks()) * threads;
  for (std::uint32_t i = static_cast<std::uint32_t>(team.block()) * threads +
                         static_cast<std::uint32_t>(team.thread());
       i < count;
       i += step) {
    function(i);
    if (count - i <= step) {
      break;  // i + step may not fit into 32 bits
    }
  }
}

template <typename T, typename Team>
ORRERY_HD void residual_add_body(const Team& team, const ResidualAdd<T>& add) {
  for_each_pack(team, static_cast<std::uint32_t>(add.elements / kLanes), [&](std::uint32_t i) {
    Lanes sum = load_lanes(add.a, i);
    const Lanes b = load_lanes(add.b, i);
    for (int l = 0; l < kLanes; ++l) {
      sum.value[l] += b.value[l];
    }
    store_lanes(add.y, i, sum);
  });
}

template <typename T, typename Team>
ORRERY_HD void rotary_body(const Team& team, const Rotary<T>& rotary) {
  const auto half = static_cast<std::uint32_t>(rotary.dim / 2 / kLanes);  // packs
  const auto heads = static_cast<std::uint32_t>(rotary.heads);
  const auto positions = static_cast<std::uint32_t>(rotary.positions);
  const auto count = static_cast<std::uint32_t>(rotary.tokens) * heads * half;
  const float direction = rotary.back ? -1.0F : 1.0F;
  for_each_pack(team, count, [&](std::uint32_t i) {
    const std::uint32_t head = i / half;  // of all tokens
    const std::uint32_t pair = i - head * half;
    const std::uint32_t position = head / heads % positions;
    const std::int64_t first = std::int64_t{head} * 2 * half + pair;
    const std::int64_t angle = std::int64_t{position} * 2 * half + pair;
    const Lanes cosine = load_lanes(rotary.angles, angle);
    const Lanes sine = load_lanes(rotary.angles, angle + half);
    const Lanes x = load_lanes(rotary.x, first);
    const Lanes other = load_lanes(rotary.x, first + half);
    Lanes low;
    Lanes high;
    for (int l = 0; l < kLanes; ++l) {
      const float s = direction * sine.value[l];
      low.value[l] = x.value[l] * cosine.value[l] - other.value[l] * s;
      high.value[l] = other.value[l] * cosine.value[l] + x.value[l] * s;
    }
    store_lanes(rotary.y, first, low);
    store_lanes(rotary.y, first + half, high);
  });
}

ORRERY_HD inline float swiglu_forward(float gate, float up) {
  return gate * up / (1.0F + exponential(-gate));
}

struct SwigluPair {
  float gate;
  float up;
};

ORRERY_HD inline SwigluPair swiglu_backward(float gate, float up, float gradient) {
  const float s = 1.0F / (1.0F + exponential(-gate));
  return {gradient * up * s * (1.0F + gate * (1.0F - s)), gradient * gate * s};
}

template <typename T, typename Team>
ORRERY_HD void swiglu_forward_body(const Team& team, const SwigluForward<T>& swiglu) {
  const auto packs = static_cast<std::uint32_t>(swiglu.columns / kLanes);
  const auto count = static_cast<std::uint32_t>(swiglu.rows) * packs;
  for_each_pack(team, count, [&](std::uint32_t i) {
    const std::int64_t gate_at = std::int64_t{i} + std::int64_t{i / packs} * packs;
    const Lanes gate = load_lanes(swiglu.gate_up, gate_at);
    const Lanes up = load_lanes(swiglu.gate_up, gate_at + packs);
    Lanes y;
    for (int l = 0; l < kLanes; ++l) {
      y.value[l] = swiglu_forward(gate.value[l], up.value[l]);
    }
    store_lanes(swiglu.y, i, y);
  });
}

template <typename T, typename Team>
ORRERY_HD void swiglu_backward_body(const Team& team, const SwigluBackward<T>& swiglu) {
  const auto packs = static_cast<std::uint32_t>(swiglu.columns / kLanes);
  const auto count = static_cast<std::uint32_t>(swiglu.rows) * packs;
  for_each_pack(team, count, [&](std::uint32_t i) {
    const std::int64_t gate_at = std::int64_t{i} + std::int64_t{i / packs} * packs;
    Lanes gate = load_lanes(swiglu.gate_up, gate_at);
    Lanes up = load_lanes(swiglu.gate_up, gate_at + packs);
    const Lanes gradient = load_lanes(swiglu.gradient, i);
    for (int l = 0; l < kLanes; ++l) {
      const SwigluPair pair = swiglu_backward(gate.value[l], up.value[l], gradient.value[l]);
      gate.value[l] = pair.gate;
      up.value[l] = pair.up;
    }
    store_lanes(swiglu.gate_up_gradient, gate_at, gate);
    store_lanes(swiglu.gate_up_gradient, gate_at + packs, up);
  });
}

}  // namespace orrery::kernels
