#include "gui/charts/chart_colors.hpp"

#include <algorithm>
#include <array>

#include "gui/models/plots/hues.hpp"
#include "gui/timeline/palette.hpp"

namespace orrery::gui {

QColor hue(std::size_t i, bool dark) {
  if (i >= kCategoryHues) {
    static const std::array<timeline::Palette, 2> kPalettes = {timeline::light_palette(),
                                                               timeline::dark_palette()};
    return QColor(kPalettes[dark ? 1 : 0].category[(i - kCategoryHues) % timeline::kCategories]);
  }
  static const std::array<const char*, 8> kHues = {"#0b5cad", "#e08a00", "#0f9b78", "#b784b7",
                                                   "#5cc3f5", "#c8430a", "#b8a800", "#808080"};
  const QColor color(kHues[i % kHues.size()]);
  const bool again = (i / kHues.size()) % 2 == 1;
  constexpr int kLighter = 140;
  constexpr int kLighterInDark = 115;
  return again ? color.lighter(kLighter) : (dark ? color.lighter(kLighterInDark) : color);
}

QBrush fill_of(const QColor& color, bool waits) {
  return waits ? QBrush(color, Qt::BDiagPattern) : QBrush(color);
}

QCPColorGradient map_gradient(MapHue hue) {
  static const std::array<std::array<const char*, 3>, 3> kHues = {{
      {"#e8f3ec", "#7a99a1", "#0b3f55"},
      {"#f1e9fa", "#977fae", "#3c1d63"},
      {"#0b5cad", "#f4f4f2", "#b3420a"},
  }};
  QCPColorGradient gradient;
  const auto& stops = kHues[static_cast<std::size_t>(hue)];
  gradient.setColorStops(
      {{0.0, QColor(stops[0])}, {0.5, QColor(stops[1])}, {1.0, QColor(stops[2])}});
  return gradient;
}

QColor scale_color(std::size_t i, std::size_t count, bool dark) {
  static const std::array<const char*, 9> kScale = {"#440154", "#472d7b", "#3b528b",
                                                    "#2c728e", "#21918c", "#28ae80",
                                                    "#5ec962", "#addc30", "#fde725"};
  static const QCPColorGradient kGradient = [] {
    QCPColorGradient gradient;
    gradient.clearColorStops();
    for (std::size_t stop = 0; stop < kScale.size(); ++stop) {
      gradient.setColorStopAt(static_cast<double>(stop) / (kScale.size() - 1), kScale[stop]);
    }
    return gradient;
  }();
  constexpr double kDarkest = 0.3;    // on a dark ground
  constexpr double kLightest = 0.82;  // on a light one
  const double from = dark ? kDarkest : 0.0;
  const double to = dark ? 1.0 : kLightest;
  const double share =
      count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : (dark ? 0.5 : 0.25);
  return QColor(QCPColorGradient(kGradient).color(from + (to - from) * share, {0.0, 1.0}));
}

QFont scaled(QFont font, double factor, bool bold) {
  if (font.pointSizeF() > 0.0) {
    font.setPointSizeF(font.pointSizeF() * factor);
  } else {
    font.setPixelSize(static_cast<int>(font.pixelSize() * factor));
  }
  font.setBold(bold);
  return font;
}

}  // namespace orrery::gui
