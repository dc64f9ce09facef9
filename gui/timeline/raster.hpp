#pragma once

// Light and dark palettes of the timeline, with colours that remain distinguishable under any
// common form of colour blindness.
//
//   shade = background + (colour - background) * (0.25 + 0.75 busy),   busy = 0: background
//
// Solid works, hatched waits: a wait has the hue of its cause, in strokes at 45 degrees that are
// fixed to the screen. No two kinds of work of one timeline have the same colour.

#include <QImage>
#include <array>
#include <cstdint>

#include "gui/timeline/store/pyramid.hpp"
#include "gui/timeline/view.hpp"

namespace orrery::timeline {

using Rgb = std::uint32_t;  // 0xffRRGGBB, as QImage::Format_RGB32 holds it

struct Palette {
  bool dark = false;
  Rgb background = 0;  // of rows
  Rgb alternate = 0;   // of every other row
  Rgb panel = 0;       // names, axis
  Rgb text = 0;
  Rgb faint_text = 0;
  Rgb line = 0;
  Rgb selection = 0;
  Rgb abnormal = 0;
  std::array<Rgb, kCategories> category{};

  [[nodiscard]] Rgb of(Category kind) const { return category[static_cast<std::size_t>(kind)]; }
};

[[nodiscard]] Palette light_palette();
[[nodiscard]] Palette dark_palette();

// All categories but these at 30 % of their colour; none: as it is.
[[nodiscard]] Palette dimmed(Palette palette, CategorySet lit);

[[nodiscard]] Rgb blend(Rgb from, Rgb to, double share);

// Black or white, whichever reads better on the colour (WCAG relative luminance).
[[nodiscard]] Rgb text_on(Rgb color);
[[nodiscard]] double contrast(Rgb a, Rgb b);

// Shades of all categories on one background, ready for a scanline.
class Shades {
 public:
  Shades(const Palette& palette, Rgb background);

  [[nodiscard]] Rgb of(RowBin bin) const {
    if (bin.abnormal()) {
      return abnormal_;
    }
    const Rgb shade = table_[bin.kind & kMask][bin.busy >> kDrop];
    return (bin.kind & RowBin::kEdgeBit) != 0 ? darker(shade) : shade;
  }

  // The strokes over what waits; 0 where nothing does.
  [[nodiscard]] Rgb stroke(RowBin bin) const {
    return bin.abnormal() ? 0U : stroke_[bin.kind & kMask];
  }

  // Half of the lowest and half of the highest category, in the middle of least and most busy.
  [[nodiscard]] Rgb of(BlockBin bin) const {
    if (bin.abnormal()) {
      return abnormal_;
    }
    const unsigned level = (255U - bin.idle + bin.most + 1U) >> (1U + kDrop);
    const Rgb shade = of_merged(bin.high, level);
    return bin.low() == bin.high ? shade : half(shade, of_merged(bin.low(), level));
  }

 private:
  static constexpr unsigned kDrop = 2;
  static constexpr unsigned kLevels = 256U >> kDrop;
  static constexpr unsigned kMask = RowBin::kAbnormalBit - 1U;

  static Rgb half(Rgb a, Rgb b) {
    constexpr Rgb kNoLowBits = 0xfefefefeU;
    return (((a ^ b) & kNoLowBits) >> 1U) + (a & b);
  }

  // Where rows share a line there is no room for strokes: the hue at 45 %.
  [[nodiscard]] Rgb of_merged(unsigned kind, unsigned level) const {
    return stroke_[kind & kMask] != 0 ? mixed_[kind & kMask] : table_[kind & kMask][level];
  }

  [[nodiscard]] Rgb darker(Rgb shade) const { return half(shade, edge_); }

  std::array<std::array<Rgb, kLevels>, (std::size_t{1} << kCategoryBits)> table_{};
  std::array<Rgb, (std::size_t{1} << kCategoryBits)> stroke_{};
  std::array<Rgb, (std::size_t{1} << kCategoryBits)> mixed_{};
  Rgb abnormal_ = 0;
  Rgb edge_ = 0;
};

// Rasterises the rows of a view: one scanline per track, written straight into an image.
//
// height of a unit | drawn as
// -----------------|--------------------------------------------------------------------------
// >= 1 pixel       | every track on lines of its own, with a gap of one pixel from 4 pixels up
// < 1 pixel        | each line shows all tracks that fall on it; the odd one stays visible
//
// The image must be Format_RGB32 and as wide as the view has columns; pinned rows come first. Text,
// marks, selection and arrows are not drawn here. Cost: O(pixels) in wide views, O(slices in the
// window) in narrow ones.

void paint_rows(const View& view, const Palette& palette, QImage& image);

// All tracks of the outermost level: below each other when there is room, else on one line.
void paint_minimap(const View& view, const Palette& palette, QImage& image);

}  // namespace orrery::timeline
