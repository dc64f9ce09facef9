#include "calibrate/plan/sweep_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/base/random.hpp"

namespace orrery::calibrate {

namespace {

std::map<std::string, int> counts(Depth depth) {
  std::map<std::string, int> by_block;
  for (const SweepCase& planned : sweep_cases(depth)) {
    ++by_block[std::string(planned.block)];
  }
  return by_block;
}

TEST(SweepCases, QuickIsASmallPartOfEachBlock) {
  const std::map<std::string, int> expected = {{"anchors", 2},  {"attention", 6}, {"conditions", 3},
                                               {"dense", 18},   {"memory", 10},   {"optimizer", 2},
                                               {"transfers", 4}};
  EXPECT_EQ(counts(Depth::quick), expected);
}

TEST(SweepCases, FullMeasuresEveryOperationOfOneGpu) {
  std::set<kernels::Operation> operations;
  for (const SweepCase& planned : sweep_cases(Depth::full)) {
    operations.insert(planned.kernel.operation);
  }
  for (const kernels::OperationRow& row : kernels::operation_table()) {
    const bool one_gpu = row.operation < kernels::Operation::all_reduce;
    EXPECT_EQ(operations.contains(row.operation), one_gpu) << row.name;
  }
}

TEST(SweepCases, AreSoundAndThereOnce) {
  for (const Depth depth : {Depth::quick, Depth::full}) {
    std::set<std::string> texts;
    for (const SweepCase& planned : sweep_cases(depth)) {
      EXPECT_FALSE(kernels::problem_of(planned.kernel));
      EXPECT_TRUE(texts.insert(key_of(planned.kernel, planned.regime, planned.condition)).second)
          << kernels::to_text(planned.kernel);
    }
  }
}

// 48 x 4 bf16, 32 x 4 with one scale per tensor, 16 x 3 of four other scalings.
TEST(SweepCases, DenseProductsOfAllRolesAndPrecisions) {
  EXPECT_EQ(counts(Depth::full).at("dense"), 48 * 4 + 32 * 4 + 16 * 3 * 4);
}

// One operand set of a memory-bound case is past the L2 of any GPU, or rotation makes it so.
TEST(SweepCases, FitsIntoTheMemoryOfASmallGpu) {
  for (const SweepCase& planned : sweep_cases(Depth::full)) {
    EXPECT_LT(in_gibibytes(kernels::work_of(planned.kernel).moved()), 24.0)
        << kernels::to_text(planned.kernel);
  }
}

TEST(SweepCases, TheAnchorIsALargeProduct) {
  EXPECT_EQ(kernels::to_text(anchor_case()), "gemm fprop bf16 m=8192 n=8192 k=8192");
}

TEST(SweepCases, ConditionsChangeOneThingEach) {
  std::set<std::string> conditions;
  for (const SweepCase& planned : sweep_cases(Depth::full)) {
    if (planned.block == "conditions") {
      EXPECT_FALSE(planned.condition.alone()) << kernels::to_text(planned.kernel);
      conditions.insert(kernels::to_text(planned.kernel) + " | " + to_text(planned.condition));
    } else {
      EXPECT_TRUE(planned.condition.alone()) << kernels::to_text(planned.kernel);
    }
  }
  const std::string anchor = kernels::to_text(anchor_case()) + " | ";
  const std::string tiny = kernels::to_text(tiny_case()) + " | ";
  const std::set<std::string> expected = {anchor + "beside copy bytes=268435456",
                                          anchor + "beside device_to_host bytes=268435456",
                                          anchor + "beside host_to_device bytes=268435456",
                                          anchor + "multiprocessors removed=16",
                                          anchor + "multiprocessors removed=32",
                                          anchor + "multiprocessors removed=8",
                                          anchor + "multiprocessors streaming=16",
                                          anchor + "multiprocessors streaming=32",
                                          anchor + "multiprocessors streaming=8",
                                          tiny + "enqueued",
                                          tiny + "graph calls=1",
                                          tiny + "graph calls=1024",
                                          tiny + "graph calls=64"};
  EXPECT_EQ(conditions, expected);
}

TEST(CollectiveCases, RunBesideAProductOverEachGroup) {
  const std::vector<kernels::KernelCase> cases = background_cases({.ranks = 8, .nodes = 1});
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(kernels::to_text(cases[0]),
            "all_reduce fp32 ranks=8 nodes=1 bytes=268435456 in_place=0");
}

TEST(CollectiveCases, OfAJobOfTwoNodesAreItsGroups) {
  const std::vector<CollectiveShape> shapes = collective_shapes(16, 2);
  const std::vector<CollectiveShape> expected = {
      {.ranks = 16, .nodes = 2},
      {.ranks = 8, .nodes = 1},
      {.ranks = 4, .nodes = 1},
      {.ranks = 2, .nodes = 1},
      {.ranks = 4, .nodes = 1, .stride = 1, .concurrent = true},
      {.ranks = 2, .nodes = 2, .stride = 8},
      {.ranks = 2, .nodes = 2, .stride = 8, .concurrent = true}};
  EXPECT_EQ(shapes, expected);
  // 11 sizes from 1 KiB to 1 GiB; three of five operations also in place.
  EXPECT_EQ(collective_cases(shapes[0]).size(), 11U * 8U);
  // Six sizes from 1 MiB, out of place.
  EXPECT_EQ(collective_cases(shapes[4]).size(), 6U * 5U);
  EXPECT_TRUE(background_cases(shapes[4]).empty());
  EXPECT_EQ(collective_shapes(1, 1).size(), 1U);
}

// 16 ranks on two nodes: every group has as many ranks as its shape says, and each rank is in one.
TEST(CollectiveCases, GroupsShareOutAllRanks) {
  for (const CollectiveShape& shape : collective_shapes(16, 2)) {
    std::map<std::int64_t, std::set<std::int64_t>> groups;
    for (std::int64_t rank = 0; rank < 16; ++rank) {
      groups[group_of(shape, rank)].insert(rank);
    }
    EXPECT_EQ(static_cast<std::int64_t>(groups.size()), 16 / shape.ranks);
    for (const auto& [group, ranks] : groups) {
      EXPECT_EQ(static_cast<std::int64_t>(ranks.size()), shape.ranks) << group;
      EXPECT_EQ(*ranks.rbegin() - *ranks.begin(), (shape.ranks - 1) * shape.stride);
    }
    EXPECT_TRUE(groups[0].contains(0));
  }
}

// Every role and precision of every operation of one GPU is checked at least once.
TEST(CheckCases, CoverTheTableOfOperations) {
  std::set<std::string> kinds;
  const auto kind = [](const kernels::KernelCase& kernel) {
    std::string text(kernels::to_string(kernel.operation));
    text += " " + std::string(kernels::to_string(kernel.role));
    return text + " " + std::string(kernels::to_string(kernel.precision));
  };
  for (const kernels::KernelCase& kernel : check_cases()) {
    kinds.insert(kind(kernel));
  }
  for (const kernels::OperationRow& row : kernels::operation_table()) {
    for (const kernels::Role role : row.roles) {
      for (const kernels::Precision precision : row.precisions) {
        const kernels::KernelCase wanted{row.operation, role, precision, {}};
        EXPECT_EQ(kinds.contains(kind(wanted)), row.operation < kernels::Operation::all_reduce)
            << kind(wanted);
      }
    }
  }
}

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
