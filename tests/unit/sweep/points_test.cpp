// Points: combinations of values, and samples that fill the space.

#include <gtest/gtest.h>

#include <set>

#include "sim/answer/sweep/sweep.hpp"

namespace orrery::sweep {
namespace {

std::vector<Axis> axes_of(const std::vector<std::string>& arguments) {
  Diagnostics diagnostics;
  std::vector<Axis> axes;
  for (const std::string& argument : arguments) {
    axes.push_back(parse_vary(argument, diagnostics).value());
  }
  return axes;
}

std::vector<Point> points_of(const std::vector<std::string>& arguments,
                             const Combination& combination) {
  Diagnostics diagnostics;
  const auto points = make_points(axes_of(arguments), combination, diagnostics);
  EXPECT_TRUE(points) << to_string(diagnostics);
  return points.value_or(std::vector<Point>());
}

std::string refusal_of(const std::vector<std::string>& arguments, const Combination& combination) {
  Diagnostics diagnostics;
  EXPECT_FALSE(make_points(axes_of(arguments), combination, diagnostics));
  return to_string(diagnostics);
}

TEST(Points, AGridHasEveryCombinationTheLastKeyFastest) {
  const auto points = points_of({"capacity.spares=0,8", "checkpoint.mode=sync,async"}, {});
  const std::vector<Point> expected = {
      {"0", "sync"}, {"0", "async"}, {"8", "sync"}, {"8", "async"}};
  EXPECT_EQ(points, expected);
}

TEST(Points, AZipTakesValuesTogether) {
  const auto points =
      points_of({"capacity.spares=0,8", "checkpoint.mode=sync,async"}, {.mode = Mode::zip});
  const std::vector<Point> expected = {{"0", "sync"}, {"8", "async"}};
  EXPECT_EQ(points, expected);
}

// Of n points every n-th part of an open range holds exactly one: 100 of 0 to 100 are 100 integers
// whose floors differ before rounding; in hours the strata can be seen without rounding.
TEST(Points, RandomPointsMeetEveryStratumOnce) {
  constexpr std::int64_t kPoints = 100;
  const auto points = points_of({"recovery.load=0h:100h", "capacity.spares=0,1,2,3"},
                                {.mode = Mode::random, .random_points = kPoints, .seed = 7});
  ASSERT_EQ(points.size(), 100U);
  std::set<int> strata;
  std::map<std::string, int> spares;
  for (const Point& point : points) {
    strata.insert(static_cast<int>(std::stod(point[0])));
    ++spares[point[1]];
  }
  EXPECT_EQ(strata.size(), 100U);
  for (const auto& [value, count] : spares) {
    EXPECT_EQ(count, 25) << value;
  }
}

TEST(Points, RandomPointsDependOnTheSeedAlone) {
  const Combination seven{.mode = Mode::random, .random_points = 20, .seed = 7};
  const Combination eight{.mode = Mode::random, .random_points = 20, .seed = 8};
  EXPECT_EQ(points_of({"recovery.load=0h:100h"}, seven),
            points_of({"recovery.load=0h:100h"}, seven));
  EXPECT_NE(points_of({"recovery.load=0h:100h"}, seven),
            points_of({"recovery.load=0h:100h"}, eight));
}

TEST(Points, SaysWhatCannotBeCombined) {
  EXPECT_EQ(refusal_of({"capacity.spares=0,8", "checkpoint.mode=sync"}, {.mode = Mode::zip}),
            "--vary: error: checkpoint.mode: has 1 values where capacity.spares has 2 (as many for "
            "every key with --zip)\n");
  EXPECT_EQ(refusal_of({"capacity.spares=0:8"}, {}),
            "--vary: error: capacity.spares: the range does not say how many values it has "
            "(from:to:steps, or random points (--random N))\n");
  EXPECT_EQ(refusal_of({"layout.tensor=1", "layout.tp=2"}, {}),
            "--vary: error: layout.tensor: is varied twice (one list of values)\n");
  EXPECT_EQ(refusal_of({"capacity.spares=1:10000:10000", "recovery.load=1h:2h:1000"}, {}),
            "--vary: error: the grid has 1e+07 points (at most 1,000,000; --random N takes a "
            "sample)\n");
}

}  // namespace
}  // namespace orrery::sweep
