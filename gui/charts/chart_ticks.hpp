#pragma once

// Which ticks does an axis have, and how are they written? Round in the unit people read.
//
//   step = round number of units near span / ticks;  unit: s, min, h, d for times, powers of two
//   for bytes, one hundredth for fractions

#include <qcustomplot.h>

#include <QSharedPointer>

#include "gui/models/plots/plot.hpp"

namespace orrery::gui {

// With as many digits as tell two ticks `step` apart.
[[nodiscard]] QString tick_text(report::Dimension dimension, double value, double step);

// For the numbers of the axis; nothing special without dimension and categories.
[[nodiscard]] QSharedPointer<QCPAxisTicker> ticker_for(const PlotAxis& axis);

}  // namespace orrery::gui
