#pragma once

// Three slides about a run as one PDF, 16:9: the verdict with its bands, where the money goes, what
// to change and what that saves. Words and figures are those of sim/report/text/slides.hpp.

#include <QByteArray>

#include "sim/report/evaluation.hpp"

namespace orrery::gui {

[[nodiscard]] QByteArray slides_pdf(const report::Evaluation& evaluation);

}  // namespace orrery::gui
