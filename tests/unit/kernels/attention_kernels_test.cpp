// The own attention kernels on an emulated block, every row against the reference.
#include "tests/unit/kernels/warp_emulation.hpp"
// The emulation comes first: it names what the device code uses.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "kernels/attention/attention_case.hpp"
#include "kernels/attention/attention_kernels.cuh"
#include "kernels/device/random.hpp"
#include "kernels/reference/operations.hpp"

namespace orrery::kernels {
namespace {

using attention::DeviceAttention;

struct Case {
  std::int64_t sequences;
  std::int64_t heads;
  std::int64_t groups;
  std::int64_t queries;
  std::int64_t keys;
  bool causal;
};

template <typename T>
struct Tensors {
  std::vector<T> q, k, v, o, d_o, d_q, d_k, d_v;
  std::vector<float> log_sum, delta;
};

template <typename T>
std::vector<T> random_values(std::int64_t count, std::uint64_t seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(normal_at(seed, i));
  }
  return values;
}

template <typename T>
std::vector<double> as_doubles(const std::vector<T>& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (const T& value : values) {
    result.push_back(static_cast<double>(static_cast<float>(value)));
  }
  return result;
}

template <typename T, int kDimQk, int kDimV>
Tensors<T> run(const Case& c) {
  const T missing = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  const std::int64_t queries = c.sequences * c.queries * c.heads;
  const std::int64_t keys = c.sequences * c.keys * c.groups;
  const auto rows = static_cast<std::size_t>(c.sequences * c.heads * c.queries);
  Tensors<T> t;
  t.q = random_values<T>(queries * kDimQk, 1);
  t.k = random_values<T>(keys * kDimQk, 2);
  t.v = random_values<T>(keys * kDimV, 3);
  t.d_o = random_values<T>(queries * kDimV, 4);
  t.o.assign(t.d_o.size(), missing);
  t.d_q.assign(t.q.size(), missing);
  t.d_k.assign(t.k.size(), missing);
  t.d_v.assign(t.v.size(), missing);
  t.log_sum.assign(rows, std::nanf(""));
  t.delta.assign(rows, std::nanf(""));
  const DeviceAttention shape{c.heads, c.groups, c.queries,
                              c.keys,  c.causal, 1.0F / std::sqrt(static_cast<float>(kDimQk))};
  const auto tiles = [](std::int64_t n) {
    return static_cast<unsigned>((n + attention::kRows - 1) / attention::kRows);
  };
  const auto heads = static_cast<unsigned>(c.heads);
  const auto groups = static_cast<unsigned>(c.groups);
  const auto sequences = static_cast<unsigned>(c.sequences);
  auto& block = emulated::Block::now();
  block.run(dim3(tiles(c.queries), heads, sequences), attention::kThreads,
            attention::kForwardMemory<T, kDimQk, kDimV>, [&] {
              attention::forward_kernel<T, kDimQk, kDimV>(t.q.data(), t.k.data(), t.v.data(),
                                                          t.o.data(), t.log_sum.data(), shape);
            });
  const auto count = static_cast<std::int64_t>(rows);
  block.run(dim3(static_cast<unsigned>((count + 3) / 4)), attention::kThreads, 0, [&] {
    attention::delta_kernel<T, kDimV>(t.o.data(), t.d_o.data(), t.delta.data(), shape, count);
  });
  const attention::BackwardOperands<T> in{t.q.data(),   t.k.data(),       t.v.data(),
                                          t.d_o.data(), t.log_sum.data(), t.delta.data()};
  block.run(dim3(tiles(c.queries), heads, sequences), attention::kThreads,
            attention::kBackwardMemory<T, kDimQk, kDimV>,
            [&] { attention::query_gradient_kernel<T, kDimQk, kDimV>(in, t.d_q.data(), shape); });
  block.run(dim3(tiles(c.keys), groups, sequences), attention::kThreads,
            attention::kBackwardMemory<T, kDimQk, kDimV>, [&] {
              attention::key_gradient_kernel<T, kDimQk, kDimV>(in, t.d_k.data(), t.d_v.data(),
                                                               shape);
            });
  return t;
}

// Largest |found - expected| in units of a rounding of the row's typical element.
struct Worst {
  double error = 0.0;
  std::string where;

  void compare(const std::vector<double>& found, std::size_t first,
               const std::vector<double>& expected, double step, const std::string& name) {
    double squares = 0.0;
    for (const double x : expected) {
      squares += x * x;
    }
    const double typical = std::sqrt(squares / static_cast<double>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double unit = step * (std::abs(expected[i]) + 2.0 * typical) + 1e-3 * step;
      const double off = std::abs(found[first + i] - expected[i]) / unit;
      if (!(off <= error)) {
        error = std::isnan(off) ? HUGE_VAL : off;
        where = name + " [" + std::to_string(first + i) + "]";
      }
    }
  }
};

template <typename T, int kDimQk, int kDimV>
void expect_reference(const Case& c, double step) {
  const Tensors<T> t = run<T, kDimQk, kDimV>(c);
  const auto q = as_doubles(t.q), k = as_doubles(t.k), v = as_doubles(t.v), o = as_doubles(t.o);
  const auto d_o = as_doubles(t.d_o), d_q = as_doubles(t.d_q), d_k = as_doubles(t.d_k);
  const auto d_v = as_doubles(t.d_v), log_sums = as_doubles(t.log_sum);
  const auto heads = static_cast<std::size_t>(c.heads);
  const auto groups = static_cast<std::size_t>(c.groups);
  const auto queries = static_cast<std::size_t>(c.queries);
  const auto keys = static_cast<std::size_t>(c.keys);
  const auto view = [](const std::vector<double>& values, std::size_t sequence, std::size_t head,
                       std::size_t all, std::size_t rows, std::size_t width) {
    return reference::RowsView{values, (sequence * rows * all + head) * width, all * width, width,
                               rows};
  };
  Worst worst;
  for (std::size_t s = 0; s < static_cast<std::size_t>(c.sequences); ++s) {
    std::vector<double> key_sums(keys * groups * kDimQk), value_sums(keys * groups * kDimV);
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t group = h / (heads / groups);
      const reference::AttentionHead head{view(q, s, h, heads, queries, kDimQk),
                                          view(k, s, group, groups, keys, kDimQk),
                                          view(v, s, group, groups, keys, kDimV), c.causal,
                                          1.0 / std::sqrt(static_cast<double>(kDimQk))};
      const auto outputs = view(o, s, h, heads, queries, kDimV);
      const auto gradients = view(d_o, s, h, heads, queries, kDimV);
      const std::span<const double> sums =
          std::span(log_sums).subspan((s * heads + h) * queries, queries);
      for (std::size_t i = 0; i < queries; ++i) {
        const std::size_t at = (s * queries + i) * heads + h;
        const auto row = reference::attention_row(head, i);
        EXPECT_NEAR(sums[i], row.log_sum, 1e-4);
        worst.compare(o, at * kDimV, row.output, step, "O");
        if (c.causal && i == 0) {
          continue;  // one key: the gradient is the rounding of O
        }
        worst.compare(d_q, at * kDimQk,
                      reference::query_gradient(head, i, gradients.row(i), outputs.row(i), sums[i]),
                      step, "dQ");
      }
      for (std::size_t j = 0; j < keys; ++j) {
        const auto part = reference::key_value_gradient(head, j, gradients, outputs, sums);
        for (std::size_t x = 0; x < kDimQk; ++x) {
          key_sums[(j * groups + group) * kDimQk + x] += part.key[x];
        }
        for (std::size_t x = 0; x < kDimV; ++x) {
          value_sums[(j * groups + group) * kDimV + x] += part.value[x];
        }
      }
    }
    for (std::size_t row = 0; row < keys * groups; ++row) {
      const auto line = [row](const std::vector<double>& all, std::size_t width) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(row * width);
        return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(width));
      };
      const std::size_t at = s * keys * groups + row;
      worst.compare(d_k, at * kDimQk, line(key_sums, kDimQk), step, "dK");
      worst.compare(d_v, at * kDimV, line(value_sums, kDimV), step, "dV");
    }
  }
  EXPECT_LE(worst.error, 2.0) << worst.where;
}

constexpr double kBf16Step = 0x1.0p-8;
constexpr double kFp16Step = 0x1.0p-11;

TEST(OwnAttention, CausalWithGroupedHeadsAndAPartTile) {
  expect_reference<__nv_bfloat16, 64, 64>({1, 4, 2, 100, 100, true}, kBf16Step);
}

TEST(OwnAttention, FullWithMoreKeysThanQueriesAndSeveralSequences) {
  expect_reference<__nv_bfloat16, 64, 64>({2, 2, 1, 70, 130, false}, kBf16Step);
}

TEST(OwnAttention, WideHeadsInFp16) {
  expect_reference<__half, 128, 128>({1, 2, 2, 65, 65, true}, kFp16Step);
}

TEST(OwnAttention, WholeTilesInBf16) {
  expect_reference<__nv_bfloat16, 128, 128>({1, 1, 1, 128, 128, true}, kBf16Step);
}

TEST(OwnAttention, KeysWiderThanValues) {
  expect_reference<__nv_bfloat16, 192, 128>({1, 2, 1, 80, 80, true}, kBf16Step);
}

TEST(OwnAttention, FewerQueriesThanATile) {
  expect_reference<__half, 64, 64>({1, 3, 1, 5, 33, false}, kFp16Step);
}

}  // namespace
}  // namespace orrery::kernels
