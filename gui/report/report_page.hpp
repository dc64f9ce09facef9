#pragma once

// What goes on the one page about a run? Cards with the figures, the main charts, expectations and
// warnings, as PDF, SVG or HTML. The same content in all three; no display is needed, but a
// QApplication (platform offscreen) for the text of the charts.
//
// ending | form
// -------|---------------------------------------------------------------------------------------
// .html  | one file with the drawings inside, black on white, without scripts
// .pdf   | one page A4
// .svg   | the same page as a drawing

#include <QString>
#include <memory>
#include <vector>

#include "gui/models/evaluation_job.hpp"
#include "gui/models/plot.hpp"

namespace orrery::gui {

struct ReportContent {
  OutcomePtr outcome;  // with an evaluation
  std::vector<Plot> plots;
};

// The charts of the page: ledgers, memory, spread of the cost or of what varies, progress by date.
// Runs the scenario again for the last of them. Throws Error.
[[nodiscard]] ReportContent report_content(const OutcomePtr& outcome);

// By the ending of the path; `-` writes HTML to standard output. Throws Error.
void write_report(const ReportContent& content, const QString& path);

[[nodiscard]] QByteArray report_html(const ReportContent& content);
[[nodiscard]] QByteArray report_svg(const ReportContent& content);
[[nodiscard]] QByteArray report_pdf(const ReportContent& content);

// `orrery report FILE -o OUT`: its exit code. Messages go to stderr.
[[nodiscard]] int report_command(const QStringList& arguments);

}  // namespace orrery::gui
