#include "gui/timeline/raster.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gui/timeline/summary.hpp"
#include "sim/base/check.hpp"

namespace orrery::timeline {

namespace {

constexpr TrackId kManyTracks = 64;  // from here on blocks replace tracks on one line
constexpr double kTracksPerLine = 2.0;
constexpr int kSpacedHeight = 4;  // lines of a lane from which on one of them is a gap
constexpr int kRoomyHeight = 10;  // and from which on two are

Rgb* scanline(QImage& image, int y) {
  return reinterpret_cast<Rgb*>(image.scanLine(y));
}

struct Lines {
  int first = 0;
  int last = 0;
};

class RowsRaster {
 public:
  RowsRaster(const View& view, const Palette& palette, QImage& image)
      : view_(view),
        palette_(palette),
        image_(image),
        axis_(view.axis()),
        copies_(view.copies(axis_)),
        shades_{Shades(palette, palette.background), Shades(palette, palette.alternate)},
        line_(static_cast<std::size_t>(axis_.width())) {
    for (const Copy& copy : copies_) {
      summarisers_.emplace_back(view.store(), copy.axis);
    }
  }

  void paint() {
    const RowLayout& rows = view_.rows();
    image_.fill(palette_.background);
    top_ = std::clamp(static_cast<int>(std::lround(rows.pinned_height())), 0, image_.height());
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
    clip_ = {top_, image_.height()};
    const auto unit = static_cast<std::uint32_t>(rows.scroll() / rows.row_height());
    const std::vector<LaidRow>& all = rows.scrolled();
    for (std::size_t i = rows.index_of_unit(unit); i < all.size(); ++i) {
      const double y = rows.top_of(all[i], false);
      if (y >= image_.height()) {
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
      if (laid.collapsed) {
        merged_line(row.first_track, row.first_track + row.tracks, row.tracks >= kManyTracks);
        copy_line(y, y + height);
      }
      return;
    }
    fill(lines(y, y + height * laid.units), background);
    for (std::uint32_t lane = 0; lane < row.tracks; ++lane) {
      const double top = y + height * lane;
      const Lines visible = lines(top, top + height);
      if (visible.first < visible.last) {
        track_line(row.first_track + lane);
        copy_line(top, top + height);
      }
    }
  }

  // Lines lower than a pixel: each shows the tracks of the units that begin on it.
  void paint_dense() {
    const RowLayout& rows = view_.rows();
    const std::vector<LaidRow>& all = rows.scrolled();
    odd_ = false;
    for (int y = top_; y < image_.height() && !all.empty(); ++y) {
      const double first = (y - rows.pinned_height() + rows.scroll()) / rows.row_height();
      const double last = first + 1.0 / rows.row_height();
      const std::uint32_t end = all.back().first_unit + all.back().units;
      if (first >= end) {
        break;
      }
      const auto from = static_cast<std::uint32_t>(std::max(first, 0.0));
      const auto to = std::min(static_cast<std::uint32_t>(std::max(last, 0.0)), end);
      TrackId low = 0;
      TrackId high = 0;
      tracks_of_units(from, std::max(to, from + 1), low, high);
      if (low < high) {
        merged_line(low, high, 1.0 / rows.row_height() > kTracksPerLine);
        std::memcpy(scanline(image_, y), line_.data(), line_.size() * sizeof(Rgb));
      }
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

  void track_line(TrackId track) {
    const Rgb background = odd_ ? palette_.alternate : palette_.background;
    std::fill(line_.begin(), line_.end(), background);
    const Shades& shades = shades_[odd_ ? 1 : 0];
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      const PixelAxis& axis = copies_[i].axis;
      row_bins_.resize(static_cast<std::size_t>(axis.width()));
      summarisers_[i].track(track, row_bins_);
      Rgb* out = line_.data() + axis.first_column();
      for (const RowBin bin : row_bins_) {
        *out++ = shades.of(bin);
      }
    }
  }

  void merged_line(TrackId first, TrackId last, bool by_blocks) {
    const Rgb background = odd_ ? palette_.alternate : palette_.background;
    std::fill(line_.begin(), line_.end(), background);
    const Shades& shades = shades_[odd_ ? 1 : 0];
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      const PixelAxis& axis = copies_[i].axis;
      block_bins_.resize(static_cast<std::size_t>(axis.width()));
      summarisers_[i].tracks(first, last, by_blocks, block_bins_);
      Rgb* out = line_.data() + axis.first_column();
      for (const BlockBin bin : block_bins_) {
        *out++ = shades.of(bin);
      }
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
      std::memcpy(scanline(image_, y), line_.data(), line_.size() * sizeof(Rgb));
    }
  }

  void fill(Lines at, Rgb color) {
    for (int y = at.first; y < at.last; ++y) {
      std::fill_n(scanline(image_, y), image_.width(), color);
    }
  }

  // Filled up to the greatest value of each column, darker up to the least.
  void paint_counter(const Row& row, Lines at, Rgb background) {
    fill(at, background);
    const Counter& counter = view_.store().counters()[row.counter];
    const double top = std::max(counter.extremes().greatest, 0.0);
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
    for (const Copy& copy : copies_) {
      for (int x = 0; x < copy.axis.width(); ++x) {
        const auto values = counter.within(copy.axis.edge(x), copy.axis.edge(x + 1));
        const int least = values ? lines_of(values->least) : 0;
        const int greatest = values ? lines_of(values->greatest) : 0;
        for (int y = 0; y < greatest; ++y) {
          const Rgb shade = y == greatest - 1 ? color : y < least ? light : solid;
          scanline(image_, at.last - 1 - y)[copy.axis.first_column() + x] = shade;
        }
      }
    }
  }

  const View& view_;
  const Palette& palette_;
  QImage& image_;
  PixelAxis axis_;
  std::vector<Copy> copies_;
  std::vector<Summariser> summarisers_;
  std::array<Shades, 2> shades_;
  std::vector<Rgb> line_;
  std::vector<RowBin> row_bins_;
  std::vector<BlockBin> block_bins_;
  Lines clip_;
  int top_ = 0;
  bool odd_ = false;
};

}  // namespace

void paint_rows(const View& view, const Palette& palette, QImage& image) {
  ORRERY_CHECK(image.format() == QImage::Format_RGB32 && image.width() == view.columns(),
               "an image {} wide cannot show {} columns",
               image.width(),
               view.columns());
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
  const Store& store = *view.levels().front().store;
  TimeRange range = store.range();
  range.end = std::max(range.end, range.begin + width);
  const PixelAxis axis(range, width);
  Summariser summariser(store, axis);
  std::vector<BlockBin> bins(static_cast<std::size_t>(width));
  const auto tracks = static_cast<TrackId>(store.tracks().size());
  summariser.tracks(0, tracks, tracks >= kManyTracks, bins);
  const Shades shades(palette, palette.background);
  for (int y = 0; y < image.height(); ++y) {
    Rgb* out = scanline(image, y);
    for (const BlockBin bin : bins) {
      *out++ = shades.of(bin);
    }
  }
}

}  // namespace orrery::timeline
