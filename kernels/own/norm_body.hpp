#pragma once

// Per-thread bodies of the norm kernels in norm.cu, which also run on the host. Team: team.cuh;
// symbols: own_kernels.hpp. A thread holds `kPacks` packs of its row, one block of threads apart.

#include "kernels/own/own_kernels.hpp"
#include "kernels/own/vector.hpp"

namespace orrery::kernels {

template <typename T, int kPacks, bool kLayer, typename Team>
ORRERY_HD void norm_forward_body(Team& team, const NormForward<T>& norm) {
  const int packs = static_cast<int>(norm.columns / kLanes);
  const float count = static_cast<float>(norm.columns);
  for (std::int64_t row = team.block(); row < norm.rows; row += team.blocks()) {
    Pack held[std::size_t{kPacks}];
    float sum[1] = {0.0F};
    ORRERY_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      const int index = p * team.threads() + team.thread();
      if (index < packs) {
        held[p] = load_pack(norm.x, row * packs + index);
        const Lanes x = unpack<T>(held[p]);
        for (const float value : x.value) {
          sum[0] += kLayer ? value : value * value;
        }
      }
    }
    team.sum(sum);
    float mean = 0.0F;
    if constexpr (kLayer) {  // the variance around the mean, not as a difference of two large sums
      mean = sum[0] / count;
      sum[0] = 0.0F;
      ORRERY_UNROLL
      for (int p = 0; p < kPacks; ++p) {
        if (p * team.threads() + team.thread() < packs) {
          const Lanes x = unpack<T>(held[p]);
          for (const float value : x.value) {
            sum[0] += (value - mean) * (value - mean);
          }
        }
      }
      team.sum(sum);
    }
    const float scale = 1.0F / sqrtf(sum[0] / count + norm.epsilon);
    ORRERY_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      const int index = p * team.threads() + team.thread();
      if (index < packs) {
        Lanes x = unpack<T>(held[p]);
        const Lanes weight = load_lanes(norm.weight, index);
        for (int i = 0; i < kLanes; ++i) {
          x.value[i] = (x.value[i] - mean) * scale * weight.value[i];
        }
        if constexpr (kLayer) {
          const Lanes bias = load_lanes(norm.bias, index);
          for (int i = 0; i < kLanes; ++i) {
            x.value[i] += bias.value[i];
          }
        }
        store_lanes(norm.y, row * packs + index, x);
      }
    }
    if (team.thread() == 0) {
      norm.scale[row] = scale;
      if constexpr (kLayer) {
        norm.mean[row] = mean;
      }
    }
  }
}

// xh and g = dy w of one pack.
struct NormTerms {
  Lanes normal;
  Lanes weighted;
};

template <typename T>
ORRERY_HD NormTerms norm_terms(const Pack& x, const Pack& gradient, const Lanes& weight, float mean,
                               float scale) {
  NormTerms terms = {.normal = unpack<T>(x), .weighted = unpack<T>(gradient)};
  for (int i = 0; i < kLanes; ++i) {
    terms.normal.value[i] = (terms.normal.value[i] - mean) * scale;
    terms.weighted.value[i] *= weight.value[i];
  }
  return terms;
}

inline constexpr int kMostNormThreads = 512;

// Sums of a thread over the rows of its block, in shared memory: in registers they would leave one
// block on a multiprocessor, which then waits for memory. Neighbouring threads have neighbouring
// words; the step from word to word is a constant, or their addresses would fill the registers.
// `index`: of a pack of the thread, gradients of the bias after those of the weight.
template <typename Team>
ORRERY_HD float* thread_sum(const Team& team, float* shared, int index, int lane) {
  return shared + (index * kLanes + lane) * kMostNormThreads + team.thread();
}

template <typename Team>
ORRERY_HD void add_to_sum(const Team& team, float* shared, int index, const Lanes& values) {
  ORRERY_UNROLL
  for (int i = 0; i < kLanes; ++i) {
    *thread_sum(team, shared, index, i) += values.value[i];
  }
}

template <typename Team>
ORRERY_HD Lanes sum_of(const Team& team, float* shared, int index) {
  Lanes sum;
  ORRERY_UNROLL
  for (int i = 0; i < kLanes; ++i) {
    sum.value[i] = *thread_sum(team, shared, index, i);
  }
  return sum;
}

// Words of shared memory for norm_backward_body.
constexpr std::int64_t norm_shared_words(int packs, bool layer) {
  return std::int64_t{kMostNormThreads} * packs * kLanes * (layer ? 2 : 1);
}

template <typename T, int kPacks, bool kLayer, typename Team>
ORRERY_HD void norm_backward_body(Team& team, const NormBackward<T>& norm, float* shared) {
  const int packs = static_cast<int>(norm.columns / kLanes);
  const float count = static_cast<float>(norm.columns);
  for (int index = 0; index < kPacks * (kLayer ? 2 : 1); ++index) {
    for (int i = 0; i < kLanes; ++i) {
      *thread_sum(team, shared, index, i) = 0.0F;
    }
  }
  for (std::int64_t row = team.block(); row < norm.rows; row += team.blocks()) {
    const float scale = norm.scale[row];
    const float mean = kLayer ? norm.mean[row] : 0.0F;
    Pack x[std::size_t{kPacks}];
    Pack gradient[std::size_t{kPacks}];
    float sums[2] = {0.0F, 0.0F};  // of g and of g xh
    ORRERY_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      const int index = p * team.threads() + team.thread();
      if (index < packs) {
        x[p] = load_pack(norm.x, row * packs + index);
        gradient[p] = load_pack(norm.gradient, row * packs + index);
        const Lanes dy = unpack<T>(gradient[p]);
        NormTerms terms =
            norm_terms<T>(x[p], gradient[p], load_lanes(norm.weight, index), mean, scale);
        for (int i = 0; i < kLanes; ++i) {
          sums[0] += terms.weighted.value[i];
          sums[1] += terms.weighted.value[i] * terms.normal.value[i];
          terms.normal.value[i] *= dy.value[i];
        }
        add_to_sum(team, shared, p, terms.normal);
        if constexpr (kLayer) {
          add_to_sum(team, shared, kPacks + p, dy);
        }
      }
    }
    team.sum(sums);
    const float along_mean = kLayer ? sums[0] / count : 0.0F;
    const float along_row = sums[1] / count;
    ORRERY_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      const int index = p * team.threads() + team.thread();
      if (index < packs) {
        const NormTerms terms =
            norm_terms<T>(x[p], gradient[p], load_lanes(norm.weight, index), mean, scale);
        Lanes result;
        for (int i = 0; i < kLanes; ++i) {
          result.value[i] =
              scale * (terms.weighted.value[i] - along_mean - terms.normal.value[i] * along_row);
        }
        store_lanes(norm.input_gradient, row * packs + index, result);
      }
    }
  }
  float* partial = norm.partial + team.block() * norm.columns * (kLayer ? 2 : 1);
  ORRERY_UNROLL
  for (int p = 0; p < kPacks; ++p) {
    const int index = p * team.threads() + team.thread();
    if (index < packs) {
      store_lanes(partial, index, sum_of(team, shared, p));
      if constexpr (kLayer) {
        store_lanes(partial + norm.columns, index, sum_of(team, shared, kPacks + p));
      }
    }
  }
}

// Rows of at most kNarrowColumns: a group of threads takes one, a block many of them at once, as
// one row is far less than a multiprocessor must have in flight.
inline int narrow_group(std::int64_t columns) {
  int width = 1;
  while (width * kLanes < columns) {
    width *= 2;
  }
  return width;
}

template <typename T, bool kLayer, typename Team>
ORRERY_HD void narrow_forward_body(Team& team, const NormForward<T>& norm, int width) {
  const int packs = static_cast<int>(norm.columns / kLanes);
  const float count = static_cast<float>(norm.columns);
  const int index = team.thread() % width;
  const bool holds = index < packs;
  const std::int64_t groups = team.threads() / width;
  for (std::int64_t row = team.block() * groups + team.thread() / width; row < norm.rows;
       row += team.blocks() * groups) {
    Lanes x = {};
    if (holds) {
      x = unpack<T>(load_pack(norm.x, row * packs + index));
    }
    float sum = 0.0F;
    for (const float value : x.value) {
      sum += kLayer ? value : value * value;
    }
    sum = team.group_sum(sum, width);
    float mean = 0.0F;
    if constexpr (kLayer) {
      mean = sum / count;
      sum = 0.0F;
      for (const float value : x.value) {
        sum += holds ? (value - mean) * (value - mean) : 0.0F;
      }
      sum = team.group_sum(sum, width);
    }
    const float scale = 1.0F / sqrtf(sum / count + norm.epsilon);
    if (holds) {
      const Lanes weight = load_lanes(norm.weight, index);
      Lanes bias = {};
      if constexpr (kLayer) {
        bias = load_lanes(norm.bias, index);
      }
      for (int i = 0; i < kLanes; ++i) {
        x.value[i] = (x.value[i] - mean) * scale * weight.value[i] + bias.value[i];
      }
      store_lanes(norm.y, row * packs + index, x);
    }
    if (index == 0) {
      norm.scale[row] = scale;
      if constexpr (kLayer) {
        norm.mean[row] = mean;
      }
    }
  }
}

// Adds up what the groups of a block have, in their order. shared: kLanes words per thread.
template <typename Team>
ORRERY_HD void store_groups_sum(Team& team, const Lanes& mine, int width, std::int64_t columns,
                                float* shared, float* result) {
  team.barrier();  // nobody reads what the call before left here
  for (int i = 0; i < kLanes; ++i) {
    shared[team.thread() * kLanes + i] = mine.value[i];
  }
  team.barrier();
  for (int column = team.thread(); column < columns; column += team.threads()) {
    float sum = 0.0F;
    for (int group = 0; group < team.threads() / width; ++group) {
      sum += shared[group * width * kLanes + column];
    }
    result[column] = sum;
  }
}

template <typename T, bool kLayer, typename Team>
ORRERY_HD void narrow_backward_body(Team& team, const NormBackward<T>& norm, int width,
                                    float* shared) {
  const int packs = static_cast<int>(norm.columns / kLanes);
  const float count = static_cast<float>(norm.columns);
  const int index = team.thread() % width;
  const bool holds = index < packs;
  const std::int64_t groups = team.threads() / width;
  const Lanes weight = holds ? load_lanes(norm.weight, index) : Lanes{};
  Lanes weight_sum = {};
  Lanes bias_sum = {};
  for (std::int64_t row = team.block() * groups + team.thread() / width; row < norm.rows;
       row += team.blocks() * groups) {
    const float scale = norm.scale[row];
    const float mean = kLayer ? norm.mean[row] : 0.0F;
    NormTerms terms = {};
    float along[2] = {0.0F, 0.0F};  // sums of g and of g xh
    if (holds) {
      const Pack gradient = load_pack(norm.gradient, row * packs + index);
      terms = norm_terms<T>(load_pack(norm.x, row * packs + index), gradient, weight, mean, scale);
      const Lanes dy = unpack<T>(gradient);
      for (int i = 0; i < kLanes; ++i) {
        along[0] += terms.weighted.value[i];
        along[1] += terms.weighted.value[i] * terms.normal.value[i];
        weight_sum.value[i] += dy.value[i] * terms.normal.value[i];
        if constexpr (kLayer) {
          bias_sum.value[i] += dy.value[i];
        }
      }
    }
    const float along_mean = kLayer ? team.group_sum(along[0], width) / count : 0.0F;
    const float along_row = team.group_sum(along[1], width) / count;
    if (holds) {
      Lanes result;
      for (int i = 0; i < kLanes; ++i) {
        result.value[i] =
            scale * (terms.weighted.value[i] - along_mean - terms.normal.value[i] * along_row);
      }
      store_lanes(norm.input_gradient, row * packs + index, result);
    }
  }
  float* partial = norm.partial + team.block() * norm.columns * (kLayer ? 2 : 1);
  store_groups_sum(team, weight_sum, width, norm.columns, shared, partial);
  if constexpr (kLayer) {
    store_groups_sum(team, bias_sum, width, norm.columns, shared, partial + norm.columns);
  }
}

inline constexpr int kReduceColumns = 32;  // of a block: a warp reads 128 consecutive bytes

// result[c] = sum over b of partial[b, c], width columns apart. Threads: kReduceColumns x parts.
struct ColumnSum {
  const float* partial = nullptr;
  float* result = nullptr;
  std::int64_t blocks = 0;
  std::int64_t width = 0;    // of a row of `partial`
  std::int64_t columns = 0;  // to add up
};

// shared: one number per thread.
template <typename Team>
ORRERY_HD void column_sum_body(Team& team, const ColumnSum& sum, float* shared) {
  const int lane = team.thread() % kReduceColumns;
  const int part = team.thread() / kReduceColumns;
  const int parts = team.threads() / kReduceColumns;
  const std::int64_t column = team.block() * kReduceColumns + lane;
  float mine = 0.0F;
  if (column < sum.columns) {
    ORRERY_UNROLL_4
    for (std::int64_t b = part; b < sum.blocks; b += parts) {
      mine += sum.partial[b * sum.width + column];
    }
  }
  shared[team.thread()] = mine;
  team.barrier();
  if (part == 0 && column < sum.columns) {
    for (int p = 1; p < parts; ++p) {
      mine += shared[p * kReduceColumns + lane];
    }
    sum.result[column] = mine;
  }
}

// Per-thread bodies of the cross-entropy kernels in cross_entropy.cu, which also run on the host.
// Team: team.cuh; symbols: own_kernels.hpp.

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
