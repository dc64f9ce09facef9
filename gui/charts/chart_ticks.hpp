#pragma once

// Ticks of an axis and their labels, at round values of a unit that suits the quantity.
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
