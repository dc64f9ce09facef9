// The code that the kernels of norms and losses run, on the host, against the references.

#include "kernels/own/norm_body.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/reference/number_format.hpp"
#include "kernels/reference/operations.hpp"
#include "tests/unit/kernels/host_team.hpp"

namespace orrery::kernels {
namespace {

using reference::error_of;
using reference::NormKind;
using reference::tolerance_of;

constexpr std::uint64_t kNormSeed = 31;
constexpr double kEpsilon = 1e-5;

template <typename T>
constexpr Element kFormat = Element::bf16;
template <>
constexpr Element kFormat<__half> = Element::fp16;

constexpr int kNarrow = 0;  // packs of a thread: several rows are taken at once

// Rows that do not divide by blocks, packs that do not divide by threads.
template <typename T, bool kLayer, int kPacks>
void check_norm(std::size_t rows, std::size_t columns, int threads) {
  SCOPED_TRACE("seed " + std::to_string(kNormSeed) + " columns " + std::to_string(columns));
  constexpr std::int64_t kBlocks = 2;
  RandomStream random(kNormSeed, 0, Purpose::property_test);
  const auto x = random_operand<T>(rows * columns, random);
  const auto weight = random_operand<T>(columns, random);
  const auto bias = random_operand<T>(columns, random);
  const auto dy = random_operand<T>(rows * columns, random);
  std::vector<T> y(rows * columns, from_float<T>(NAN));
  std::vector<T> dx = y;
  std::vector<float> mean(rows);
  std::vector<float> scale(rows);
  const auto rows_of = static_cast<std::int64_t>(rows);
  const auto columns_of = static_cast<std::int64_t>(columns);
  const int group = narrow_group(columns_of);
  const NormForward<T> forward{.x = x.stored.data(),
                               .weight = weight.stored.data(),
                               .bias = bias.stored.data(),
                               .y = y.data(),
                               .mean = mean.data(),
                               .scale = scale.data(),
                               .rows = rows_of,
                               .columns = columns_of,
                               .epsilon = static_cast<float>(kEpsilon)};
  run_blocks(kBlocks, threads, [&](HostTeam& team) {
    if constexpr (kPacks == kNarrow) {
      narrow_forward_body<T, kLayer>(team, forward, group);
    } else {
      norm_forward_body<T, kPacks, kLayer>(team, forward);
    }
  });
  const std::size_t width = columns * (kLayer ? 2 : 1);
  std::vector<float> partial(static_cast<std::size_t>(kBlocks) * width, NAN);
  std::vector<float> dw(columns, NAN);
  std::vector<float> db(columns, NAN);
  const NormBackward<T> backward{.x = x.stored.data(),
                                 .weight = weight.stored.data(),
                                 .gradient = dy.stored.data(),
                                 .mean = mean.data(),
                                 .scale = scale.data(),
                                 .input_gradient = dx.data(),
                                 .partial = partial.data(),
                                 .weight_gradient = dw.data(),
                                 .bias_gradient = db.data(),
                                 .rows = rows_of,
                                 .columns = columns_of};
  std::vector<float> block_memory(
      static_cast<std::size_t>(norm_shared_words(std::max(kPacks, 1), kLayer)), NAN);
  run_blocks(kBlocks, threads, [&](HostTeam& team) {
    if constexpr (kPacks == kNarrow) {
      narrow_backward_body<T, kLayer>(team, backward, group, block_memory.data());
    } else {
      norm_backward_body<T, kPacks, kLayer>(team, backward, block_memory.data());
    }
  });
  const auto add_up = [&](const float* part, float* result) {
    constexpr int kThreads = 64;
    std::vector<float> shared(kThreads);
    run_blocks(static_cast<std::int64_t>((columns + 31) / 32), kThreads, [&](HostTeam& team) {
      column_sum_body(team,
                      ColumnSum{part, result, kBlocks, static_cast<std::int64_t>(width),
                                static_cast<std::int64_t>(columns)},
                      shared.data());
    });
  };
  add_up(partial.data(), dw.data());
  std::vector<double> expected_dw(columns);
  std::vector<double> expected_db(columns);
  const NormKind kind = kLayer ? NormKind::layer : NormKind::rms;
  const std::span<const double> used_bias =
      kLayer ? std::span<const double>(bias.values) : std::span<const double>();
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = x.row(r, columns);
    const auto expected = reference::norm_row(kind, row, weight.values, used_bias, kEpsilon);
    const auto expected_dx =
        reference::norm_input_gradient(kind, row, weight.values, dy.row(r, columns), kEpsilon);
    reference::add_norm_weight_gradient(kind, row, dy.row(r, columns), kEpsilon, expected_dw,
                                        expected_db);
    const auto tolerance =
        tolerance_of(kFormat<T>, {.terms = static_cast<double>(columns), .magnitude = 4.0});
    EXPECT_NEAR(scale[r], expected.scale, 1e-5 * expected.scale);
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t at = r * columns + j;
      ASSERT_LE(error_of(static_cast<double>(to_float(y[at])), expected.output[j], tolerance), 1.0);
      ASSERT_LE(error_of(static_cast<double>(to_float(dx[at])), expected_dx[j], tolerance), 1.0);
    }
  }
  const auto sums =
      tolerance_of(Element::fp32, {.terms = static_cast<double>(rows), .magnitude = 10.0});
  for (std::size_t j = 0; j < columns; ++j) {
    ASSERT_LE(error_of(static_cast<double>(dw[j]), expected_dw[j], sums), 1.0) << j;
  }
  if constexpr (kLayer) {
    add_up(partial.data() + columns, db.data());
    for (std::size_t j = 0; j < columns; ++j) {
      ASSERT_LE(error_of(static_cast<double>(db[j]), expected_db[j], sums), 1.0) << j;
    }
  }
}

TEST(NormBodies, AreThoseOfTheReferences) {
  check_norm<__nv_bfloat16, false, 1>(5, 256, 32);
  check_norm<__nv_bfloat16, true, 1>(5, 256, 64);
  check_norm<__nv_bfloat16, false, 2>(3, 504, 32);  // 63 packs for 64 places
  check_norm<__half, true, 4>(3, 776, 32);          // 97 of 128
  check_norm<__half, false, 1>(4, 8, 32);           // one thread has a pack
}

// Heads of queries and keys: rows that leave groups of the last block without one, packs that leave
// threads of a group without one.
TEST(NormBodies, NarrowRowsAreTakenSeveralAtOnce) {
  EXPECT_EQ(narrow_group(128), 16);
  EXPECT_EQ(narrow_group(96), 16);
  EXPECT_EQ(narrow_group(256), 32);
  EXPECT_EQ(narrow_group(8), 1);
  check_norm<__nv_bfloat16, false, kNarrow>(21, 128, 64);  // 4 rows of a block at once, 2 blocks
  check_norm<__nv_bfloat16, true, kNarrow>(9, 96, 64);     // 12 packs for 16 places
  check_norm<__half, false, kNarrow>(3, 256, 32);
  check_norm<__half, true, kNarrow>(70, 8, 32);  // one thread has a row
}

template <typename T, int kWidth>
void check_cross_entropy(std::size_t rows, std::size_t columns, double size) {
  SCOPED_TRACE("seed " + std::to_string(kNormSeed) + " columns " + std::to_string(columns));
  RandomStream random(kNormSeed, 0, Purpose::property_test);
  const auto logits = random_operand<T>(rows * columns, random, size);
  std::vector<std::int64_t> targets;
  for (std::size_t r = 0; r < rows; ++r) {
    targets.push_back(static_cast<std::int64_t>(random.uniform_int(columns)));
  }
  std::vector<float> loss(rows, NAN);
  std::vector<float> log_sum(rows, NAN);
  std::vector<T> gradient(rows * columns, from_float<T>(NAN));
  const auto count = static_cast<std::int64_t>(rows);
  const auto width = static_cast<std::int64_t>(columns);
  run_blocks(2, 32, [&](HostTeam& team) {
    cross_entropy_forward_body<kWidth>(
        team, CrossEntropyForward<T>{logits.stored.data(), targets.data(), loss.data(),
                                     log_sum.data(), count, width});
  });
  run_threads(2, 32, [&](const HostPlace& team) {
    cross_entropy_backward_body<kWidth>(
        team, CrossEntropyBackward<T>{logits.stored.data(), targets.data(), log_sum.data(),
                                      gradient.data(), count, width, 0.5F});
  });
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = logits.row(r, columns);
    const auto target = static_cast<std::size_t>(targets[r]);
    const reference::TokenLoss expected = reference::cross_entropy(row, target);
    EXPECT_NEAR(loss[r], expected.loss, 1e-5 * (1.0 + size));
    EXPECT_NEAR(log_sum[r], expected.log_sum, 1e-5 * (1.0 + size));
    const auto dx = reference::cross_entropy_gradient(row, target, 0.5);
    const auto tolerance = tolerance_of(kFormat<T>, {.terms = 1.0, .magnitude = size});
    for (std::size_t j = 0; j < columns; ++j) {
      const auto result = static_cast<double>(to_float(gradient[r * columns + j]));
      ASSERT_LE(error_of(result, dx[j], tolerance), 1.0) << r << " " << j;
    }
  }
}

TEST(CrossEntropyBodies, AreThoseOfTheReferences) {
  check_cross_entropy<__nv_bfloat16, 8>(5, 1024, 1.0);
  check_cross_entropy<__nv_bfloat16, 8>(3, 2008, 30.0);  // 251 packs
  check_cross_entropy<__half, 8>(3, 8, 1.0);             // threads without a logit
  check_cross_entropy<__nv_bfloat16, 1>(3, 1003, 5.0);
}

}  // namespace
}  // namespace orrery::kernels
