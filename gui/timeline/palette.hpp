#pragma once

// Light and dark palettes of the timeline, with colours that remain distinguishable under any
// common form of colour blindness.
//
//   shade = background + (colour - background) * (0.25 + 0.75 busy),   busy = 0: background
//
// symbol | meaning                                        | unit       | origin
// -------|------------------------------------------------|------------|-----------
// colour | the colour of a category                       | 0xffRRGGBB | see source
// busy   | share of the pixel's time in slices, 64 levels | 1          | bins
//
// Solid works, hatched waits: a wait has the hue of its cause, in strokes at 45 degrees that are
// fixed to the screen. No two kinds of work of one timeline have the same colour.

#include <array>
#include <cstdint>

#include "gui/timeline/store/bins.hpp"

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

}  // namespace orrery::timeline
