#pragma once

// Per-thread bodies of the optimizer kernels in optimizer.cu, which also run on the host. Team:
// team.cuh; symbols: optimizer.hpp.

#include "kernels/own/elementwise_body.hpp"
#include "kernels/own/optimizer.hpp"
#include "kernels/own/vector.hpp"

namespace orrery::kernels {

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
ORRERY_HD AdamwElement adamw_element(const AdamwUpdate<G>& update,
                                     AdamwElement element,
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
ORRERY_HD void adamw_body(const Team& team, const AdamwUpdate<G>& update) {
  for_each_pack(team, quads_of(update.elements), [&](std::uint32_t i) {
    const Quad gradient = load_quad(update.gradient, i);
    Quad weight = load_quad(update.weight, i);
    Quad first = load_quad(update.first, i);
    Quad second = load_quad(update.second, i);
    for (int l = 0; l < kQuad; ++l) {
      const AdamwElement element =
          adamw_element(update,
                        AdamwElement{weight.value[l], first.value[l], second.value[l]},
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
