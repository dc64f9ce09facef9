#pragma once

// Writes one level of an evaluation's timeline (run, step or operations) as a trace for
// ui.perfetto.dev, as `orrery export` writes it.
//
// ending       | format
// -------------|----------------------------------
// .json        | Chrome trace events
// anything else| Perfetto's own (.pftrace)

#include <QString>
#include <string_view>

#include "sim/report/evaluation.hpp"

namespace orrery::gui {

// `part` as levels of the timeline are called: run, step, operations. A sentence about what was
// written. Throws Error.
[[nodiscard]] QString export_trace(const report::Evaluation& evaluation,
                                   std::string_view part,
                                   const QString& path);

}  // namespace orrery::gui
