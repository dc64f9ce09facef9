#pragma once

// Converts the simulator's texts and numbers to QString. Nothing is computed here.

#include <QString>
#include <string>
#include <string_view>

#include "sim/answer/report/metrics.hpp"

namespace orrery::gui {

[[nodiscard]] inline QString qt(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

// As the terminal shows it; dates as "2024-05-25 03:10".
[[nodiscard]] QString shown(report::Dimension dimension, double value);

// A change, with its sign: "−1.81 s", "+0.43 pt".
[[nodiscard]] QString change_shown(report::Dimension dimension, double change);

// "finish date" for "finish_date".
[[nodiscard]] QString spoken(std::string_view metric_name);

}  // namespace orrery::gui
