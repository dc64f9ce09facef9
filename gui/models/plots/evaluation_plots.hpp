#pragma once

// Charts of one evaluation: ledgers, waterfalls, memory, causes and spreads.

#include <vector>

#include "gui/models/plots/plot.hpp"
#include "sim/report/evaluation.hpp"

namespace orrery::gui {

[[nodiscard]] Plot step_ledger_plot(const report::Evaluation& evaluation);
[[nodiscard]] Plot run_ledger_plot(const report::Evaluation& evaluation);

// From the peak of the GPUs to the MFU of a step, and on to that of the run.
[[nodiscard]] Plot step_utilisation_plot(const report::Evaluation& evaluation);
[[nodiscard]] Plot run_utilisation_plot(const report::Evaluation& evaluation);

// Bars at the peak of each stage, and each stage in the course of the step; against the GPU's.
[[nodiscard]] Plot memory_plot(const report::Evaluation& evaluation);
[[nodiscard]] Plot memory_course_plot(const report::Evaluation& evaluation);

// How often each cause strikes, and the GPU-hours that it takes.
[[nodiscard]] Plot causes_plot(const report::Evaluation& evaluation);

[[nodiscard]] Plot spread_plot(const report::Evaluation& evaluation, report::MetricId metric);

// All that this evaluation gives, in the order of a list.
[[nodiscard]] std::vector<Plot> evaluation_plots(const report::Evaluation& evaluation);

}  // namespace orrery::gui
