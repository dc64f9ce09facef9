// Zoom, levels, picking, rows, statistics: the timeline without a widget.

#include "gui/timeline/view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gui/timeline/raster.hpp"
#include "sim/base/text/time_axis.hpp"
#include "tests/gui/synthetic.hpp"

namespace orrery::timeline {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStep = 6 * kSecond;
constexpr std::int64_t kDays = 54LL * 86'400 * kSecond;
constexpr int kWidth = 1000;

// A run of 54 days of training with one hour lost in the middle, and a step of two passes.
Levels run_and_step() {
  const std::int64_t middle = kDays / 2;
  StoreBuilder run;
  const RowId row = run.row("training");
  run.add(row, {0, middle, run.name("training"), Category::training});
  run.add(row, {middle + 3600 * kSecond, kDays, run.name("training"), Category::training});
  run.mark(middle, MarkKind::failure, "GPU");
  StoreBuilder step;
  const RowId stage = step.row("stage 0");
  step.add(stage, {0, 2 * kSecond, step.name("forward 0"), Category::forward});
  step.add(stage, {2 * kSecond, kStep, step.name("backward 0"), Category::backward});
  Levels levels;
  levels.push_back({"run", "run", run.build(), {}, ""});
  const std::vector<Stretch> stretches = {{{0, middle}, 1},
                                          {{middle + 3600 * kSecond, kDays}, middle / kStep + 1}};
  levels.push_back({"step", "step", step.build(), Repetition(stretches, kStep), ""});
  return levels;
}

View run_view() {
  View view(run_and_step());
  view.resize(kWidth, 400);
  view.frame_all();
  return view;
}

TEST(View, ZoomKeepsTheTimeUnderTheCursor) {
  View view = run_view();
  for (const double column : {0.0, 123.5, 999.0}) {
    view.frame_all();
    const std::int64_t before = view.time_at(column);
    view.zoom_at(column, 0.5);
    const auto pixel = static_cast<double>(view.window().length()) / kWidth;
    EXPECT_NEAR(static_cast<double>(view.time_at(column)), static_cast<double>(before), pixel);
  }
}

TEST(View, ZoomGoesFromWeeksToMicrosecondsAndChangesTheLevelOnce) {
  View view = run_view();
  EXPECT_EQ(view.level(), 0U);
  int changes = 0;
  std::size_t level = 0;
  for (int i = 0; i < 200; ++i) {
    view.zoom_at(317.3, 0.8);
    changes += view.level() != level ? 1 : 0;
    level = view.level();
  }
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(level, 1U);
  EXPECT_EQ(view.window().length(), kWidth) << "one nanosecond per column";
  EXPECT_GE(view.window().begin, view.origin());
  EXPECT_EQ(view.origin() % kStep, 0);
  EXPECT_EQ(view.occurrence(1).number, view.origin() / kStep + 1);
  for (int i = 0; i < 300; ++i) {
    view.zoom_at(317.3, 1.25);
  }
  EXPECT_EQ(view.level(), 0U);
  EXPECT_GE(view.window().length(), kDays);
}

TEST(View, TheLevelDoesNotFlipWhileOneStepFillsTheWindow) {
  View view = run_view();
  view.set_window({600 * kSecond, 600 * kSecond + kStep});
  ASSERT_EQ(view.level(), 1U);
  for (int i = 0; i < 20; ++i) {
    view.zoom_at(500.0, i % 2 == 0 ? 1.2 : 1.0 / 1.2);
    EXPECT_EQ(view.level(), 1U);
  }
  view.zoom_at(500.0, 1.5);
  EXPECT_EQ(view.level(), 0U);
}

TEST(View, MovingPastTheEndOfAStepShowsTheNextOne) {
  View view = run_view();
  view.set_window({600 * kSecond, 600 * kSecond + kStep});
  const std::int64_t number = view.occurrence(1).number;
  view.pan(kWidth * 0.3);
  EXPECT_EQ(view.occurrence(1).number, number);
  const auto copies = view.copies(view.axis());
  ASSERT_EQ(copies.size(), 2U) << "the rest of this step and the begin of the next one";
  EXPECT_EQ(copies[1].occurrence.number, number + 1);
  EXPECT_EQ(copies[0].axis.width() + copies[1].axis.width(), kWidth);
  view.pan(kWidth * 0.4);
  EXPECT_EQ(view.occurrence(1).number, number + 1);
}

TEST(View, ThereIsNoStepWhereTheRunDoesNotTrain) {
  View view = run_view();
  const std::int64_t lost = kDays / 2 + 1800 * kSecond;
  view.set_window({lost, lost + kSecond});
  EXPECT_EQ(view.level(), 0U);
  view.go_to_level(1);
  EXPECT_EQ(view.level(), 1U) << "on request the nearest step is shown";
  EXPECT_EQ(view.occurrence(1).range.length(), kStep);
}

TEST(View, PicksTheSliceUnderTheCursorInEveryRepetition) {
  View view = run_view();
  view.set_window({600 * kSecond + 3 * kSecond, 600 * kSecond + 9 * kSecond});
  const Hit backward = view.pick(100.0, 5.0);
  ASSERT_TRUE(backward.slice.has_value());
  EXPECT_EQ(view.store().name_of(view.store().slices()[*backward.slice]), "backward 0");
  const Hit forward = view.pick(600.0, 5.0);  // 6.6 s: in the next step
  ASSERT_TRUE(forward.slice.has_value());
  EXPECT_EQ(view.store().name_of(view.store().slices()[*forward.slice]), "forward 0");
  EXPECT_EQ(forward.origin, 606 * kSecond);
  view.select(forward);
  EXPECT_EQ(view.origin(), 606 * kSecond);
  EXPECT_EQ(view.describe(forward)[0], "forward 0");
  EXPECT_EQ(view.describe(forward)[2], "takes 2 s");
}

TEST(View, NextAndPreviousSliceWalkTheRow) {
  View view = view_of(synthetic_store({.rows = 3, .slices = 300}), kWidth, 400);
  EXPECT_TRUE(view.step_selection(true));
  const SliceId first = *view.selected();
  EXPECT_FALSE(view.step_selection(false));
  for (int i = 0; i < 99; ++i) {
    EXPECT_TRUE(view.step_selection(true));
  }
  EXPECT_EQ(*view.selected(), first + 99);
  EXPECT_FALSE(view.step_selection(true)) << "the last slice of the row";
  view.frame_selection();
  const Slice& slice = view.store().slices()[*view.selected()];
  EXPECT_LE(view.window().begin, slice.begin());
  EXPECT_GE(view.window().end, view.store().end_of(slice));
}

TEST(RowLayout, CollapsingPinningAndScrollingKeepTheirPromises) {
  StoreBuilder builder;
  for (int g = 0; g < 10; ++g) {
    const RowId group = builder.group("group " + std::to_string(g));
    for (int r = 0; r < 100; ++r) {
      const RowId row = builder.row("row", group);
      builder.add(row, {r, r + 10, builder.name("s"), Category::forward});
    }
  }
  View view = view_of(builder.build(), kWidth, 500);
  RowLayout& rows = view.rows();
  EXPECT_EQ(rows.scrolled().size(), 1010U);
  rows.set_collapsed(0, true);
  EXPECT_EQ(rows.scrolled().size(), 910U);
  EXPECT_TRUE(rows.scrolled()[0].collapsed);
  rows.set_pinned(150, true);
  EXPECT_EQ(rows.scrolled().size(), 909U);
  EXPECT_EQ(rows.at(3.0)->row->row, 150U);
  rows.set_scroll(1e9);
  EXPECT_DOUBLE_EQ(rows.scroll(), rows.largest_scroll());
  EXPECT_EQ(rows.at(499.0)->row->row, 1009U);
  rows.reveal({50});
  EXPECT_FALSE(rows.is_collapsed(0)) << "opened to show the row";
  const auto hit = rows.at(rows.pinned_height() + 1.0);
  EXPECT_EQ(hit->row->row, 50U);
  rows.fit_all();
  EXPECT_NEAR(rows.total_height() + rows.pinned_height(), 500.0, 1e-6);
  EXPECT_EQ(rows.between(3, 5), (std::vector<RowId>{3, 4, 5}));
}

// A group that stands for ranks opens to them, a rank to the rows of the group: same tracks, other
// lines.
TEST(RowLayout, AGroupOpensToTheRanksThatShareItsRows) {
  StoreBuilder builder;
  const RowId stage = builder.group("stage 0");
  const RowId compute = builder.row("compute", stage);
  builder.add(compute, {0, kSecond, builder.name("forward"), Category::forward});
  builder.counter("memory", "GB", {{0, 1.0}}, stage);
  builder.set_ranks(stage, {4, 5, 12, 13});
  builder.row("after");
  View view = view_of(builder.build(), kWidth, 500);
  RowLayout& rows = view.rows();
  const auto names = [&] {
    std::vector<std::string> all;
    for (const LaidRow& laid : rows.scrolled()) {
      all.push_back(std::string(2 * row_depth(view.store(), laid.place()), ' ') +
                    row_name(view.store(), laid.place()));
    }
    return all;
  };
  const std::vector<std::string> closed = {"stage 0", "  compute", "  memory", "  4 ranks",
                                           "after"};
  EXPECT_EQ(names(), closed);
  rows.toggle(rows.scrolled()[3].place());
  EXPECT_EQ(names(),
            (std::vector<std::string>{"stage 0", "  compute", "  memory", "  4 ranks", "    rank 4",
                                      "    rank 5", "    rank 12", "    rank 13", "after"}));
  rows.toggle(rows.scrolled()[6].place());
  ASSERT_EQ(rows.scrolled().size(), 11U);
  EXPECT_EQ(names()[6], "    rank 12");
  EXPECT_EQ(names()[7], "      compute");
  EXPECT_EQ(names()[8], "      memory");
  // The same slice on the line of the rank as on that of its stage.
  rows.set_row_height(20.0);
  const Hit own = view.pick(kWidth / 2.0, rows.top_of(rows.scrolled()[1], false) + 5.0);
  const Hit of_rank = view.pick(kWidth / 2.0, rows.top_of(rows.scrolled()[7], false) + 5.0);
  ASSERT_TRUE(of_rank.slice.has_value());
  EXPECT_EQ(of_rank.slice, own.slice);
  EXPECT_EQ(view.describe(own).back(), "stage 0 / compute");
  EXPECT_EQ(view.describe(of_rank).back(), "stage 0 / rank 12 / compute");
  rows.toggle(rows.scrolled()[3].place());
  EXPECT_EQ(names(), closed);
  rows.set_collapsed(stage, true);
  EXPECT_EQ(names(), (std::vector<std::string>{"stage 0", "after"}));
}

TEST(View, AFinerPictureShowsTheSame) {
  View view(run_and_step());
  view.resize(kWidth, 300.0);
  view.frame_all();
  const View fine = view.magnified(2.0, 2 * kWidth);
  EXPECT_EQ(fine.columns(), 2 * kWidth);
  EXPECT_EQ(fine.window(), view.window());
  EXPECT_DOUBLE_EQ(fine.rows().row_height(), 2.0 * view.rows().row_height());
  EXPECT_EQ(fine.pick(200.0, 10.0).slice, view.pick(100.0, 5.0).slice);
}

TEST(Statistics, AreThoseOfTheSlicesThatTouchTheArea) {
  constexpr std::uint64_t kSeed = 99;
  SCOPED_TRACE(kSeed);
  const auto store = synthetic_store({.rows = 4, .slices = 2000, .seed = kSeed});
  const Area area{{5'000'000, 21'000'000}, {1, 3}};
  std::vector<std::int64_t> durations;
  std::int64_t total = 0;
  std::map<NameId, std::uint64_t> names;
  for (const TrackId track : {1U, 3U}) {
    for (const Slice& slice : store->slices_of(track)) {
      if (store->end_of(slice) > area.range.begin && slice.begin() < area.range.end) {
        durations.push_back(store->duration_of(slice));
        total += std::min(store->end_of(slice), area.range.end) -
                 std::max(slice.begin(), area.range.begin);
        ++names[slice.name()];
      }
    }
  }
  std::sort(durations.begin(), durations.end());
  const AreaStatistics all = area_statistics(*store, area);
  const std::size_t n = durations.size();
  EXPECT_EQ(all.count, n);
  EXPECT_EQ(all.total, total);
  EXPECT_EQ(all.least, durations.front());
  EXPECT_EQ(all.greatest, durations.back());
  EXPECT_EQ(all.p50, durations[(n + 1) / 2 - 1]);
  EXPECT_EQ(all.p99,
            durations[static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(n))) - 1]);
  EXPECT_EQ(all.by_name.size(), names.size());
  for (const NamedStatistics& row : all.by_name) {
    EXPECT_EQ(row.count, names[row.name]);
  }
}

TEST(Search, FindsNamesInAnyCase) {
  const auto store = synthetic_store({.rows = 2, .slices = 1000});
  const std::vector<SliceId> found = search(*store, "OPERATION 17");
  EXPECT_GT(found.size(), 3U);
  EXPECT_TRUE(search(*store, "nothing of that name").empty());
}

TEST(TimeText, LabelsAreRoundFromWeeksToNanoseconds) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1'500), "1.5 us");
  EXPECT_EQ(duration_text(12'345'678), "12.35 ms");
  EXPECT_EQ(duration_text(6 * kSecond), "6 s");
  const TimeTicks days = ticks_of(0, kDays, 0, 9);
  EXPECT_EQ(days.distance, 7LL * 86'400 * kSecond);
  EXPECT_EQ(days.ticks[1].label, "7 d");
  EXPECT_TRUE(days.base.empty());
  const TimeTicks close = ticks_of(kDays / 2 + 7, kDays / 2 + 5'007, 0, 10);
  EXPECT_EQ(close.distance, 500);
  EXPECT_EQ(close.base, "from 27 d");
  EXPECT_EQ(close.ticks[0].label, "+0.5 us");
}

TEST(TimeText, AxesOfARunTellDatesAndTimesOfDay) {
  constexpr std::int64_t kMinute = 60 * kSecond;
  constexpr std::int64_t kDay = 1440 * kMinute;
  constexpr std::int64_t kStart = 1'709'650'800;  // 2024-03-05T15:00Z
  EXPECT_EQ(moment_text(3 * kMinute, kStart), "2024-03-05T15:03Z");
  EXPECT_EQ(moment_text(3 * kMinute, std::nullopt), "3 min");
  const TimeTicks days = ticks_of(0, 9 * kDay, 0, 9, kStart);
  EXPECT_EQ(days.ticks.front().time, 9 * 60 * kMinute);  // the first midnight
  EXPECT_EQ(days.ticks.front().label, "2024-03-06");
  EXPECT_EQ(days.base, "dates in UTC");
  const TimeTicks hours = ticks_of(0, kDay, 0, 9, kStart);
  EXPECT_EQ(hours.ticks[0].label, "15:00");
  EXPECT_EQ(hours.ticks[3].label, "2024-03-06");
  EXPECT_EQ(hours.base, "2024-03-05 UTC");
  const TimeTicks close = ticks_of(kMinute + kSecond / 2, kMinute + kSecond, 0, 5, kStart);
  EXPECT_EQ(close.base, "2024-03-05 15:01:00 UTC");
  EXPECT_EQ(close.ticks[1].label, "+0.6 s");
}

TEST(TimeText, LabelsTellNoMoreDigitsThanCanBeRead) {
  constexpr std::int64_t kMicrosecond = 1000;
  const auto first = [](std::int64_t begin, std::int64_t end) {
    const TimeTicks ticks = ticks_of(begin, end, 0, 9);
    return ticks.base + "|" + ticks.ticks[0].label;
  };
  EXPECT_EQ(first(96'500 * kMicrosecond, 97'000 * kMicrosecond), "|96.5 ms");
  EXPECT_EQ(first(6 * kSecond + 100'007, 6 * kSecond + 102'007), "from 6 s 100 us|+0.5 us");
  EXPECT_EQ(first(-20 * kMicrosecond, 60 * kMicrosecond), "|-20 us");
  EXPECT_EQ(first(60'300 * kSecond, 61'200 * kSecond), "|16 h 46 min");
  EXPECT_EQ(first((86'400 * 22 + 60'300) * kSecond, (86'400 * 22 + 61'200) * kSecond),
            "from 22 d|+16 h 46 min");
}

TEST(Palette, NoTwoActivitiesOfATimelineShareAColour) {
  for (const Palette& palette : {light_palette(), dark_palette()}) {
    std::set<Rgb> step;   // with what its operations are
    std::set<Rgb> waits;  // in the hues of their causes, hatched
    std::set<Rgb> run = {palette.of(Category::training)};
    for (auto kind = static_cast<std::size_t>(Category::kernel); kind < kCategories; ++kind) {
      const bool of_run = kind >= static_cast<std::size_t>(Category::evaluation) &&
                          kind != static_cast<std::size_t>(Category::stall);
      const Rgb color = palette.category[kind];
      const bool hatched = is_wait(static_cast<Category>(kind)) && !of_run;
      EXPECT_TRUE((of_run    ? run
                   : hatched ? waits
                             : step)
                      .insert(color)
                      .second)
          << to_string(static_cast<Category>(kind));
    }
  }
}

}  // namespace
}  // namespace orrery::timeline
