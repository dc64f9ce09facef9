#pragma once

// Charts of the operations of a step: flame views, communication, roofline. They are empty when the
// evaluation kept no operations.

#include <QStringList>
#include <cstdint>
#include <optional>

#include "gui/models/plots/plot.hpp"
#include "sim/report/evaluation.hpp"

namespace orrery::gui {

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
[[nodiscard]] Plot flame_plot(const report::Evaluation& evaluation,
                              const QString& chart,
                              int choice);

// What of each collective is exposed, and what runs beside compute.
[[nodiscard]] Plot communication_plot(const report::Evaluation& evaluation);

// Arithmetic intensity against achieved FLOP/s, below the roofs of the GPU.
[[nodiscard]] Plot roofline_plot(const report::Evaluation& evaluation);

}  // namespace orrery::gui
