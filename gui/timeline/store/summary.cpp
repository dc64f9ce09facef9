#include "gui/timeline/store/summary.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "sim/base/check.hpp"

namespace orrery::timeline {

PixelAxis::PixelAxis(TimeRange range, int width) {
  ORRERY_CHECK(width >= 1 && range.length() >= width, "{} columns cannot show {} ns", width,
               range.length());
  const std::int64_t quotient = range.length() / width;
  const std::int64_t remainder = range.length() % width;
  edges_.resize(static_cast<std::size_t>(width) + 1);
  for (std::int64_t x = 0; x <= width; ++x) {
    edges_[static_cast<std::size_t>(x)] = range.begin + quotient * x + remainder * x / width;
  }
  set_scale();
}

PixelAxis::PixelAxis(const PixelAxis& outer, std::int64_t offset, TimeRange range) {
  const TimeRange shown{std::max(outer.range().begin - offset, range.begin),
                        std::min(outer.range().end - offset, range.end)};
  if (shown.length() <= 0) {
    edges_ = {0};
    return;
  }
  first_column_ = outer.at(shown.begin + offset);
  const int last = outer.at(shown.end + offset - 1);
  edges_.clear();
  for (int x = first_column_; x <= last + 1; ++x) {
    edges_.push_back(std::clamp(outer.edge(x) - offset, shown.begin, shown.end));
  }
  set_scale();
  scale_ = outer.scale_;
  pixel_ = outer.pixel_;
}

void PixelAxis::set_scale() {
  const double length = static_cast<double>(range().length());
  scale_ = static_cast<double>(width()) / length;
  pixel_ = std::max<std::int64_t>(range().length() / width(), 1);
}

double PixelAxis::position(std::int64_t time) const {
  constexpr double kFar = 1'000'000.0;
  // Exact to a fraction of a column even when both are far from the origin.
  const double distance = static_cast<double>(time - edges_.front());
  return std::clamp(distance * scale_, -kFar, kFar);
}

namespace {

constexpr int kShifts = 63;
constexpr int kEdgeWidth = 4;
// Reading more slices per frame than this is slower than showing bins wider than a column.
constexpr double kMostSlices = 700'000.0;

RowBin bin_of(Category category, bool abnormal, std::uint8_t busy) {
  RowBin bin;
  bin.kind = static_cast<std::uint8_t>(static_cast<unsigned>(category) |
                                       (abnormal ? RowBin::kAbnormalBit : 0U));
  bin.busy = busy;
  return bin;
}

// Writes the columns of one track.
class RowWriter {
 public:
  explicit RowWriter(std::span<RowBin> columns) : columns_(columns) {
    std::ranges::fill(columns, RowBin{});
  }

  void column(int x, RowBin bin) {
    RowBin& out = columns_[static_cast<std::size_t>(x)];
    bin.kind = static_cast<std::uint8_t>(bin.kind | (out.kind & RowBin::kEdgeBit));
    out = bin;
  }

  void run(int first, int last, RowBin bin) {
    std::fill(columns_.begin() + first, columns_.begin() + last, bin);
  }

  void edge(int x) { columns_[static_cast<std::size_t>(x)].kind |= RowBin::kEdgeBit; }

  void finish() {}

 private:
  std::span<RowBin> columns_;
};

// Merges the columns of one track into those of others, idle columns too.
class BlockWriter {
 public:
  explicit BlockWriter(std::span<BlockBin> columns) : columns_(columns) {}

  void column(int x, RowBin bin) {
    idle_until(x);
    BlockBin& out = columns_[static_cast<std::size_t>(x)];
    out = merge(out, block_of(bin));
    next_ = std::max(next_, x + 1);
  }

  void run(int first, int last, RowBin bin) {
    if (first < last) {
      idle_until(first);
      raise(first, last, block_of(bin));
      next_ = last;
    }
  }

  void edge(int /*x*/) {}

  void finish() { idle_until(static_cast<int>(columns_.size())); }

 private:
  void idle_until(int x) {
    if (next_ < x) {
      raise(next_, x, block_of({}));
      next_ = x;
    }
  }

  void raise(int first, int last, BlockBin value) {
    const auto from = static_cast<std::size_t>(first);
    merge_into(columns_.subspan(from, static_cast<std::size_t>(last) - from), value);
  }

  std::span<BlockBin> columns_;
  int next_ = 0;
};

// Sums the parts of slices that lie in the current column. What a column does not show of the
// others is owed to them in the next ones, so that short slices keep their share of the pixels.
template <typename Writer>
class ColumnSum {
 public:
  ColumnSum(Writer& writer, const PixelAxis& axis) : writer_(writer), axis_(axis) {}

  void add(int column, const Slice& slice, std::int64_t time) {
    if (column != column_) {
      flush();
      column_ = column;
    }
    const bool abnormal = slice.is(kAbnormal);
    std::int64_t& owed = owed_[static_cast<std::size_t>(slice.category())];
    owed += time;
    const bool more = owed > owed_[static_cast<std::size_t>(category_)];
    if (busy_ == 0 || (abnormal != abnormal_ ? abnormal : more)) {
      abnormal_ = abnormal;
      category_ = slice.category();
    }
    busy_ += time;
  }

  void flush() {
    if (busy_ == 0) {
      return;
    }
    const std::int64_t width = axis_.edge(column_ + 1) - axis_.edge(column_);
    writer_.column(column_, bin_of(category_, abnormal_, busy_level(busy_, width)));
    owed_[static_cast<std::size_t>(category_)] -= busy_;
    busy_ = 0;
    abnormal_ = false;
  }

 private:
  Writer& writer_;
  const PixelAxis& axis_;
  int column_ = -1;
  std::int64_t busy_ = 0;
  std::array<std::int64_t, kCategories> owed_{};
  Category category_ = Category::none;
  bool abnormal_ = false;
};

// The slices of a track in the window, in order of time, column by column.
template <typename Writer>
void write_slices(const Store& store, const PixelAxis& axis, TrackId track, Writer writer) {
  const std::span<const Slice> slices = store.slices_of(track);
  const TimeRange window = axis.range();
  ColumnSum<Writer> sum(writer, axis);
  int column = 0;
  for (std::size_t i = store.first_ending_after(track, window.begin);
       i < slices.size() && slices[i].begin() < window.end; ++i) {
    const Slice& slice = slices[i];
    const std::int64_t begin = std::max(slice.begin(), window.begin);
    const std::int64_t end = std::min(store.end_of(slice), window.end);
    if (begin >= axis.edge(column + 1)) {
      column = axis.at(begin);
    }
    if (end <= axis.edge(column + 1)) {
      sum.add(column, slice, end - begin);
      continue;
    }
    sum.add(column, slice, axis.edge(column + 1) - begin);
    sum.flush();
    const int last = axis.at(end - 1);
    if (slice.begin() >= window.begin && last - column >= kEdgeWidth) {
      writer.edge(column);
    }
    writer.run(column + 1, last, bin_of(slice.category(), slice.is(kAbnormal), kFullyBusy));
    column = last;
    sum.add(column, slice, end - axis.edge(column));
  }
  sum.flush();
  writer.finish();
}

}  // namespace

double slices_in(const Store& store, const PixelAxis& axis) {
  constexpr std::size_t kSampled = 256;
  const std::size_t tracks = store.tracks().size();
  const std::size_t every = std::max<std::size_t>(tracks / kSampled, 1);
  double seen = 0.0;
  for (std::size_t track = 0; track < tracks && axis.width() > 0; track += every) {
    const auto id = static_cast<TrackId>(track);
    const std::uint32_t first = store.first_ending_after(id, axis.range().begin);
    const std::uint32_t last = store.first_ending_after(id, axis.range().end);
    seen += static_cast<double>(last - first);
  }
  return seen * static_cast<double>(every);
}

Summariser::Summariser(const Store& store, const PixelAxis& axis, std::optional<double> in_window)
    : store_(store),
      axis_(axis),
      row_(static_cast<std::size_t>(axis.width())),
      first_bins_(kShifts),
      in_window_(in_window ? *in_window : slices_in(store, axis)) {}

std::span<const std::uint32_t> Summariser::first_bins(int shift) const {
  std::vector<std::uint32_t>& bins = first_bins_[static_cast<std::size_t>(shift)];
  if (bins.empty()) {
    const std::int64_t origin = store_.range().begin;
    const std::int64_t length = store_.range().length();
    bins.reserve(axis_.edges().size());
    for (const std::int64_t edge : axis_.edges()) {
      const std::int64_t inside = std::clamp<std::int64_t>(edge - origin, 0, length);
      bins.push_back(static_cast<std::uint32_t>(inside >> shift));
    }
  }
  return bins;
}

Summariser::Columns Summariser::columns_inside() const {
  const TimeRange shown = store_.range();
  const auto& edges = axis_.edges();
  const auto first = std::upper_bound(edges.begin(), edges.end(), shown.begin);
  const auto last = std::lower_bound(edges.begin(), edges.end(), shown.end);
  const auto count = static_cast<std::ptrdiff_t>(axis_.width());
  const std::ptrdiff_t from = std::max<std::ptrdiff_t>(first - edges.begin() - 1, 0);
  const std::ptrdiff_t to = std::clamp<std::ptrdiff_t>(last - edges.begin(), from, count);
  return {static_cast<std::size_t>(from), static_cast<std::size_t>(to)};
}

void Summariser::track_from_slices(TrackId track, std::span<RowBin> columns) const {
  write_slices(store_, axis_, track, RowWriter(columns));
}

bool Summariser::track_has_bins(TrackId track) const {
  const Pyramid& pyramid = store_.pyramid();
  return pyramid.has_bins(track) &&
         axis_.pixel() >= (std::int64_t{1} << pyramid.layout(track).shift);
}

void Summariser::track(TrackId track, std::span<RowBin> columns) const {
  if (!track_has_bins(track)) {
    track_from_slices(track, columns);
    return;
  }
  const BinLevel<RowBin> level = store_.pyramid().track_level(track, axis_.pixel());
  const std::span<const std::uint32_t> first = first_bins(level.shift);
  const std::size_t end = level.bins.size();
  std::ranges::fill(columns, RowBin{});
  const Columns inside = columns_inside();
  for (std::size_t x = inside.first; x < inside.last; ++x) {
    // Only the coarsest level has more than two bins in a column.
    std::size_t i = first[x];
    const std::size_t last = std::min<std::size_t>(std::max(first[x] + 1, first[x + 1]), end);
    RowBin bin = level.bins[i];
    while (++i < last) {
      bin = join(bin, level.bins[i]);
    }
    columns[x] = bin;
  }
}

bool Summariser::blocks_are_fine(int v) const {
  return axis_.pixel() >= store_.pyramid().finest_block_bin(v) || in_window_ > kMostSlices;
}

void Summariser::blocks(int v, std::size_t first_block, std::size_t last_block,
                        std::span<BlockBin> columns) {
  const Pyramid& pyramid = store_.pyramid();
  const BinLevel<BlockBin> level = pyramid.block_level(v, first_block, axis_.pixel());
  std::span<const BlockBin> bins = level.bins;
  if (last_block - first_block > 1) {
    merged_.assign(bins.begin(), bins.end());
    for (std::size_t i = first_block + 1; i < last_block; ++i) {
      merge_into(merged_, pyramid.block_level(v, i, axis_.pixel()).bins);
    }
    bins = merged_;
  }
  const std::span<const std::uint32_t> first = first_bins(level.shift);
  std::ranges::fill(columns, block_of({}));
  const Columns inside = columns_inside();
  for (std::size_t x = inside.first; x < inside.last; ++x) {
    std::size_t i = first[x];
    const std::size_t last =
        std::min<std::size_t>(std::max(first[x] + 1, first[x + 1]), bins.size());
    BlockBin bin = bins[i];
    while (++i < last) {
      bin = merge(bin, bins[i]);
    }
    columns[x] = bin;
  }
}

void Summariser::tracks(TrackId first, TrackId last, bool by_blocks, std::span<BlockBin> columns) {
  const Pyramid& pyramid = store_.pyramid();
  int v = Pyramid::first_block();
  const bool has_blocks = by_blocks && pyramid.end_of_blocks() > v;
  if (has_blocks) {
    // The largest blocks of which at least one begins in every range of this length.
    const auto log = static_cast<int>(std::bit_width(std::max<TrackId>(last - first, 1U))) - 1;
    v = std::clamp(log, v, pyramid.end_of_blocks() - 1);
  }
  if (first == last) {
    std::ranges::fill(columns, block_of({}));
  } else if (has_blocks && blocks_are_fine(v)) {
    const TrackId size = TrackId{1} << v;
    std::size_t begin = (first + size - 1) >> v;
    const std::size_t end = (last + size - 1) >> v;
    begin = begin == end ? first >> v : begin;
    blocks(v, begin, std::max(end, begin + 1), columns);
  } else {
    merge_tracks(first, last, columns);
  }
}

void Summariser::merge_tracks(TrackId first, TrackId last, std::span<BlockBin> columns) {
  std::ranges::fill(columns, BlockBin{});
  const auto tracks = static_cast<TrackId>(store_.tracks().size());
  for (TrackId i = first; i < last; ++i) {
    if (!track_has_bins(i)) {
      if (i + 2 < tracks) {
        store_.fetch_ahead(i + 2, axis_.range().begin);
      }
      write_slices(store_, axis_, i, BlockWriter(columns));
      continue;
    }
    track(i, row_);
    for (std::size_t x = 0; x < columns.size(); ++x) {
      columns[x] = merge(columns[x], block_of(row_[x]));
    }
  }
}

}  // namespace orrery::timeline
