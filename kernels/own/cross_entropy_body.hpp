#pragma once

// Per-thread bodies of the cross-entropy kernels in cross_entropy.cu, which also run on the host.
// Team: team.cuh; symbols: own_kernels.hpp.

#include "kernels/own/own_kernels.hpp"
#include "kernels/own/vector.hpp"

namespace orrery::kernels {

// `kWidth` logits at once: 8, or 1 where rows do not start at multiples of 16 bytes.
template <int kWidth>
struct Logits {
  float value[std::size_t{kWidth}];
};

template <int kWidth, typename T>
ORRERY_HD Logits<kWidth> load_logits(const T* row, std::int64_t index) {
  Logits<kWidth> logits;
  if constexpr (kWidth == kLanes) {
    const Lanes lanes = load_lanes(row, index);
    for (int i = 0; i < kWidth; ++i) {
      logits.value[i] = lanes.value[i];
    }
  } else {
    logits.value[0] = to_float(row[index]);
  }
  return logits;
}

// sum of exp(x - most) over the x seen.
struct RunningSum {
  float most;
  float sum;
};

template <int kWidth>
ORRERY_HD void take(RunningSum& running, const Logits<kWidth>& logits) {
  float most = running.most;
  for (const float x : logits.value) {
    most = fmaxf(most, x);
  }
  float sum = running.sum * exponential(running.most - most);
  for (const float x : logits.value) {
    sum += exponential(x - most);
  }
  running = {most, sum};
}

template <int kWidth, typename T, typename Team>
ORRERY_HD void cross_entropy_forward_body(Team& team, const CrossEntropyForward<T>& loss) {
  constexpr float kLowest = -3.0e38F;  // finite: the difference of two of them is 0
  const std::int64_t packs = loss.columns / kWidth;
  for (std::int64_t row = team.block(); row < loss.rows; row += team.blocks()) {
    const T* logits = loss.logits + row * loss.columns;
    RunningSum running = {kLowest, 0.0F};
    ORRERY_UNROLL_4
    for (std::int64_t i = team.thread(); i < packs; i += team.threads()) {
      take(running, load_logits<kWidth>(logits, i));
    }
    const float most = team.maximum(running.most);
    float sum[1] = {running.sum * exponential(running.most - most)};
    team.sum(sum);
    if (team.thread() == 0) {
      const float log_sum = most + logf(sum[0]);
      loss.log_sum[row] = log_sum;
      loss.loss[row] = log_sum - to_float(logits[loss.targets[row]]);
    }
  }
}

template <int kWidth, typename T, typename Team>
ORRERY_HD void cross_entropy_backward_body(const Team& team, const CrossEntropyBackward<T>& loss) {
  const std::int64_t packs = loss.columns / kWidth;
  for (std::int64_t row = team.block(); row < loss.rows; row += team.blocks()) {
    const T* logits = loss.logits + row * loss.columns;
    T* gradient = loss.gradient + row * loss.columns;
    const float log_sum = loss.log_sum[row];
    const std::int64_t target = loss.targets[row];
    ORRERY_UNROLL_4
    for (std::int64_t i = team.thread(); i < packs; i += team.threads()) {
      Logits<kWidth> x = load_logits<kWidth>(logits, i);
      for (int l = 0; l < kWidth; ++l) {
        const float hit = i * kWidth + l == target ? 1.0F : 0.0F;
        x.value[l] = loss.scale * (exponential(x.value[l] - log_sum) - hit);
      }
      if constexpr (kWidth == kLanes) {
        Lanes lanes;
        for (int l = 0; l < kWidth; ++l) {
          lanes.value[l] = x.value[l];
        }
        store_lanes(gradient, i, lanes);
      } else {
        gradient[i] = from_float<T>(x.value[0]);
      }
    }
  }
}

}  // namespace orrery::kernels
