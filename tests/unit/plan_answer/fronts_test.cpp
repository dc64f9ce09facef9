// The front holds exactly the points that no other beats: brute force on random points.

#include "sim/answer/plan/fronts.hpp"

#include "sim/base/random.hpp"
#include "tests/unit/plan_answer/plan_answer_fixture.hpp"

namespace orrery::plan::test {
namespace {

bool beats(const FrontPoint& a, const FrontPoint& b) {
  return a.x <= b.x && a.y <= b.y && (a.x < b.x || a.y < b.y);
}

TEST(Fronts, HoldWhatNoOtherBeats) {
  constexpr std::uint64_t kSeed = 11;
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int round = 0; round < 200; ++round) {
    std::vector<FrontPoint> points(1 + random.uniform_int(40));
    for (FrontPoint& point : points) {
      point.x = static_cast<double>(random.uniform_int(12));
      point.y = static_cast<double>(random.uniform_int(12));
    }
    mark_front(points);
    for (const FrontPoint& point : points) {
      bool beaten = false;
      for (const FrontPoint& other : points) {
        beaten = beaten || beats(other, point);
      }
      EXPECT_EQ(point.on_front, !beaten)
          << "seed " << kSeed << " round " << round << ": " << point.x << ", " << point.y;
    }
  }
}

TEST(Fronts, TradeCostForTime) {
  PlanQuestion asked =
      question(replaced(small_text(), "spares: 1", "spares: 0") +  // an idle spare would cost most
               replaced(narrow_block(), "  search:\n",
                        "  objective: cost\n  search:\n    nodes: [1, 2, 4]\n"));
  asked.spec.constraints.memory_headroom = Bytes{};  // one node is tight, but cheapest
  asked.pareto = {"cost", "finish_time"};
  const Plan plan = plan_of(asked);
  ASSERT_EQ(plan.fronts.size(), 1U);
  const Front& front = plan.fronts.front();
  EXPECT_EQ(front.x.json_key, "cost_usd");
  double cost = 0.0;
  double finish = std::numeric_limits<double>::infinity();
  std::size_t on = 0;
  for (const FrontPoint& point : front.points) {
    if (point.on_front) {
      EXPECT_GE(point.x, cost);
      EXPECT_LE(point.y, finish);
      cost = point.x;
      finish = point.y;
      ++on;
    }
  }
  EXPECT_GE(on, 2U);  // more nodes finish earlier and cost more
}

}  // namespace
}  // namespace orrery::plan::test
