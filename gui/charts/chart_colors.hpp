#pragma once

// Which colours tell the series of a plot apart, also for the colour-blind?
//
// Kinds: eight hues, then the same lighter. Series in order: from dark to light through one scale,
// less its end that the ground would hide.
//
// Sources: hues of M. Okabe, K. Ito, "Color Universal Design", 2008; the scale "viridis" of
// S. van der Walt, N. Smith, 2015.

#include <QColor>

namespace orrery::gui {

[[nodiscard]] QColor hue(std::size_t i, bool dark);

// The colour of series i of `count`.
[[nodiscard]] QColor scale_color(std::size_t i, std::size_t count, bool dark);

}  // namespace orrery::gui
