// The code that elementwise, routing and optimizer kernels run, on the host, against the
// references.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "kernels/own/streaming_body.hpp"
#include "kernels/reference/number_format.hpp"
#include "kernels/reference/operations.hpp"
#include "tests/unit/kernels/host_team.hpp"

namespace orrery::kernels {

namespace {

using reference::error_of;
using reference::tolerance_of;
using Bf16 = __nv_bfloat16;

constexpr std::uint64_t kStreamSeed = 41;
const reference::Tolerance kRounding =
    tolerance_of(Element::bf16, {.terms = 2.0, .magnitude = 4.0});

void expect_close(Bf16 result, double expected, const std::string& where) {
  ASSERT_LE(error_of(static_cast<double>(to_float(result)), expected, kRounding), 1.0) << where;
}

std::vector<Bf16> unwritten(std::size_t count) {
  return std::vector<Bf16>(count, from_float<Bf16>(NAN));
}

// Every launch shape must cover every pack exactly once.
TEST(ForEachPack, CoversEveryPackOnceWithAnyLaunch) {
  for (const std::int64_t blocks : {1, 3, 7}) {
    for (const std::uint32_t count : {1U, 31U, 96U, 97U, 1000U}) {
      std::vector<int> seen(count);
      run_threads(blocks, 32, [&](const HostPlace& team) {
        for_each_pack(team, count, [&](std::uint32_t i) { ++seen[i]; });
      });
      EXPECT_EQ(seen, std::vector<int>(count, 1)) << blocks << " " << count;
    }
  }
}

TEST(ForEachPack, StopsBeforeIndicesWrap) {
  const std::uint32_t count = 0xFFFFFFF0U;
  int calls = 0;
  // the last thread of a launch whose next step would be past 2^32
  const HostPlace last{
      .thread_index = 15, .thread_count = 1 << 30, .block_index = 3, .block_count = 4 - 1};
  for_each_pack(last, count, [&](std::uint32_t) { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(StreamBodies, ResidualAddIsTheSum) {
  RandomStream random(kStreamSeed, 0, Purpose::property_test);
  const auto a = random_operand<Bf16>(800, random);
  const auto b = random_operand<Bf16>(800, random);
  std::vector<Bf16> y = unwritten(800);
  run_threads(2, 32, [&](const HostPlace& team) {
    streaming_body(team, ResidualAdd<Bf16>{a.stored.data(), b.stored.data(), y.data(), 800});
  });
  for (std::size_t i = 0; i < y.size(); ++i) {
    expect_close(y[i], a.values[i] + b.values[i], "element " + std::to_string(i));
  }
}

TEST(StreamBodies, RotaryTurnsEveryHeadByItsPosition) {
  constexpr std::size_t kTokens = 7;
  constexpr std::size_t kHeads = 3;
  constexpr std::size_t kDim = 32;
  constexpr std::size_t kPositions = 4;
  RandomStream random(kStreamSeed, 0, Purpose::property_test);
  const auto x = random_operand<Bf16>(kTokens * kHeads * kDim, random);
  std::vector<float> angles;
  for (std::size_t p = 0; p < kPositions; ++p) {
    for (const bool sine : {false, true}) {
      for (std::size_t i = 0; i < kDim / 2; ++i) {
        const double angle = reference::rotary_angle(static_cast<double>(p), i, kDim, 10000.0);
        angles.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
      }
    }
  }
  const std::vector<double> table = doubles(angles);
  for (const bool back : {false, true}) {
    std::vector<Bf16> y = unwritten(x.stored.size());
    run_threads(2, 32, [&](const HostPlace& team) {
      streaming_body(team, Rotary<Bf16>{x.stored.data(), angles.data(), y.data(), kTokens, kHeads,
                                        kDim, kPositions, back});
    });
    for (std::size_t row = 0; row < kTokens * kHeads; ++row) {
      const std::size_t position = row / kHeads % kPositions;
      const auto angle = std::span<const double>(table).subspan(position * kDim, kDim);
      const auto expected =
          reference::rotary(x.row(row, kDim), angle.first(kDim / 2), angle.last(kDim / 2),
                            back ? reference::Turn::back : reference::Turn::forward);
      for (std::size_t i = 0; i < kDim; ++i) {
        expect_close(y[row * kDim + i], expected[i], "row " + std::to_string(row));
      }
    }
  }
}

TEST(StreamBodies, SwigluAndItsGradientAreThoseOfTheReference) {
  constexpr std::size_t kRows = 5;
  constexpr std::size_t kColumns = 24;
  RandomStream random(kStreamSeed, 0, Purpose::property_test);
  const auto gate_up = random_operand<Bf16>(kRows * 2 * kColumns, random, 3.0);
  const auto dy = random_operand<Bf16>(kRows * kColumns, random);
  std::vector<Bf16> y = unwritten(kRows * kColumns);
  std::vector<Bf16> gradient = unwritten(kRows * 2 * kColumns);
  run_threads(1, 32, [&](const HostPlace& team) {
    streaming_body(team, SwigluForward<Bf16>{gate_up.stored.data(), y.data(), kRows, kColumns});
    streaming_body(team, SwigluBackward<Bf16>{gate_up.stored.data(), dy.stored.data(),
                                              gradient.data(), kRows, kColumns});
  });
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      const std::size_t gate = r * 2 * kColumns + j;
      const std::size_t up = gate + kColumns;
      const double g = gate_up.values[gate];
      const double u = gate_up.values[up];
      const auto expected = reference::swiglu_gradient(g, u, dy.values[r * kColumns + j]);
      expect_close(y[r * kColumns + j], reference::swiglu(g, u), "y");
      expect_close(gradient[gate], expected.gate, "gate");
      expect_close(gradient[up], expected.up, "up");
    }
  }
}

TEST(StreamBodies, EmbeddingReadsRowsAndAddsTheirGradients) {
  constexpr std::size_t kColumns = 16;
  RandomStream random(kStreamSeed, 0, Purpose::property_test);
  const auto table = random_operand<Bf16>(6 * kColumns, random);
  const auto dy = random_operand<Bf16>(4 * kColumns, random);
  auto sums = random_operand<float>(6 * kColumns, random);
  const std::vector<std::int64_t> ids = {5, 0, 5, 2};
  std::vector<Bf16> y = unwritten(4 * kColumns);
  std::vector<float> gradient = sums.stored;
  run_threads(1, 32, [&](const HostPlace& team) {
    streaming_body(team,
                   EmbeddingForward<Bf16>{table.stored.data(), ids.data(), y.data(), 4, kColumns});
    streaming_body(
        team, EmbeddingBackward<Bf16>{dy.stored.data(), ids.data(), gradient.data(), 4, kColumns});
  });
  for (std::size_t t = 0; t < ids.size(); ++t) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      EXPECT_EQ(to_float(y[t * kColumns + j]),
                to_float(table.stored[static_cast<std::size_t>(ids[t]) * kColumns + j]));
    }
  }
  for (std::size_t v = 0; v < 6; ++v) {
    const auto row = reference::embedding_gradient_row(ids, dy.values, static_cast<std::int64_t>(v),
                                                       sums.row(v, kColumns));
    for (std::size_t j = 0; j < kColumns; ++j) {
      EXPECT_NEAR(gradient[v * kColumns + j], row.values[j], 1e-5);
    }
  }
}

TEST(StreamBodies, PermutedRowsComeBackWeighted) {
  constexpr std::size_t kRows = 9;
  constexpr std::size_t kColumns = 40;
  constexpr std::size_t kCopies = 3;
  RandomStream random(kStreamSeed, 0, Purpose::property_test);
  const auto x = random_operand<Bf16>(kRows * kColumns, random);
  const auto dx = random_operand<Bf16>(kRows * kColumns, random);
  const auto weights = random_operand<float>(kRows * kCopies, random);
  std::vector<std::int32_t> experts;
  for (std::size_t i = 0; i < kRows * kCopies; ++i) {
    experts.push_back(static_cast<std::int32_t>(random.uniform_int(4)));
  }
  const std::vector<std::int32_t> places = reference::places_by_expert(experts);
  std::vector<Bf16> y = unwritten(kRows * kCopies * kColumns);
  run_threads(2, 32, [&](const HostPlace& team) {
    streaming_body(
        team, Scatter<Bf16>{x.stored.data(), places.data(), y.data(), kRows, kColumns, kCopies});
  });
  for (std::size_t copy = 0; copy < places.size(); ++copy) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      ASSERT_EQ(to_float(y[static_cast<std::size_t>(places[copy]) * kColumns + j]),
                to_float(x.stored[copy / kCopies * kColumns + j]));
    }
  }
  const auto rows = random_operand<Bf16>(y.size(), random);
  for (const bool weighted : {false, true}) {
    std::vector<Bf16> z = unwritten(kRows * kColumns);
    run_threads(2, 32, [&](const HostPlace& team) {
      streaming_body(team, Combine<Bf16>{rows.stored.data(), places.data(),
                                         weighted ? weights.stored.data() : nullptr, z.data(),
                                         kRows, kColumns, kCopies});
    });
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto own = std::span(places).subspan(r * kCopies, kCopies);
      const auto expected =
          reference::combined_row(rows.values, kColumns, own,
                                  weighted ? weights.row(r, kCopies) : std::span<const double>());
      for (std::size_t j = 0; j < kColumns; ++j) {
        expect_close(z[r * kColumns + j], expected.values[j], "row " + std::to_string(r));
      }
    }
  }
  std::vector<Bf16> dy = unwritten(rows.stored.size());
  std::vector<float> dw(kRows * kCopies, NAN);
  run_blocks(2, 64, [&](HostTeam& team) {  // two warps for three copies
    combine_backward_body(
        team, CombineBackward<Bf16>{dx.stored.data(), rows.stored.data(), places.data(),
                                    weights.stored.data(), dy.data(), dw.data(), kRows, kColumns,
                                    kCopies});
  });
  for (std::size_t copy = 0; copy < places.size(); ++copy) {
    const auto place = static_cast<std::size_t>(places[copy]);
    const auto gradient = dx.row(copy / kCopies, kColumns);
    EXPECT_NEAR(dw[copy], reference::weight_gradient(rows.row(place, kColumns), gradient), 1e-4);
    for (std::size_t j = 0; j < kColumns; ++j) {
      expect_close(dy[place * kColumns + j], weights.values[copy] * gradient[j], "dy");
    }
  }
}

template <typename G>
void check_optimizer(std::size_t elements) {
  SCOPED_TRACE("elements " + std::to_string(elements));
  const std::size_t padded = (elements + 7) / 8 * 8;
  RandomStream random(kStreamSeed, 0, Purpose::property_test);
  const auto gradient = random_operand<G>(padded, random);
  const auto weight = random_operand<float>(padded, random);
  const auto first = random_operand<float>(padded, random, 0.1);
  auto second = random_operand<float>(padded, random, 0.1);
  for (float& value : second.stored) {
    value = std::abs(value);
  }
  second.values = doubles(second.stored);
  const auto count = static_cast<std::int64_t>(elements);
  std::vector<float> partial(3, NAN);
  float norm = NAN;
  run_blocks(3, 32, [&](HostTeam& team) {
    gradient_norm_body(team, GradientNorm<G>{gradient.stored.data(), partial.data(), &norm, count});
  });
  run_blocks(1, 32, [&](HostTeam& team) { norm_of_parts_body(team, partial.data(), 3, &norm); });
  const double expected_norm =
      reference::gradient_norm(std::span<const double>(gradient.values).first(elements));
  EXPECT_NEAR(norm, expected_norm, 1e-5 * expected_norm);
  const reference::AdamwSettings settings{.rate = 0.01, .clip = 0.5, .step = 3.0};
  AdamwUpdate<G> update;
  std::vector<float> w = weight.stored;
  std::vector<float> m = first.stored;
  std::vector<float> v = second.stored;
  std::vector<Bf16> narrow = unwritten(padded);
  update.gradient = gradient.stored.data();
  update.weight = w.data();
  update.first = m.data();
  update.second = v.data();
  update.narrow = narrow.data();
  update.elements = count;
  update.rate = 0.01F;
  update.clip = 0.5F;
  update.first_correction = static_cast<float>(1.0 / (1.0 - std::pow(0.9, 3.0)));
  update.second_correction = static_cast<float>(1.0 / (1.0 - std::pow(0.95, 3.0)));
  run_threads(2, 32, [&](const HostPlace& team) { streaming_body(team, update); });
  for (std::size_t i = 0; i < elements; ++i) {
    const auto expected = reference::adamw(
        settings, {weight.values[i], first.values[i], second.values[i]}, gradient.values[i]);
    ASSERT_NEAR(w[i], expected.weight, 1e-6 * (1.0 + std::abs(expected.weight)));
    ASSERT_NEAR(m[i], expected.first, 1e-6);
    ASSERT_NEAR(v[i], expected.second, 1e-6);
    expect_close(narrow[i], expected.weight, "narrow");
  }
}

TEST(OptimizerBodies, AreThoseOfTheReferences) {
  check_optimizer<float>(1000);
  check_optimizer<Bf16>(1003);  // the last pack is not full
}

}  // namespace

// The pass between the product of queries, keys and values and attention, on the host.

namespace {

using Bf16 = __nv_bfloat16;

constexpr std::size_t kTokens = 10;
constexpr std::size_t kPositions = 5;
constexpr std::size_t kDim = 32;
constexpr std::array<std::size_t, 3> kWidths = {3, 2, 2};  // heads of q, k, v
constexpr std::size_t kAll = 7;

std::vector<float> angles() {
  std::vector<float> table;
  for (std::size_t position = 0; position < kPositions; ++position) {
    for (const bool sine : {false, true}) {
      for (std::size_t i = 0; i < kDim / 2; ++i) {
        const double a = reference::rotary_angle(static_cast<double>(position), i, kDim, 10000.0);
        table.push_back(static_cast<float>(sine ? std::sin(a) : std::cos(a)));
      }
    }
  }
  return table;
}

// What a head becomes; values stay.
std::vector<double> expected(std::span<const double> x, std::size_t token, bool value,
                             reference::Turn turn, const std::vector<float>& table) {
  if (value) {
    return {x.begin(), x.end()};
  }
  std::vector<double> wide(table.begin(), table.end());
  const auto row = std::span<const double>(wide).subspan(token % kPositions * kDim, kDim);
  return reference::rotary(x, row.first(kDim / 2), row.subspan(kDim / 2), turn);
}

TEST(RotaryParts, TakesApartAndTurnsAndJoinsAndTurnsBack) {
  RandomStream random(43, 0, Purpose::property_test);
  const std::vector<float> table = angles();
  for (const bool join : {false, true}) {
    const reference::Turn turn = join ? reference::Turn::back : reference::Turn::forward;
    auto joined = random_operand<Bf16>(kTokens * kAll * kDim, random);
    std::array<decltype(joined), 3> parts;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      parts[p] = random_operand<Bf16>(kTokens * kWidths[p] * kDim, random);
    }
    const RotaryParts rotary{.joined = joined.stored.data(),
                             .angles = table.data(),
                             .q = parts[0].stored.data(),
                             .k = parts[1].stored.data(),
                             .v = parts[2].stored.data(),
                             .tokens = kTokens,
                             .heads = kWidths[0],
                             .groups = kWidths[1],
                             .dim = kDim,
                             .positions = kPositions};
    run_threads(2, 32, [&](const HostPlace& team) {
      join ? rotary_parts_body<true>(team, rotary) : rotary_parts_body<false>(team, rotary);
    });
    const auto tolerance = reference::tolerance_of(Element::bf16, {.terms = 2.0, .magnitude = 4.0});
    for (std::size_t t = 0; t < kTokens; ++t) {
      std::size_t head = t * kAll;
      for (std::size_t p = 0; p < parts.size(); ++p) {
        for (std::size_t h = 0; h < kWidths[p]; ++h, ++head) {
          const std::size_t in_part = (t * kWidths[p] + h) * kDim;
          const std::size_t in_joined = head * kDim;
          const auto& from = join ? parts[p].values : joined.values;
          const auto& to = join ? joined.stored : parts[p].stored;
          const auto want =
              expected(std::span<const double>(from).subspan(join ? in_part : in_joined, kDim), t,
                       p == 2, turn, table);
          for (std::size_t i = 0; i < kDim; ++i) {
            const Bf16 found = to[(join ? in_joined : in_part) + i];
            ASSERT_LE(reference::error_of(static_cast<double>(to_float(found)), want[i], tolerance),
                      1.0)
                << join << " token " << t << " part " << p << " head " << h << " " << i;
          }
        }
      }
    }
  }
}

}  // namespace

}  // namespace orrery::kernels
