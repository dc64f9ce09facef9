#pragma once

// Per-thread bodies of the elementwise kernels in streaming.cu, which also run on the host. Team:
// team.cuh; symbols: own_kernels.hpp.

#include "kernels/own/own_kernels.hpp"
#include "kernels/own/vector.hpp"

namespace orrery::kernels {

// Calls function(i) for this thread's share of 0 <= i < count.
template <typename Team, typename Function>
ORRERY_HD void for_each_pack(const Team& team, std::uint32_t count, Function function) {
  const auto threads = static_cast<std::uint32_t>(team.threads());
  const auto step = static_cast<std::uint32_t>(team.blocks()) * threads;
  for (std::uint32_t i = static_cast<std::uint32_t>(team.block()) * threads +
                         static_cast<std::uint32_t>(team.thread());
       i < count; i += step) {
    function(i);
    if (count - i <= step) {
      break;  // i + step may not fit into 32 bits
    }
  }
}

template <typename T, typename Team>
ORRERY_HD void streaming_body(const Team& team, const ResidualAdd<T>& add) {
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
ORRERY_HD void streaming_body(const Team& team, const Rotary<T>& rotary) {
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
ORRERY_HD void streaming_body(const Team& team, const SwigluForward<T>& swiglu) {
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
ORRERY_HD void streaming_body(const Team& team, const SwigluBackward<T>& swiglu) {
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

// Per-thread body of the kernels that separate queries, keys and values or join
// their gradients. It also runs on the host, for the tests. Team: team.cuh; symbols:
// own_kernels.hpp.

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

// Per-thread bodies of the routing kernels, which also run on the
// host. Team: team.cuh; symbols: own_kernels.hpp.

// Pack i of [rows, columns]: its row, and which pack of the row.
struct RowPack {
  std::uint32_t row;
  std::uint32_t pack;
};

ORRERY_HD inline RowPack row_pack(std::uint32_t i, std::uint32_t packs) {
  const std::uint32_t row = i / packs;
  return {row, i - row * packs};
}

template <typename T, typename Team>
ORRERY_HD void streaming_body(const Team& team, const EmbeddingForward<T>& embedding) {
  const auto packs = static_cast<std::uint32_t>(embedding.columns / kLanes);
  for_each_pack(team, static_cast<std::uint32_t>(embedding.rows) * packs, [&](std::uint32_t i) {
    const RowPack at = row_pack(i, packs);
    reinterpret_cast<Pack*>(embedding.y)[i] =
        load_pack(embedding.table, embedding.ids[at.row] * packs + at.pack);
  });
}

template <typename T, typename Team>
ORRERY_HD void streaming_body(const Team& team, const EmbeddingBackward<T>& embedding) {
  const auto packs = static_cast<std::uint32_t>(embedding.columns / kLanes);
  for_each_pack(team, static_cast<std::uint32_t>(embedding.rows) * packs, [&](std::uint32_t i) {
    const RowPack at = row_pack(i, packs);
    float* row = embedding.table_gradient + embedding.ids[at.row] * embedding.columns;
    team.add(row + std::int64_t{at.pack} * kLanes, load_lanes(embedding.gradient, i));
  });
}

template <typename T, typename Team>
ORRERY_HD void streaming_body(const Team& team, const Scatter<T>& scatter) {
  const auto packs = static_cast<std::uint32_t>(scatter.columns / kLanes);
  const int copies = static_cast<int>(scatter.copies);
  for_each_pack(team, static_cast<std::uint32_t>(scatter.rows) * packs, [&](std::uint32_t i) {
    const RowPack at = row_pack(i, packs);
    const Pack x = load_pack(scatter.x, i);
    const std::int32_t* places = scatter.places + std::int64_t{at.row} * copies;
    ORRERY_UNROLL_4
    for (int c = 0; c < copies; ++c) {
      reinterpret_cast<Pack*>(scatter.y)[std::int64_t{places[c]} * packs + at.pack] = x;
    }
  });
}

template <typename T, typename Team>
ORRERY_HD void streaming_body(const Team& team, const Combine<T>& combine) {
  const auto packs = static_cast<std::uint32_t>(combine.columns / kLanes);
  const int copies = static_cast<int>(combine.copies);
  for_each_pack(team, static_cast<std::uint32_t>(combine.rows) * packs, [&](std::uint32_t i) {
    const RowPack at = row_pack(i, packs);
    const std::int64_t first = std::int64_t{at.row} * copies;
    Lanes sum = {};
    ORRERY_UNROLL_4
    for (int c = 0; c < copies; ++c) {
      const std::int64_t place = combine.places[first + c];
      const float weight = combine.weights != nullptr ? combine.weights[first + c] : 1.0F;
      const Lanes y = load_lanes(combine.y, place * packs + at.pack);
      for (int l = 0; l < kLanes; ++l) {
        sum.value[l] += weight * y.value[l];
      }
    }
    store_lanes(combine.x, i, sum);
  });
}

// A block per row, a warp per copy: the row's gradient is read once from memory.
template <typename T, typename Team>
ORRERY_HD void combine_backward_body(const Team& team, const CombineBackward<T>& combine) {
  constexpr int kWidth = 32;
  const std::int64_t packs = combine.columns / kLanes;
  const int lane = team.thread() % kWidth;
  const int warps = team.threads() / kWidth;
  for (std::int64_t row = team.block(); row < combine.rows; row += team.blocks()) {
    for (std::int64_t c = team.thread() / kWidth; c < combine.copies; c += warps) {
      const std::int64_t copy = row * combine.copies + c;
      const std::int64_t place = combine.places[copy];
      const float weight = combine.weights[copy];
      float dot = 0.0F;
      ORRERY_UNROLL_4
      for (std::int64_t i = lane; i < packs; i += kWidth) {
        Lanes gradient = load_lanes(combine.gradient, row * packs + i);
        const Lanes y = load_lanes(combine.y, place * packs + i);
        for (int l = 0; l < kLanes; ++l) {
          dot += gradient.value[l] * y.value[l];
          gradient.value[l] *= weight;
        }
        store_lanes(combine.y_gradient, place * packs + i, gradient);
      }
      dot = team.group_sum(dot, kWidth);
      if (lane == 0) {
        combine.weight_gradient[copy] = dot;
      }
    }
  }
}

// Per-thread bodies of the optimizer kernels, which also run on the host. Team:
// team.cuh; symbols: own_kernels.hpp.

ORRERY_HD inline std::uint32_t packs_of(std::int64_t elements) {
  return static_cast<std::uint32_t>((elements + kLanes - 1) / kLanes);
}

ORRERY_HD inline std::uint32_t quads_of(std::int64_t elements) {
  return static_cast<std::uint32_t>((elements + kQuad - 1) / kQuad);
}

template <typename G, typename Team>
ORRERY_HD void gradient_norm_body(Team& team, const GradientNorm<G>& norm) {
  float sum[1] = {0.0F};
  for_each_pack(team, packs_of(norm.elements), [&](std::uint32_t i) {
    const Lanes gradient = load_lanes(norm.gradient, i);
    const std::int64_t left = norm.elements - std::int64_t{i} * kLanes;
    float squares = 0.0F;  // of the pack: small numbers are added to small ones first
    for (int l = 0; l < kLanes; ++l) {
      squares += l < left ? gradient.value[l] * gradient.value[l] : 0.0F;
    }
    sum[0] += squares;
  });
  team.sum(sum);
  if (team.thread() == 0) {
    norm.partial[team.block()] = sum[0];
  }
}

// One block.
template <typename Team>
ORRERY_HD void norm_of_parts_body(Team& team, const float* partial, int count, float* norm) {
  float sum[1] = {0.0F};
  for (int i = team.thread(); i < count; i += team.threads()) {
    sum[0] += partial[i];
  }
  team.sum(sum);
  if (team.thread() == 0) {
    *norm = sqrtf(sum[0]);
  }
}

struct AdamwElement {
  float weight;
  float first;
  float second;
};

template <typename G>
ORRERY_HD AdamwElement adamw_element(const AdamwUpdate<G>& update, AdamwElement element,
                                     float gradient) {
  const float g = update.clip * gradient;
  element.first = update.beta1 * element.first + (1.0F - update.beta1) * g;
  element.second = update.beta2 * element.second + (1.0F - update.beta2) * g * g;
  const float first = element.first * update.first_correction;
  const float second = element.second * update.second_correction;
  const float direction = first / (sqrtf(second) + update.epsilon) + update.decay * element.weight;
  element.weight -= update.rate * direction;
  return element;
}

// Four elements per thread; those past `elements` lie in the padding of the arrays and are updated
// along.
template <typename G, typename Team>
ORRERY_HD void streaming_body(const Team& team, const AdamwUpdate<G>& update) {
  for_each_pack(team, quads_of(update.elements), [&](std::uint32_t i) {
    const Quad gradient = load_quad(update.gradient, i);
    Quad weight = load_quad(update.weight, i);
    Quad first = load_quad(update.first, i);
    Quad second = load_quad(update.second, i);
    for (int l = 0; l < kQuad; ++l) {
      const AdamwElement element =
          adamw_element(update, AdamwElement{weight.value[l], first.value[l], second.value[l]},
                        gradient.value[l]);
      weight.value[l] = element.weight;
      first.value[l] = element.first;
      second.value[l] = element.second;
    }
    store_quad(update.weight, i, weight);
    store_quad(update.first, i, first);
    store_quad(update.second, i, second);
    store_quad(update.narrow, i, weight);
  });
}

}  // namespace orrery::kernels
