#pragma once

// Colours for the series of a plot that remain distinguishable with colour-blind vision.
//
// Rows of a ledger get the colour that the timeline has for them (hues.hpp); other kinds get eight
// hues, then the same ones lighter. An ordered series runs from dark to light
// through one scale, without the end of it that would vanish against the background.
//
// Sources: hues of M. Okabe, K. Ito, "Color Universal Design", 2008; the scale "viridis" of
// S. van der Walt, N. Smith, 2015.

#include <qcustomplot.h>

#include "gui/models/plots/plot.hpp"

namespace orrery::gui {

[[nodiscard]] QColor hue(std::size_t i, bool dark);

// Solid works, hatched waits.
[[nodiscard]] QBrush fill_of(const QColor& color, bool waits);

// Of the cells of a map.
[[nodiscard]] QCPColorGradient map_gradient(MapHue hue);

// Of points or, as on a page of the report, of pixels.
[[nodiscard]] QFont scaled(QFont font, double factor, bool bold = false);

// The colour of series i of `count`.
[[nodiscard]] QColor scale_color(std::size_t i, std::size_t count, bool dark);

}  // namespace orrery::gui
