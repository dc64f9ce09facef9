// Bins and scanlines against the definition, computed slice by slice without any index.

#include "gui/timeline/store/pyramid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "gui/timeline/raster.hpp"
#include "gui/timeline/side_by_side.hpp"
#include "gui/timeline/store/store_builder.hpp"
#include "gui/timeline/store/summary.hpp"
#include "tests/gui/synthetic.hpp"
#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::timeline {
namespace {

constexpr std::uint64_t kSeed = 20'261'121;

// Time of each category of a track in [begin, end), and whether any slice there is abnormal.
struct Naive {
  std::array<std::int64_t, kCategories> time{};
  std::int64_t busy = 0;
  bool abnormal = false;
};

Naive naive_of(const Store& store, TrackId track, std::int64_t begin, std::int64_t end) {
  Naive naive;
  for (const Slice& slice : store.slices_of(track)) {
    const std::int64_t part = std::min(store.end_of(slice), end) - std::max(slice.begin(), begin);
    if (part > 0) {
      naive.time[static_cast<std::size_t>(slice.category())] += part;
      naive.busy += part;
      naive.abnormal = naive.abnormal || slice.is(kAbnormal);
    }
  }
  return naive;
}

void expect_bin(const Naive& naive, RowBin bin, std::int64_t width) {
  EXPECT_EQ(bin.busy, busy_level(naive.busy, width));
  EXPECT_EQ(bin.abnormal(), naive.abnormal);
  if (naive.busy > 0 && !naive.abnormal) {
    const auto shown = static_cast<std::size_t>(bin.category());
    EXPECT_EQ(naive.time[shown], *std::max_element(naive.time.begin(), naive.time.end()));
  }
}

TEST(Pyramid, EveryLevelOfATrackHoldsWhatItsSlicesSay) {
  SCOPED_TRACE(kSeed);
  const auto store = synthetic_store({.rows = 1, .slices = 5000, .seed = kSeed, .abnormal = 0.002});
  const Pyramid& pyramid = store->pyramid();
  ASSERT_TRUE(pyramid.has_bins(0));
  const BinLayout& layout = pyramid.layout(0);
  for (int level = 0; level < layout.levels(); ++level) {
    const std::int64_t width = std::int64_t{1} << (layout.shift + level);
    const BinLevel<RowBin> bins = pyramid.track_level(0, width);
    ASSERT_EQ(bins.shift, layout.shift + level);
    const std::size_t stride = std::max<std::size_t>(bins.bins.size() / 100, 1);
    for (std::size_t i = 0; i < bins.bins.size(); i += stride) {
      const std::int64_t begin = store->range().begin + static_cast<std::int64_t>(i) * width;
      expect_bin(naive_of(*store, 0, begin, begin + width), bins.bins[i], width);
    }
  }
}

TEST(Pyramid, ABlockHoldsTheExtremesOfItsRows) {
  SCOPED_TRACE(kSeed);
  const auto store =
      synthetic_store({.rows = 200, .slices = 100'000, .seed = kSeed, .abnormal = 1e-4});
  const Pyramid& pyramid = store->pyramid();
  ASSERT_GT(pyramid.end_of_blocks(), Pyramid::first_block());
  for (int v = Pyramid::first_block(); v < pyramid.end_of_blocks(); ++v) {
    const TrackId size = TrackId{1} << v;
    for (TrackId block = 0; block * size < 200; ++block) {
      const BinLevel<BlockBin> level =
          pyramid.block_level(v, block, pyramid.finest_block_bin(v) * 4);
      std::vector<RowBin> row(level.bins.size());
      std::vector<BlockBin> all(level.bins.size());
      for (TrackId track = block * size; track < std::min((block + 1) * size, 200U); ++track) {
        bin_track(store->table(), store->tracks()[track], level.shift, row);
        for (std::size_t i = 0; i < row.size(); ++i) {
          all[i] = merge(all[i], block_of(row[i]));
        }
      }
      EXPECT_TRUE(std::equal(all.begin(), all.end(), level.bins.begin())) << v << ' ' << block;
    }
  }
}

TEST(Summary, AScanlineFromSlicesIsThatOfANaiveRasteriser) {
  SCOPED_TRACE(kSeed);
  const auto store = synthetic_store({.rows = 3, .slices = 3000, .seed = kSeed, .abnormal = 0.01});
  RandomStream random(kSeed, 0, Purpose::property_test);
  constexpr int kWidth = 200;
  for (int i = 0; i < 60; ++i) {
    const std::int64_t length = kWidth + static_cast<std::int64_t>(random.uniform_int(20'000'000));
    const auto begin = static_cast<std::int64_t>(random.uniform_int(80'000'000)) - 1'000'000;
    const PixelAxis axis({begin, begin + length}, kWidth);
    const Summariser summariser(*store, axis);
    std::vector<RowBin> columns(kWidth);
    const auto track = static_cast<TrackId>(i % 3);
    summariser.track_from_slices(track, columns);
    for (int x = 0; x < kWidth; ++x) {
      const Naive naive = naive_of(*store, track, axis.edge(x), axis.edge(x + 1));
      const RowBin bin = columns[static_cast<std::size_t>(x)];
      ASSERT_EQ(bin.busy, busy_level(naive.busy, axis.edge(x + 1) - axis.edge(x))) << x;
      ASSERT_EQ(bin.abnormal(), naive.abnormal);
      if (naive.busy > 0 && !naive.abnormal) {
        ASSERT_GT(naive.time[static_cast<std::size_t>(bin.category())], 0);
      }
    }
  }
}

TEST(Summary, ShortSlicesKeepTheirShareOfTheColumns) {
  StoreBuilder builder;
  const RowId row = builder.row("stage 0");
  const NameId name = builder.name("pass");
  constexpr std::int64_t kUnit = 1000;
  constexpr std::int64_t kPasses = 1000;
  for (std::int64_t i = 0; i < kPasses; ++i) {
    const std::int64_t begin = 3 * kUnit * i;
    builder.add(row, {begin, begin + kUnit, name, Category::forward});
    builder.add(row, {begin + kUnit, begin + 3 * kUnit, name, Category::backward});
  }
  const auto store = builder.build();
  constexpr int kWidth = 600;
  const PixelAxis axis(store->range(), kWidth);
  std::vector<RowBin> columns(kWidth);
  Summariser(*store, axis).track(0, columns);
  const auto forward = std::count_if(columns.begin(), columns.end(), [](RowBin bin) {
    return bin.category() == Category::forward;
  });
  EXPECT_NEAR(static_cast<double>(forward), kWidth / 3.0, 2.0);
}

// A column of a wide view shows whole bins: those that begin in it. Its edges are off by less than
// one bin, which is at most as wide as the column, and what lies between them is exact.
TEST(Summary, AWideColumnShowsTheBinsThatBeginInIt) {
  SCOPED_TRACE(kSeed);
  const auto store = synthetic_store({.rows = 1, .slices = 50'000, .seed = kSeed});
  constexpr int kWidth = 500;
  const PixelAxis axis(store->range(), kWidth);
  const Summariser summariser(*store, axis);
  std::vector<RowBin> wide(kWidth);
  summariser.track(0, wide);
  const int shift = store->pyramid().track_level(0, axis.pixel()).shift;
  const std::int64_t width = std::int64_t{1} << shift;
  ASSERT_LE(width, axis.pixel());
  const auto aligned = [&](int column) {
    const std::int64_t from_start = axis.edge(column) - store->range().begin;
    return store->range().begin + (from_start >> shift << shift);
  };
  for (int x = 0; x + 1 < kWidth; ++x) {
    const Naive naive = naive_of(*store, 0, aligned(x), aligned(x + 1));
    const RowBin bin = wide[static_cast<std::size_t>(x)];
    EXPECT_NEAR(bin.busy, busy_level(naive.busy, aligned(x + 1) - aligned(x)), 2) << x;
  }
}

TEST(PixelAxis, EdgesAreExactOverYears) {
  constexpr std::int64_t kYears = 70LL * 365 * 86'400 * 1'000'000'000;
  constexpr int kWidth = 1600;
  const PixelAxis axis({-5, kYears}, kWidth);
  EXPECT_EQ(axis.edge(0), -5);
  EXPECT_EQ(axis.edge(kWidth), kYears);
  for (int x = 0; x < kWidth; ++x) {
    ASSERT_LT(axis.edge(x), axis.edge(x + 1));
    ASSERT_EQ(axis.at(axis.edge(x)), x);
    ASSERT_EQ(axis.at(axis.edge(x + 1) - 1), x);
  }
}

// --- One odd rank among 16,384 ---------------------------------------------------------------

constexpr std::uint32_t kRanks = 16'384;
constexpr std::uint32_t kOdd = 9'137;
constexpr std::int64_t kPeriod = 1'000'000;
constexpr int kSteps = 40;

enum class Oddness { none, idle, busy, other, flagged };

std::shared_ptr<const Store> ranks(Oddness oddness) {
  StoreBuilder builder;
  const NameId name = builder.name("pass");
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const RowId row = builder.row("rank " + std::to_string(rank));
    const bool odd = rank == kOdd;
    for (int step = 0; step < kSteps; ++step) {
      const bool here = odd && step == kSteps / 2;
      const std::int64_t begin = step * kPeriod;
      const Category category =
          here && oddness == Oddness::other ? Category::data_reduce : Category::forward;
      if (!here || oddness != Oddness::idle) {
        const std::int64_t length = here && oddness == Oddness::busy ? kPeriod : kPeriod * 7 / 10;
        builder.add(row, {begin, begin + length, name, category});
      }
      if (here && oddness == Oddness::flagged) {
        builder.add(row,
                    {begin + kPeriod * 8 / 10, begin + kPeriod * 8 / 10 + 1, name, category, true});
      }
    }
  }
  return builder.build();
}

QImage picture(const std::shared_ptr<const Store>& store, TimeRange window, int height) {
  constexpr int kWidth = 1600;
  View view = view_of(store, kWidth, height);
  view.rows().fit_all();
  view.set_window(window);
  QImage image(kWidth, height, QImage::Format_RGB32);
  paint_rows(view, light_palette(), image);
  return image;
}

TEST(Raster, OneOddRankAmong16384ChangesAPixel) {
  const auto alike = ranks(Oddness::none);
  const std::vector<TimeRange> windows = {
      {0, kSteps * kPeriod}, {18 * kPeriod, 23 * kPeriod}, {20 * kPeriod, 21 * kPeriod}};
  for (const Oddness oddness : {Oddness::idle, Oddness::busy, Oddness::other, Oddness::flagged}) {
    const auto store = ranks(oddness);
    for (const TimeRange window : windows) {
      for (const int height : {900, 137}) {
        const QImage expected = picture(alike, window, height);
        const QImage found = picture(store, window, height);
        int changed = 0;
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < found.width(); ++x) {
            changed += expected.pixel(x, y) != found.pixel(x, y) ? 1 : 0;
          }
        }
        EXPECT_GE(changed, 1) << static_cast<int>(oddness) << ' ' << window.length() << ' '
                              << height;
      }
    }
  }
}

TEST(Raster, AFlaggedNanosecondInASecondIsDrawnInItsOwnColour) {
  const QImage image = picture(ranks(Oddness::flagged), {0, kSteps * kPeriod}, 900);
  const Rgb wanted = light_palette().abnormal;
  int found = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      found += image.pixel(x, y) == wanted ? 1 : 0;
    }
  }
  EXPECT_GE(found, 1);
}

TEST(Palette, CategoriesStandOutAndTextOnThemReads) {
  for (const Palette& palette : {light_palette(), dark_palette()}) {
    for (std::size_t i = 1; i < kCategories; ++i) {
      const Rgb color = palette.category[i];
      EXPECT_GE(contrast(color, palette.background), 1.25) << to_string(static_cast<Category>(i));
      EXPECT_GE(contrast(color, text_on(color)), 4.5) << to_string(static_cast<Category>(i));
    }
    EXPECT_GE(contrast(palette.text, palette.panel), 7.0);
    EXPECT_GE(contrast(palette.faint_text, palette.panel), 4.5);
    EXPECT_GE(contrast(palette.abnormal, palette.background), 3.0);
  }
}

// Timelines on one axis: every slice keeps its row, its length and its place in its window.

using trace::testing::KinetoWriter;

// "stage 0" with compute [100, 300), [300, 500) and a message from the first to the second, a
// counter and a mark.
std::shared_ptr<const Store> small_store() {
  StoreBuilder builder;
  const RowId stage = builder.group("stage 0");
  const RowId row = builder.row("compute", stage);
  const PendingSlice first =
      builder.add(row, {100, 300, builder.name("forward"), Category::forward});
  const PendingSlice second =
      builder.add(row, {300, 500, builder.name("backward"), Category::backward});
  builder.flow(first, second, FlowKind::message);
  builder.counter("memory", "GB", {{100, 1.0}, {300, 2.0}}, stage);
  builder.mark(400, MarkKind::checkpoint, "save");
  return builder.build();
}

std::vector<std::string> row_names(const Store& store) {
  std::vector<std::string> names;
  for (const Row& row : store.rows()) {
    names.push_back(std::string(row.depth * 2, ' ') + row.name);
  }
  return names;
}

TEST(SideBySide, PutsStoresBelowOneAnotherFromZero) {
  const auto store = small_store();
  SideBySide sides;
  sides.add({"A", store, {100, 500}});
  sides.add({"B", store, {200, 400}});
  const auto both = sides.build();
  EXPECT_EQ(row_names(*both),
            (std::vector<std::string>{"A", "  stage 0", "    compute", "    memory", "B",
                                      "  stage 0", "    compute", "    memory"}));
  ASSERT_EQ(both->slices().size(), 4U);
  EXPECT_EQ(both->slices_of(0)[0].begin(), 0);
  EXPECT_EQ(both->end_of(both->slices_of(0)[1]), 400);
  // B is cut at both ends of its window.
  EXPECT_EQ(both->slices_of(1)[0].begin(), 0);
  EXPECT_EQ(both->end_of(both->slices_of(1)[0]), 100);
  EXPECT_EQ(both->end_of(both->slices_of(1)[1]), 200);
  EXPECT_EQ(both->flows().size(), 2U);
  ASSERT_EQ(both->marks().size(), 2U);
  EXPECT_EQ(both->names()[both->marks()[0].name], "B: save");
  EXPECT_EQ(both->counters()[1].value_at(100), 2.0);
}

// Slices of one name may have different notes on the two sides; ranks come along.
TEST(SideBySide, KeepsNotesAndRanks) {
  const auto noted = [](const std::string& note) {
    StoreBuilder builder;
    const RowId stage = builder.group("stage 0");
    const RowId row = builder.row("compute", stage);
    const NameId name = builder.name("qkv fprop", note);
    builder.add(row, {0, 10, name, Category::forward});
    builder.set_ranks(stage, {0, 1});
    return builder.build();
  };
  SideBySide sides;
  sides.add({"A", noted("400 TFLOP/s"), {0, 10}});
  sides.add({"B", noted("500 TFLOP/s"), {0, 10}});
  const auto both = sides.build();
  ASSERT_EQ(both->slices().size(), 2U);
  EXPECT_EQ(both->note_of(both->slices()[0]), "400 TFLOP/s");
  EXPECT_EQ(both->note_of(both->slices()[1]), "500 TFLOP/s");
  EXPECT_EQ(both->name_of(both->slices()[1]), "qkv fprop");
  EXPECT_EQ(both->ranks_of(1).size(), 2U);
}

TEST(SideBySide, MakesNoRowsForWhatLiesOutsideTheWindow) {
  StoreBuilder builder;
  builder.add(builder.row("early"), {0, 10, builder.name("a"), Category::other});
  builder.add(builder.row("late"), {100, 110, builder.name("b"), Category::other});
  SideBySide sides;
  sides.add({"A", builder.build(), {50, 200}});
  EXPECT_EQ(row_names(*sides.build()), (std::vector<std::string>{"A", "  late"}));
}

TEST(SideBySide, AMeasuredRankHasTheRowsOfASimulatedStep) {
  KinetoWriter writer;
  writer.kernel("gemm", 10.0, 20.0)
      .kernel("ncclDevKernel_AllReduce", 15.0, 30.0, {.stream = 20})
      .kernel("ncclDevKernel_AllGather", 20.0, 5.0, {.stream = 21, .description = "mesh_tp"})
      .kernel("Memcpy HtoD (Pinned -> Device)", 40.0, 5.0, {.category = "gpu_memcpy"})
      .kernel("gemm", 90.0, 20.0);
  trace::AxisFinder axes({}, {});
  SideBySide sides;
  sides.add({"measured", writer.trace(), 0, {10'000, 80'000}}, axes);
  const auto store = sides.build();
  EXPECT_EQ(row_names(*store),
            (std::vector<std::string>{"measured", "  compute", "  tensor communication",
                                      "  data communication", "  copies"}));
  EXPECT_EQ(store->slices_of(0)[0].begin(), 0);
  EXPECT_EQ(store->duration_of(store->slices_of(0)[0]), 20'000);
  EXPECT_EQ(store->slices_of(1)[0].category(), Category::tensor);
  EXPECT_EQ(store->slices_of(2)[0].category(), Category::data_reduce);
  EXPECT_EQ(store->slices_of(3)[0].category(), Category::copy);
}

}  // namespace
}  // namespace orrery::timeline
