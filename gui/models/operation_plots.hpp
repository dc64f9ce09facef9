#pragma once

// Which charts do the operations of a step give? Flame views, communication, roofline. Empty when
// the evaluation kept no operations.

#include "gui/models/plot.hpp"
#include "sim/report/evaluation.hpp"

namespace orrery::gui {

// Step, category of the ledger, operation or collective; the mean of all stages.
[[nodiscard]] Plot operation_flame_plot(const report::Evaluation& evaluation);

// Chunk, layer and operation of the stage that waits least.
[[nodiscard]] Plot layer_flame_plot(const report::Evaluation& evaluation);

// What of each collective is exposed, and what runs beside compute.
[[nodiscard]] Plot communication_plot(const report::Evaluation& evaluation);

// Arithmetic intensity against achieved FLOP/s, below the roofs of the GPU.
[[nodiscard]] Plot roofline_plot(const report::Evaluation& evaluation);

}  // namespace orrery::gui
