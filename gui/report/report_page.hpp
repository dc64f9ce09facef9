#pragma once

// One-page report of a run as PDF, SVG or HTML: cards with the figures, the main charts,
// expectations and warnings. The content is the same in all three. No display is needed, but the
// text of the charts needs a QApplication (platform offscreen).
//
// ending | form
// -------|---------------------------------------------------------------------------------------
// .html  | one file with all drawings and tables inside, without scripts; light or dark as the
//        | browser prefers, for wide and narrow windows and for paper
// .pdf   | one page A4; in full: pages with the other charts follow
// .svg   | the first page as a drawing

#include <QSizeF>
#include <QString>
#include <functional>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/plots/plot.hpp"

class QCPPainter;
class QPdfWriter;

namespace orrery::gui {

struct ReportContent {
  OutcomePtr outcome;       // with an evaluation
  std::vector<Plot> plots;  // of the first page
  std::vector<Plot> more;   // the others, of the step first
  bool full = false;        // the PDF shows them too
};

// First page: from peak to MFU, memory, ledger of the run, causes, spread of the end or of what
// varies, progress by date. Runs the scenario again for the last of them. Throws Error.
// In full: also the answers that take many runs (checkpoint interval, sensitivity).
[[nodiscard]] ReportContent report_content(const OutcomePtr& outcome, bool full = false);

// By the ending of the path; `-` writes HTML to standard output. Throws Error.
void write_report(const ReportContent& content, const QString& path);

[[nodiscard]] QByteArray report_html(const ReportContent& content);
[[nodiscard]] QByteArray report_svg(const ReportContent& content);
[[nodiscard]] QByteArray report_pdf(const ReportContent& content);

// Pages of this size as PDF.
[[nodiscard]] QByteArray pdf_of(
    const QSizeF& inches, const QString& title,
    const std::function<void(QCPPainter& painter, QPdfWriter& pdf)>& paint);

// Three slides, 16:9: the verdict with its bands, where the money goes, what to change and what
// that saves. Words and figures are those of sim/answer/report/text/slides.hpp.
[[nodiscard]] QByteArray slides_pdf(const report::Evaluation& evaluation);

// Which file, which text of it, which stack.
[[nodiscard]] QString report_foot(const ReportContent& content);

// `orrery report FILE -o OUT`: its exit code. Messages go to stderr.
[[nodiscard]] int report_command(const QStringList& arguments);

}  // namespace orrery::gui
