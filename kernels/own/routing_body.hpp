#pragma once

// Per-thread bodies of the routing kernels in embedding.cu and permute.cu, which also run on the
// host. Team: team.cuh; symbols: routing.hpp.

#include "kernels/own/elementwise_body.hpp"
#include "kernels/own/routing.hpp"
#include "kernels/own/vector.hpp"

namespace orrery::kernels {

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
ORRERY_HD void embedding_forward_body(const Team& team, const EmbeddingForward<T>& embedding) {
  const auto packs = static_cast<std::uint32_t>(embedding.columns / kLanes);
  for_each_pack(team, static_cast<std::uint32_t>(embedding.rows) * packs, [&](std::uint32_t i) {
    const RowPack at = row_pack(i, packs);
    reinterpret_cast<Pack*>(embedding.y)[i] =
        load_pack(embedding.table, embedding.ids[at.row] * packs + at.pack);
  });
}

template <typename T, typename Team>
ORRERY_HD void embedding_backward_body(const Team& team, const EmbeddingBackward<T>& embedding) {
  const auto packs = static_cast<std::uint32_t>(embedding.columns / kLanes);
  for_each_pack(team, static_cast<std::uint32_t>(embedding.rows) * packs, [&](std::uint32_t i) {
    const RowPack at = row_pack(i, packs);
    float* row = embedding.table_gradient + embedding.ids[at.row] * embedding.columns;
    team.add(row + std::int64_t{at.pack} * kLanes, load_lanes(embedding.gradient, i));
  });
}

template <typename T, typename Team>
ORRERY_HD void scatter_body(const Team& team, const Scatter<T>& scatter) {
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
ORRERY_HD void combine_body(const Team& team, const Combine<T>& combine) {
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

}  // namespace orrery::kernels
