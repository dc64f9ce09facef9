#pragma once

// Charts of the answers of sim/sweep: fan, checkpoint interval, tornado.

#include <string>
#include <vector>

#include "gui/models/plots/plot.hpp"
#include "sim/sweep/answer.hpp"

namespace orrery::gui {

// Charts that cost many runs: name of the answer, what the list calls it.
struct AnswerChart {
  std::string answer;
  QString name;
};

[[nodiscard]] const std::vector<AnswerChart>& answer_charts();
[[nodiscard]] Plot answer_plot(const sweep::Answer& answer);

}  // namespace orrery::gui
