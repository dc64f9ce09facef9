#include "gui/models/tables/text.hpp"

#include "sim/answer/report/files/figures.hpp"

namespace orrery::gui {

QString shown(report::Dimension dimension, double value) {
  QString text = qt(report::format_value(dimension, value));
  if (dimension == report::Dimension::date) {
    constexpr qsizetype kMinutes = 16;  // 2024-05-25T03:10
    text = text.left(kMinutes).replace('T', ' ');
  }
  return text;
}

QString change_shown(report::Dimension dimension, double change) {
  return qt(report::format_change(dimension, change)).replace('-', u'−').replace(" points", " pt");
}

QString spoken(std::string_view metric_name) {
  QStringList words = qt(metric_name).split('_');
  for (QString& word : words) {
    static const QStringList kShort = {"mfu", "hfu", "gpu", "p2p", "nic", "ettr"};
    word = kShort.contains(word) ? word.toUpper() : word == "gpus" ? "GPUs" : word;
  }
  return words.join(' ');
}

}  // namespace orrery::gui
