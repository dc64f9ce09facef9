// Sets of spans: closed forms, and random sets against a clock that ticks through every nanosecond.

#include <gtest/gtest.h>

#include <bitset>

#include "sim/answer/trace/gpu_activity.hpp"
#include "sim/base/random.hpp"

namespace orrery::trace {
namespace {

using Spans = std::vector<Span>;

TEST(SpanSet, MergesWhatOverlapsOrTouchesAndDropsWhatIsEmpty) {
  const SpanSet set = SpanSet::of({{5, 9}, {0, 3}, {3, 4}, {8, 12}, {20, 20}, {7, 6}});
  EXPECT_EQ(set.spans(), (Spans{{0, 4}, {5, 12}}));
  EXPECT_EQ(set.length(), 11);
}

TEST(SpanSet, CommunicationSplitsIntoHiddenAndExposed) {
  // Compute [0, 10) and [12, 20); communication [5, 15): hidden 5 + 3, exposed 2.
  const SpanSet compute = SpanSet::of({{0, 10}, {12, 20}});
  const SpanSet communication = SpanSet::of({{5, 15}});
  EXPECT_EQ(communication.common(compute).spans(), (Spans{{5, 10}, {12, 15}}));
  EXPECT_EQ(communication.without(compute).spans(), (Spans{{10, 12}}));
  EXPECT_EQ(compute.unite(communication).spans(), (Spans{{0, 20}}));
}

TEST(SpanSet, AWindowCutsTheSpansAtItsEnds) {
  const SpanSet set = SpanSet::of({{0, 4}, {6, 10}, {12, 20}});
  EXPECT_EQ(set.within({2, 13}).spans(), (Spans{{2, 4}, {6, 10}, {12, 13}}));
  EXPECT_EQ(set.within({4, 6}).spans(), Spans{});
  EXPECT_EQ(set.within({30, 40}).spans(), Spans{});
}

constexpr std::int64_t kClock = 256;
using Clock = std::bitset<kClock>;

Clock ticks(const SpanSet& set) {
  Clock clock;
  for (const Span& span : set.spans()) {
    for (std::int64_t t = span.begin; t < span.end; ++t) {
      clock.set(static_cast<std::size_t>(t));
    }
  }
  return clock;
}

bool is_normal(const SpanSet& set) {
  const Spans& spans = set.spans();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].length() <= 0 || (i > 0 && spans[i].begin <= spans[i - 1].end)) {
      return false;
    }
  }
  return true;
}

TEST(SpanSet, AgreesWithAClockThatTicksThroughEveryNanosecond) {
  constexpr std::uint64_t kSeed = 11;
  RandomStream random(kSeed, 0, Purpose::property_test, 0);
  const auto draw = [&random] {
    Spans spans;
    const auto count = static_cast<int>(random.uniform01() * 20.0);
    for (int i = 0; i < count; ++i) {
      const auto begin = static_cast<std::int64_t>(random.uniform01() * 240.0);
      spans.push_back({begin, begin + static_cast<std::int64_t>(random.uniform01() * 16.0)});
    }
    return SpanSet::of(std::move(spans));
  };
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    const SpanSet a = draw();
    const SpanSet b = draw();
    EXPECT_TRUE(is_normal(a));
    EXPECT_EQ(ticks(a.unite(b)), ticks(a) | ticks(b));
    EXPECT_EQ(ticks(a.common(b)), ticks(a) & ticks(b));
    EXPECT_EQ(ticks(a.without(b)), ticks(a) & ~ticks(b));
    EXPECT_EQ(a.length(), a.common(b).length() + a.without(b).length());
    EXPECT_EQ(a.unite(b).length(), a.length() + b.without(a).length());
    const auto from = static_cast<std::int64_t>(random.uniform01() * 200.0);
    EXPECT_EQ(ticks(a.within({from, from + 40})),
              ticks(a) & ticks(SpanSet::of({{from, from + 40}})));
  }
}

}  // namespace
}  // namespace orrery::trace
