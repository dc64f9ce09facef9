#pragma once

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

#include <QImage>
#include <vector>

#include "gui/timeline/palette.hpp"
#include "gui/timeline/view.hpp"

namespace orrery::timeline {

void paint_rows(const View& view, const Palette& palette, QImage& image);

// All tracks of the outermost level: below each other when there is room, else on one line.
void paint_minimap(const View& view, const Palette& palette, QImage& image);

}  // namespace orrery::timeline
