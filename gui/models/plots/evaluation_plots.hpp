#pragma once

// Charts of one evaluation: ledgers, waterfalls, memory, causes and spreads; operations; maps.
// Those that the evaluation has nothing for are without series.
//
// map              | a cell is                         | its value
// -----------------|-----------------------------------|-------------------------------------------
// Ranks: memory    | a rank; a row of the grid is one  | peak memory of its stage, bytes
// Ranks: waiting   | replica or a part of it           | seconds of a step in which it waits
// Ranks: speed     | the same, where speeds are drawn  | time of its compute / nominal, median draw
// Links: load      | a link in a part of the step      | mean share of its rate
//
//   waiting = bubble + imbalance + idle of its stage + (1 - own / mean) compute
//
// Failures are points: a node at a time of one trial, in the colour of the cause.

#include <QStringList>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/plots/plot.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/sweep/answer.hpp"

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

// Step, category of the ledger, operation or collective: of one stage, else the mean of all.
[[nodiscard]] Plot operation_flame_plot(const report::Evaluation& evaluation,
                                        std::optional<std::int64_t> stage = std::nullopt);

// Chunk, layer and operation: of one stage, else of that which waits least.
[[nodiscard]] Plot layer_flame_plot(const report::Evaluation& evaluation,
                                    std::optional<std::int64_t> stage = std::nullopt);

// What a flame view of this name can be about: all or the busiest stage first, then each stage.
// Empty for other charts, and where there is one stage alone.
[[nodiscard]] QStringList flame_choices(const report::Evaluation& evaluation, const QString& chart);

// The flame view of this name for one of these choices.
[[nodiscard]] Plot flame_plot(const report::Evaluation& evaluation, const QString& chart,
                              int choice);

// What of each collective is exposed, and what runs beside compute.
[[nodiscard]] Plot communication_plot(const report::Evaluation& evaluation);

// Arithmetic intensity against achieved FLOP/s, below the roofs of the GPU.
[[nodiscard]] Plot roofline_plot(const report::Evaluation& evaluation);

[[nodiscard]] std::vector<Plot> rank_maps(const report::Evaluation& evaluation);
[[nodiscard]] Plot fabric_plot(const report::Evaluation& evaluation);
// The nodes under each switch of each tier, in the colour of what mostly goes as far.
[[nodiscard]] Plot switches_map(const report::Evaluation& evaluation);
[[nodiscard]] Plot failures_map(const report::Evaluation& evaluation);

// Over the step, and the time that flows lost on each.
[[nodiscard]] Plot links_map(const report::Evaluation& evaluation);
[[nodiscard]] Plot links_plot(const report::Evaluation& evaluation);

[[nodiscard]] Plot rollout_plot(const report::Evaluation& evaluation);

// All that this evaluation gives, in the order of a list.
[[nodiscard]] std::vector<Plot> evaluation_plots(const report::Evaluation& evaluation);

// Charts that cost many runs: name of the answer, what the list calls it.
struct AnswerChart {
  std::string answer;
  QString name;
};

[[nodiscard]] const std::vector<AnswerChart>& answer_charts();
[[nodiscard]] Plot answer_plot(const sweep::Answer& answer);

}  // namespace orrery::gui
