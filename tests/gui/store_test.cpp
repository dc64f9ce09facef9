// Slices, lanes, rows, counters: what goes in comes out, sorted and without overlap.

#include "gui/timeline/store/store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/gui/synthetic.hpp"

namespace orrery::timeline {
namespace {

TEST(Store, OverlappingSlicesGetLanesAndTracksNeverOverlap) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  RandomStream random(kSeed, 0, Purpose::property_test);
  StoreBuilder builder;
  const RowId row = builder.row("row");
  constexpr int kSlices = 2000;
  for (int i = 0; i < kSlices; ++i) {
    const auto begin = static_cast<std::int64_t>(random.uniform_int(100'000));
    const auto length = static_cast<std::int64_t>(random.uniform_int(200));
    builder.add(row, {begin, begin + length, builder.name("s"), Category::forward});
  }
  const auto store = builder.build();
  EXPECT_EQ(store->slices().size(), std::size_t{kSlices});
  EXPECT_GT(store->tracks().size(), 1U);
  for (TrackId track = 0; track < store->tracks().size(); ++track) {
    const auto slices = store->slices_of(track);
    for (std::size_t i = 1; i < slices.size(); ++i) {
      EXPECT_LE(store->end_of(slices[i - 1]), slices[i].begin());
    }
  }
}

TEST(Store, NestedSlicesStandBelowTheirCaller) {
  StoreBuilder builder;
  const RowId row = builder.row("thread");
  builder.add(row, {20, 30, builder.name("inner"), Category::host});
  builder.add(row, {10, 50, builder.name("outer"), Category::host});
  builder.add(row, {10, 15, builder.name("first"), Category::host});
  const auto store = builder.build();
  ASSERT_EQ(store->tracks().size(), 2U);
  EXPECT_EQ(store->name_of(store->slices_of(0)[0]), "outer");
  EXPECT_EQ(store->name_of(store->slices_of(1)[0]), "first");
  EXPECT_EQ(store->name_of(store->slices_of(1)[1]), "inner");
}

TEST(Store, WeeksAndNanosecondsKeepTheirLength) {
  constexpr std::int64_t kEightWeeks = 8LL * 7 * 86'400 * 1'000'000'000;
  constexpr std::int64_t kJustShort = std::numeric_limits<std::uint32_t>::max();
  StoreBuilder builder;
  const RowId row = builder.row("row");
  builder.add(row, {0, kEightWeeks, builder.name("long"), Category::training});
  builder.add(row, {kEightWeeks, kEightWeeks + 1, builder.name("short"), Category::training});
  builder.add(row, {kEightWeeks + 5, kEightWeeks + 5, builder.name("none"), Category::training});
  builder.add(row,
              {kEightWeeks + 9, kEightWeeks + 9 + kJustShort, builder.name("x"), Category::load});
  const auto store = builder.build();
  const auto slices = store->slices_of(0);
  EXPECT_EQ(store->duration_of(slices[0]), kEightWeeks);
  EXPECT_EQ(store->duration_of(slices[1]), 1);
  EXPECT_EQ(store->duration_of(slices[2]), 0) << "an instant is drawn 1 ns wide but takes none";
  EXPECT_EQ(store->duration_of(slices[3]), kJustShort);
  EXPECT_EQ(store->range(), (TimeRange{0, kEightWeeks + 9 + kJustShort}));
}

TEST(Store, RowsFormATreeInTheirOrder) {
  StoreBuilder builder;
  const RowId second = builder.group("second");
  const RowId first = builder.group("first");
  builder.set_order(second, 2);
  builder.set_order(first, 1);
  const RowId a = builder.row("a", second);
  builder.counter("memory", "GB", {{0, 1.0}, {5, 2.0}}, second);
  const RowId b = builder.row("b", first);
  builder.add(a, {0, 1, builder.name("x"), Category::forward});
  builder.add(b, {0, 1, builder.name("y"), Category::forward});
  const auto store = builder.build();
  ASSERT_EQ(store->rows().size(), 5U);
  EXPECT_EQ(store->rows()[0].name, "first");
  EXPECT_EQ(store->rows()[1].name, "b");
  EXPECT_EQ(store->rows()[2].name, "second");
  EXPECT_EQ(store->rows()[2].end, 5U);
  EXPECT_EQ(store->rows()[2].tracks, 1U);
  EXPECT_EQ(store->rows()[4].kind, RowKind::counter);
  EXPECT_EQ(store->rows()[4].parent, 2U);
}

TEST(Store, FlowsFollowTheirSlicesThroughSorting) {
  StoreBuilder builder;
  const RowId a = builder.row("a");
  const RowId b = builder.row("b");
  const PendingSlice late = builder.add(a, {100, 110, builder.name("late"), Category::forward});
  builder.add(a, {0, 10, builder.name("early"), Category::forward});
  const PendingSlice end = builder.add(b, {120, 130, builder.name("end"), Category::pipeline});
  builder.flow(late, end, FlowKind::message);
  builder.flow(late, builder.add(b, {9, 3, 0, Category::other}), FlowKind::message);
  const auto store = builder.build();
  ASSERT_EQ(store->flows().size(), 1U);
  EXPECT_EQ(store->name_of(store->slices()[store->flows()[0].from]), "late");
  EXPECT_EQ(store->name_of(store->slices()[store->flows()[0].to]), "end");
  EXPECT_EQ(builder.refused().negative, 1U);
  EXPECT_EQ(builder.refused().bad_flows, 1U);
}

TEST(Store, FindsTheFirstSliceThatEndsLaterWhereverItIs) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(kSeed);
  // Uneven on purpose: dense at the begin, sparse at the end.
  StoreBuilder builder;
  const RowId row = builder.row("row");
  std::int64_t time = 0;
  for (int i = 0; i < 300; ++i) {
    builder.add(row, {time, time + 1 + i, builder.name("s"), Category::forward});
    time += 2 + i * i;
  }
  const auto store = builder.build();
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int i = 0; i < 5000; ++i) {
    const auto at =
        static_cast<std::int64_t>(random.uniform_int(static_cast<std::uint64_t>(time) + 200)) - 100;
    std::uint32_t naive = 0;
    while (naive < 300 && store->end_of(store->slices()[naive]) <= at) {
      ++naive;
    }
    ASSERT_EQ(store->first_ending_after(0, at), naive) << at;
  }
}

TEST(Store, TakesAtMostTwentyFourBytesPerSlice) {
  for (const std::uint32_t rows : {16U, 256U, 1640U}) {
    const auto store = synthetic_store({.rows = rows, .slices = 1'000'000});
    const double each =
        static_cast<double>(store->bytes()) / static_cast<double>(store->slices().size());
    EXPECT_LE(each, 24.0) << rows << " rows";
  }
}

TEST(Store, BuildingCanBeCancelledAndReportsProgress) {
  StoreBuilder builder;
  fill_synthetic(builder, {.rows = 500, .slices = 100'000});
  std::stop_source stop;
  double last = 0.0;
  const auto store = builder.build(stop.get_token(), [&](double share) {
    EXPECT_GE(share, last);
    last = share;
    if (share > 0.5) {
      stop.request_stop();
    }
  });
  EXPECT_EQ(store, nullptr);
  EXPECT_GT(last, 0.5);
}

TEST(Counter, ExtremesOfAnyStretchAreThoseOfItsSamples) {
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE(kSeed);
  RandomStream random(kSeed, 0, Purpose::property_test);
  std::vector<Sample> samples;
  for (std::int64_t t = 0; t < 20'000; ++t) {
    samples.push_back({10 * t, random.uniform01()});
  }
  const Counter counter("c", "", samples);
  for (int i = 0; i < 300; ++i) {
    const auto begin = static_cast<std::int64_t>(random.uniform_int(200'000));
    const auto end = begin + 1 + static_cast<std::int64_t>(random.uniform_int(60'000));
    Extremes naive{2.0, -1.0};
    for (const Sample& sample : samples) {
      if (sample.time < end && sample.time + 10 > begin) {
        naive.least = std::min(naive.least, sample.value);
        naive.greatest = std::max(naive.greatest, sample.value);
      }
    }
    if (begin >= samples.back().time) {
      naive = {samples.back().value, samples.back().value};
    }
    const auto found = counter.within(begin, end);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->least, naive.least) << begin << ' ' << end;
    EXPECT_EQ(found->greatest, naive.greatest);
  }
  EXPECT_FALSE(counter.within(-10, 0).has_value());
  EXPECT_FALSE(counter.value_at(-1).has_value());
  EXPECT_EQ(counter.value_at(15), samples[1].value);
}

}  // namespace
}  // namespace orrery::timeline
