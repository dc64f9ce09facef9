// The pass between the product of queries, keys and values and attention, on the host.

#include "kernels/own/rotary_parts_body.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "kernels/reference/elementwise.hpp"
#include "kernels/reference/tolerance.hpp"
#include "tests/unit/kernels/host_team.hpp"

namespace orrery::kernels {
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
std::vector<double> expected(std::span<const double> x,
                             std::size_t token,
                             bool value,
                             reference::Turn turn,
                             const std::vector<float>& table) {
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
    const auto tolerance =
        reference::tolerance_of(reference::NumberFormat::bf16, {.terms = 2.0, .magnitude = 4.0});
    for (std::size_t t = 0; t < kTokens; ++t) {
      std::size_t head = t * kAll;
      for (std::size_t p = 0; p < parts.size(); ++p) {
        for (std::size_t h = 0; h < kWidths[p]; ++h, ++head) {
          const std::size_t in_part = (t * kWidths[p] + h) * kDim;
          const std::size_t in_joined = head * kDim;
          const auto& from = join ? parts[p].values : joined.values;
          const auto& to = join ? joined.stored : parts[p].stored;
          const auto want =
              expected(std::span<const double>(from).subspan(join ? in_part : in_joined, kDim),
                       t,
                       p == 2,
                       turn,
                       table);
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
