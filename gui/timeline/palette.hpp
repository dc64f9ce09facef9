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
// Source of the eight hues: M. Okabe, K. Ito, "Color Universal Design", 2008. Related categories
// share a hue and differ in lightness; no two of one timeline have the same colour.

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

  [[nodiscard]] Rgb of(Category kind) const {
    return category[static_cast<std::size_t>(kind)];
  }
};

[[nodiscard]] Palette light_palette();
[[nodiscard]] Palette dark_palette();

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

  // Half of the lowest and half of the highest category, in the middle of least and most busy.
  [[nodiscard]] Rgb of(BlockBin bin) const {
    if (bin.abnormal()) {
      return abnormal_;
    }
    const unsigned level = (255U - bin.idle + bin.most + 1U) >> (1U + kDrop);
    const Rgb shade = table_[bin.high & kMask][level];
    return bin.low() == bin.high ? shade : half(shade, table_[bin.low() & kMask][level]);
  }

 private:
  static constexpr unsigned kDrop = 2;
  static constexpr unsigned kLevels = 256U >> kDrop;
  static constexpr unsigned kMask = RowBin::kAbnormalBit - 1U;

  static Rgb half(Rgb a, Rgb b) {
    constexpr Rgb kNoLowBits = 0xfefefefeU;
    return (((a ^ b) & kNoLowBits) >> 1U) + (a & b);
  }

  [[nodiscard]] Rgb darker(Rgb shade) const {
    return half(shade, edge_);
  }

  std::array<std::array<Rgb, kLevels>, (std::size_t{1} << kCategoryBits)> table_{};
  Rgb abnormal_ = 0;
  Rgb edge_ = 0;
};

}  // namespace orrery::timeline
