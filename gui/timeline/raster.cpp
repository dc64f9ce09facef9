#include "gui/timeline/raster.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "gui/timeline/store/summary.hpp"
#include "sim/base/check.hpp"
#include "sim/base/parallel.hpp"

namespace orrery::timeline {

namespace {

constexpr Rgb kOpaque = 0xff000000U;
constexpr Rgb kWhite = 0xffffffffU;
constexpr Rgb kBlack = 0xff000000U;

Palette with_categories(Palette palette) {
  for (std::size_t kind = 1; kind < kCategories; ++kind) {
    const CategoryLook& look = kCategoryLooks[kind];
    palette.category[kind] = palette.dark ? look.dark : look.light;
  }
  palette.category[0] = palette.background;
  return palette;
}

double channel(Rgb color, unsigned shift) { return static_cast<double>((color >> shift) & 0xffU); }

double luminance(Rgb color) {
  const auto linear = [](double value) {
    const double v = value / 255.0;
    return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(channel(color, 16)) + 0.7152 * linear(channel(color, 8)) +
         0.0722 * linear(channel(color, 0));
}

}  // namespace

Palette light_palette() {
  return with_categories({.background = 0xffffffffU,
                          .alternate = 0xfff6f7f9U,
                          .panel = 0xffeef1f4U,
                          .text = 0xff1a1f26U,
                          .faint_text = 0xff57626eU,
                          .line = 0xffd3d9e0U,
                          .selection = 0xff1a1f26U,
                          .abnormal = 0xffe0007aU});
}

Palette dark_palette() {
  return with_categories({.dark = true,
                          .background = 0xff14181dU,
                          .alternate = 0xff191e24U,
                          .panel = 0xff1c2127U,
                          .text = 0xffe5eaf0U,
                          .faint_text = 0xffa0abb7U,
                          .line = 0xff39424cU,
                          .selection = 0xffffffffU,
                          .abnormal = 0xffff4fb0U});
}

Palette dimmed(Palette palette, CategorySet lit) {
  constexpr double kRest = 0.3;
  for (std::size_t kind = 1; kind < kCategories && lit != 0; ++kind) {
    if ((lit >> kind & 1U) == 0) {
      palette.category[kind] = blend(palette.background, palette.category[kind], kRest);
    }
  }
  return palette;
}

Rgb blend(Rgb from, Rgb to, double share) {
  Rgb mixed = kOpaque;
  for (const unsigned shift : {0U, 8U, 16U}) {
    const double value = channel(from, shift) + (channel(to, shift) - channel(from, shift)) * share;
    mixed |= static_cast<Rgb>(std::lround(std::clamp(value, 0.0, 255.0))) << shift;
  }
  return mixed;
}

double contrast(Rgb a, Rgb b) {
  const double first = luminance(a);
  const double second = luminance(b);
  const double low = std::min(first, second);
  const double high = std::max(first, second);
  return (high + 0.05) / (low + 0.05);
}

Rgb text_on(Rgb color) {
  return contrast(color, kWhite) >= contrast(color, kBlack) ? kWhite : kBlack;
}

Shades::Shades(const Palette& palette, Rgb background)
    : abnormal_(palette.abnormal), edge_(background) {
  constexpr double kGround = 0.15;  // of a hatched area
  constexpr double kStroke = 0.85;
  for (std::size_t kind = 0; kind < table_.size(); ++kind) {
    const Rgb color = kind < kCategories ? palette.category[kind] : palette.text;
    const bool waits = kind < kCategories && is_wait(static_cast<Category>(kind));
    for (unsigned level = 0; level < kLevels; ++level) {
      const double busy = static_cast<double>(level) / static_cast<double>(kLevels - 1);
      const double share = 0.25 + 0.75 * busy;
      table_[kind][level] =
          kind == 0 ? background : blend(background, color, waits ? kGround * share : share);
    }
    stroke_[kind] = waits ? blend(background, color, kStroke) : 0U;
    mixed_[kind] = blend(background, color, waits ? 0.45 : 1.0);
  }
}

namespace {

constexpr TrackId kManyTracks = 64;  // from here on blocks replace tracks on one line
constexpr double kTracksPerLine = 2.0;
constexpr int kHatchPeriod = 6;  // pixels, of the strokes over what waits
constexpr int kHatchStroke = 2;
constexpr int kSpacedHeight = 4;  // lines of a lane from which on one of them is a gap
constexpr int kRoomyHeight = 10;  // and from which on two are

struct Lines {
  int first = 0;
  int last = 0;
};

// The pixels of an image, without the checks that QImage makes for each line.
struct Canvas {
  Rgb* first = nullptr;
  std::ptrdiff_t stride = 0;
  int width = 0;
  int height = 0;

  explicit Canvas(QImage& image)
      : first(reinterpret_cast<Rgb*>(image.bits())),
        stride(image.bytesPerLine() / static_cast<std::ptrdiff_t>(sizeof(Rgb))),
        width(image.width()),
        height(image.height()) {}

  [[nodiscard]] Rgb* line(int y) const { return first + y * stride; }
};

// What all lines of one frame have in common.
struct Frame {
  Frame(const View& the_view, const Palette& palette)
      : view(the_view),
        axis(the_view.axis()),
        copies(the_view.copies(axis)),
        backgrounds{palette.background, palette.alternate},
        shades{Shades(palette, palette.background), Shades(palette, palette.alternate)} {
    for (const Copy& copy : copies) {
      in_window.push_back(slices_in(the_view.store(), copy.axis));
    }
  }

  const View& view;
  PixelAxis axis;
  std::vector<Copy> copies;
  std::vector<double> in_window;  // slices, by copy
  std::array<Rgb, 2> backgrounds;
  std::array<Shades, 2> shades;
};

// Makes one line after the other; each thread has its own.
class LineMaker {
 public:
  explicit LineMaker(const Frame& frame)
      : frame_(frame), line_(static_cast<std::size_t>(frame.axis.width())), strokes_(line_.size()) {
    for (std::size_t i = 0; i < frame.copies.size(); ++i) {
      summarisers_.emplace_back(frame.view.store(), frame.copies[i].axis, frame.in_window[i]);
    }
  }

  void track(TrackId track, bool odd) {
    start(odd);
    for (std::size_t i = 0; i < frame_.copies.size(); ++i) {
      row_bins_.resize(columns(i));
      summarisers_[i].track(track, row_bins_);
      shade(row_bins_, i, odd);
    }
  }

  void merged(TrackId first, TrackId last, bool by_blocks, bool odd) {
    start(odd);
    for (std::size_t i = 0; i < frame_.copies.size(); ++i) {
      block_bins_.resize(columns(i));
      summarisers_[i].tracks(first, last, by_blocks, block_bins_);
      shade(block_bins_, i, odd);
    }
  }

  void copy_to(Rgb* line, int y) const {
    std::memcpy(line, line_.data(), line_.size() * sizeof(Rgb));
    if (!waits_) {
      return;
    }
    for (std::size_t x = 0; x < strokes_.size(); ++x) {
      if (strokes_[x] != 0 && (static_cast<int>(x) + y) % kHatchPeriod < kHatchStroke) {
        line[x] = strokes_[x];
      }
    }
  }

 private:
  void start(bool odd) {
    std::ranges::fill(line_, frame_.backgrounds[odd ? 1 : 0]);
    std::ranges::fill(strokes_, 0U);
    waits_ = false;
  }

  [[nodiscard]] std::size_t columns(std::size_t copy) const {
    return static_cast<std::size_t>(frame_.copies[copy].axis.width());
  }

  template <typename Bin>
  void shade(const std::vector<Bin>& bins, std::size_t copy, bool odd) {
    const Shades& shades = frame_.shades[odd ? 1 : 0];
    const auto first = static_cast<std::size_t>(frame_.copies[copy].axis.first_column());
    for (std::size_t i = 0; i < bins.size(); ++i) {
      line_[first + i] = shades.of(bins[i]);
      if constexpr (std::is_same_v<Bin, RowBin>) {
        strokes_[first + i] = shades.stroke(bins[i]);
        waits_ = waits_ || strokes_[first + i] != 0;
      }
    }
  }

  const Frame& frame_;
  std::vector<Summariser> summarisers_;
  std::vector<Rgb> line_;
  std::vector<Rgb> strokes_;  // over what waits; 0 elsewhere
  bool waits_ = false;
  std::vector<RowBin> row_bins_;
  std::vector<BlockBin> block_bins_;
};

class RowsRaster {
 public:
  RowsRaster(const View& view, const Palette& palette, QImage& image)
      : view_(view), palette_(palette), image_(image), frame_(view, palette), maker_(frame_) {}

  void paint() {
    const RowLayout& rows = view_.rows();
    for (int y = 0; y < image_.height; ++y) {
      std::fill_n(image_.line(y), image_.width, palette_.panel);
    }
    top_ = std::clamp(static_cast<int>(std::lround(rows.pinned_height())), 0, image_.height);
    if (rows.row_height() < 1.0) {
      paint_dense();
    } else {
      paint_spaced();
    }
    clip_ = {0, top_};
    for (const LaidRow& row : rows.pinned()) {
      paint_row(row, rows.top_of(row, true));
    }
  }

 private:
  void paint_spaced() {
    const RowLayout& rows = view_.rows();
    clip_ = {top_, image_.height};
    const auto unit = static_cast<std::uint32_t>(rows.scroll() / rows.row_height());
    const std::vector<LaidRow>& all = rows.scrolled();
    for (std::size_t i = rows.index_of_unit(unit); i < all.size(); ++i) {
      const double y = rows.top_of(all[i], false);
      if (y >= image_.height) {
        break;
      }
      paint_row(all[i], y);
    }
  }

  [[nodiscard]] Lines lines(double top, double bottom) const {
    return {std::clamp(static_cast<int>(std::lround(top)), clip_.first, clip_.last),
            std::clamp(static_cast<int>(std::lround(bottom)), clip_.first, clip_.last)};
  }

  void paint_row(const LaidRow& laid, double y) {
    const Row& row = view_.store().rows()[laid.row];
    const double height = view_.rows().row_height();
    odd_ = laid.row % 2 == 1;
    const Rgb background = odd_ ? palette_.alternate : palette_.background;
    if (row.kind == RowKind::counter) {
      paint_counter(row, lines(y, y + height * laid.units), background);
      return;
    }
    if (row.kind == RowKind::group) {
      fill(lines(y, y + height), laid.collapsed ? background : palette_.panel);
      const RowId lead = row_shown(view_.store(), laid);
      if (lead != kNoRow && view_.store().rows()[lead].tracks > 0) {
        maker_.track(view_.store().rows()[lead].first_track, odd_);
        copy_line(y, y + height);
      } else if (laid.collapsed) {
        maker_.merged(row.first_track, row.first_track + row.tracks, row.tracks >= kManyTracks,
                      odd_);
        copy_line(y, y + height);
      }
      return;
    }
    fill(lines(y, y + height * laid.units), background);
    for (std::uint32_t lane = 0; lane < row.tracks; ++lane) {
      const double top = y + height * lane;
      const Lines visible = lines(top, top + height);
      if (visible.first < visible.last) {
        maker_.track(row.first_track + lane, odd_);
        copy_line(top, top + height);
      }
    }
  }

  // Lines lower than a pixel: each shows the tracks of the units that begin on it.
  void paint_dense() {
    constexpr std::int64_t kLinesPerTask = 48;
    const std::int64_t lines = image_.height - top_;
    parallel_for(lines, {.grain = kLinesPerTask}, [this](std::int64_t begin, std::int64_t end) {
      LineMaker maker(frame_);
      for (std::int64_t line = begin; line < end; ++line) {
        paint_dense_line(top_ + static_cast<int>(line), maker);
      }
    });
  }

  void paint_dense_line(int y, LineMaker& maker) const {
    const RowLayout& rows = view_.rows();
    if (rows.scrolled().empty()) {
      return;
    }
    const LaidRow& last_row = rows.scrolled().back();
    const double first = (y - rows.pinned_height() + rows.scroll()) / rows.row_height();
    const double last = first + 1.0 / rows.row_height();
    const std::uint32_t end = last_row.first_unit + last_row.units;
    if (first >= end) {
      return;
    }
    const auto from = static_cast<std::uint32_t>(std::max(first, 0.0));
    const auto to = std::min(static_cast<std::uint32_t>(std::max(last, 0.0)), end);
    TrackId low = 0;
    TrackId high = 0;
    tracks_of_units(from, std::max(to, from + 1), low, high);
    if (low < high) {
      maker.merged(low, high, 1.0 / rows.row_height() > kTracksPerLine, false);
      maker.copy_to(image_.line(y), y);
    }
  }

  // Tracks between the first and the last one of some units; rows are in the order of the store.
  void tracks_of_units(std::uint32_t from, std::uint32_t to, TrackId& low, TrackId& high) const {
    const std::vector<LaidRow>& all = view_.rows().scrolled();
    bool found = false;
    for (std::size_t i = view_.rows().index_of_unit(from); i < all.size() && all[i].first_unit < to;
         ++i) {
      const Row& row = view_.store().rows()[all[i].row];
      TrackId first = row.first_track;
      TrackId last = row.first_track + row.tracks;
      if (row.kind == RowKind::counter || (row.kind == RowKind::group && !all[i].collapsed)) {
        continue;
      }
      if (row.kind == RowKind::slices && row.tracks > 0) {
        first += from > all[i].first_unit ? from - all[i].first_unit : 0U;
        last = std::min(last, row.first_track + (to - all[i].first_unit));
      }
      low = found ? std::min(low, first) : first;
      high = std::max(high, last);
      found = true;
    }
  }

  void copy_line(double top, double bottom) {
    Lines at = lines(top, bottom);
    const int height = static_cast<int>(std::lround(bottom)) - static_cast<int>(std::lround(top));
    // Gaps belong to the row, not to what is visible of it.
    if (height >= kSpacedHeight && std::lround(bottom) <= clip_.last) {
      --at.last;
    }
    if (height >= kRoomyHeight && std::lround(top) >= clip_.first) {
      ++at.first;
    }
    for (int y = at.first; y < at.last; ++y) {
      maker_.copy_to(image_.line(y), y);
    }
  }

  void fill(Lines at, Rgb color) {
    for (int y = at.first; y < at.last; ++y) {
      std::fill_n(image_.line(y), image_.width, color);
    }
  }

  // Filled up to the greatest value of each column, darker up to the least.
  void paint_counter(const Row& row, Lines at, Rgb background) {
    fill(at, background);
    const Counter& counter = view_.store().counters()[row.counter];
    const double top = std::max({counter.extremes().greatest, counter.limit(), 0.0});
    const double bottom = std::min(counter.extremes().least, 0.0);
    const int height = at.last - at.first - 2;
    if (height <= 0 || top <= bottom) {
      return;
    }
    const Rgb color = palette_.of(Category::forward);
    const Rgb light = blend(background, color, 0.35);
    const Rgb solid = blend(background, color, 0.7);
    const auto lines_of = [&](double value) {
      return static_cast<int>(std::lround((value - bottom) / (top - bottom) * height));
    };
    for (const Copy& copy : frame_.copies) {
      for (int x = 0; x < copy.axis.width(); ++x) {
        const auto values = counter.within(copy.axis.edge(x), copy.axis.edge(x + 1));
        const int least = values ? lines_of(values->least) : 0;
        const int greatest = values ? lines_of(values->greatest) : 0;
        for (int y = 0; y < greatest; ++y) {
          const Rgb shade = y == greatest - 1 ? color : y < least ? light : solid;
          image_.line(at.last - 1 - y)[copy.axis.first_column() + x] = shade;
        }
        if (const int limit = lines_of(counter.limit()); counter.limit() > 0.0) {
          image_.line(at.last - limit)[copy.axis.first_column() + x] = palette_.abnormal;
        }
      }
    }
  }

  const View& view_;
  const Palette& palette_;
  Canvas image_;
  Frame frame_;
  LineMaker maker_;
  Lines clip_;
  int top_ = 0;
  bool odd_ = false;
};

}  // namespace

void paint_rows(const View& view, const Palette& palette, QImage& image) {
  ORRERY_CHECK(image.format() == QImage::Format_RGB32 && image.width() == view.columns(),
               "an image {} wide cannot show {} columns", image.width(), view.columns());
  if (view.empty()) {
    image.fill(palette.background);
    return;
  }
  RowsRaster(view, palette, image).paint();
}

void paint_minimap(const View& view, const Palette& palette, QImage& image) {
  image.fill(palette.background);
  const int width = image.width();
  if (view.empty() || width < 1 || image.height() < 1) {
    return;
  }
  const Store& store = *view.levels()[view.overview()].store;
  TimeRange range = store.range();
  range.end = std::max(range.end, range.begin + width);
  const PixelAxis axis(range, width);
  Summariser summariser(store, axis);
  std::vector<BlockBin> bins(static_cast<std::size_t>(width));
  const auto tracks = static_cast<TrackId>(store.tracks().size());
  const Shades shades(palette, palette.background);
  const Canvas canvas(image);
  // Few tracks stand below each other, many are one.
  constexpr int kLeastLines = 3;
  const auto bands = static_cast<int>(tracks) * kLeastLines <= canvas.height
                         ? std::max(static_cast<int>(tracks), 1)
                         : 1;
  for (int y = 0; y < canvas.height; ++y) {
    const int band = y * bands / canvas.height;
    if (y == 0 || band != (y - 1) * bands / canvas.height) {
      const auto first = static_cast<TrackId>(band);
      summariser.tracks(bands == 1 ? 0 : first, bands == 1 ? tracks : first + 1,
                        tracks >= kManyTracks, bins);
    }
    Rgb* out = canvas.line(y);
    for (const BlockBin bin : bins) {
      *out++ = shades.of(bin);
    }
  }
}

}  // namespace orrery::timeline
