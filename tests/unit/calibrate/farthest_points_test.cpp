#include "calibrate/plan/farthest_points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/base/random.hpp"

namespace orrery::calibrate {
namespace {

double distance(const Extents& a, const Extents& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::log(static_cast<double>(a[i]) / static_cast<double>(b[i]));
    sum += d * d;
  }
  return std::sqrt(sum);
}

// Largest distance of a candidate to the nearest chosen one.
double radius(const std::vector<Extents>& candidates, const std::vector<std::size_t>& chosen) {
  double worst = 0.0;
  for (const Extents& candidate : candidates) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const std::size_t index : chosen) {
      nearest = std::min(nearest, distance(candidate, candidates[index]));
    }
    worst = std::max(worst, nearest);
  }
  return worst;
}

TEST(FarthestPoints, BeginInTheMiddleAndGoToTheEnds) {
  const std::vector<Extents> line = {{1}, {2}, {4}, {8}, {16}};
  EXPECT_EQ(farthest_points(line, 3), (std::vector<std::size_t>{2, 0, 4}));
  EXPECT_EQ(farthest_points(line, 9).size(), 5U);
  EXPECT_TRUE(farthest_points(line, 0).empty());
  EXPECT_TRUE(farthest_points({}, 3).empty());
}

TEST(FarthestPoints, EqualCandidatesAreChosenOnceEach) {
  const std::vector<Extents> same = {{7, 7}, {7, 7}, {7, 7}};
  EXPECT_EQ(farthest_points(same, 3).size(), 3U);
}

// Every pair of chosen points is at least a covering radius apart, which is what bounds the radius
// by twice the best one.
TEST(FarthestPoints, NoCandidateIsFartherThanTheChosenFromOneAnother) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream stream(seed, 0, Purpose::property_test);
    std::vector<Extents> candidates;
    for (int i = 0; i < 60; ++i) {
      Extents extents;
      for (int axis = 0; axis < 3; ++axis) {
        extents.push_back(1 + static_cast<std::int64_t>(stream.uniform_int(1U << 14U)));
      }
      candidates.push_back(extents);
    }
    const std::vector<std::size_t> chosen = farthest_points(candidates, 8);
    double closest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        closest = std::min(closest, distance(candidates[chosen[i]], candidates[chosen[j]]));
      }
    }
    EXPECT_LE(radius(candidates, chosen), closest + 1e-12);
  }
}

}  // namespace
}  // namespace orrery::calibrate
