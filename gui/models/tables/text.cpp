#include "gui/models/tables/text.hpp"

namespace orrery::gui {

QString shown(report::Dimension dimension, double value) {
  QString text = qt(report::format_value(dimension, value));
  if (dimension == report::Dimension::date) {
    constexpr qsizetype kMinutes = 16;  // 2024-05-25T03:10
    text = text.left(kMinutes).replace('T', ' ');
  }
  return text;
}

QString spoken(std::string_view metric_name) {
  return qt(metric_name).replace('_', ' ');
}

}  // namespace orrery::gui
