// The page about a run for a browser: one file, no scripts.

#include "gui/charts/chart_title.hpp"
#include "gui/charts/chart_view.hpp"
#include "gui/models/tables/answer_tables.hpp"
#include "gui/models/tables/dashboard.hpp"
#include "gui/models/tables/text.hpp"
#include "gui/report/report_page.hpp"
#include "sim/base/text/text.hpp"

namespace orrery::gui {

namespace {

// What a document may hold, less what a reader cannot see (base/text/text.hpp).
QString html_text(const QString& text) {
  return QString::fromStdString(printable_lines(text.toStdString())).toHtmlEscaped();
}

// In pixels of the browser: two charts beside each other, or a wide one.
constexpr int kPlotWidth = 520;
constexpr int kWidePlotWidth = 1056;
constexpr int kPlotHeight = 320;
constexpr int kPlotFont = 12;

// Dark charts are the light ones turned over: what was written on a bar can still be read on it.
constexpr auto kStyle = R"(
:root{color-scheme:light dark;--ink:#111;--paper:#fff;--faint:#5c6268;--frame:#c8ccd0;
--line:#e4e6e8;--good:#00703c;--bad:#b3170b}
body{font-family:sans-serif;color:var(--ink);background:var(--paper);max-width:1090px;
margin:24px auto;padding:0 16px;overflow-wrap:break-word}
h1{margin-bottom:2px;line-height:1.2}h2{margin:22px 0 8px}.faint{color:var(--faint)}
.bad{color:var(--bad)}.good{color:var(--good)}
.cards{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));gap:10px}
.card{border:1px solid var(--frame);border-radius:6px;padding:8px 12px}
.value{font-size:1.35em;font-weight:bold;margin:2px 0}
.table{overflow-x:auto}table{border-collapse:collapse}
td,th{text-align:left;vertical-align:top;padding:3px 16px 3px 0;border-bottom:1px solid var(--line)}
td.number,th.number{text-align:right;white-space:nowrap}
.charts{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));grid-auto-flow:dense;
gap:20px 16px}
figure{margin:0}figure.wide{grid-column:1/-1}
figure svg{display:block;width:100%;height:auto}
@media screen and (max-width:800px){.charts{grid-template-columns:minmax(0,1fr)}
figure.wide{overflow-x:auto}figure.wide svg{min-width:760px}
.cards{grid-template-columns:repeat(2,minmax(0,1fr))}}
@media screen and (max-width:480px){h1{font-size:1.5em}.value{font-size:1.15em}}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e5e5e5;--paper:#191919;--faint:#a4abb2;
--frame:#4b5157;--line:#34393d;--good:#4fc78c;--bad:#ff8f80}
figure svg{filter:invert(.9) hue-rotate(180deg)}}
@media print{:root{color-scheme:light}body{max-width:none;margin:0;padding:0;font-size:9pt}
.charts{display:block}figure{display:inline-block;width:49%;break-inside:avoid;margin-bottom:10px}
figure.wide{display:block;width:100%}.card,tr{break-inside:avoid}.table{overflow:visible}
h2{break-after:avoid}thead{display:table-header-group}}
)";

QByteArray plot_svg(const Plot& plot, ChartView& chart) {
  const QSize size(plot.named ? kWidePlotWidth : kPlotWidth, kPlotHeight);
  chart.show_plot(plot);
  const QByteArray bytes = svg_of(size, plot.title, [&](QCPPainter& painter) {
    chart.draw(painter, QRect({0, 0}, size));
  });
  return bytes.mid(bytes.indexOf("<svg"));
}

QByteArray html_figure(const Plot& plot, ChartView& chart) {
  const QString label = html_text(plot.title);
  return QString("<figure role=\"img\"%1 aria-label=\"%2\">")
             .arg(plot.named ? " class=\"wide\"" : "", label)
             .toUtf8() +
         plot_svg(plot, chart) + "</figure>\n";
}

QString html_cards(const std::vector<Card>& cards) {
  QString html = "<div class=\"cards\">\n";
  for (const Card& card : cards) {
    const char* tone = card.tone == Tone::good ? "good" : card.tone == Tone::bad ? "bad" : "";
    html += QString(
                "<div class=\"card\" title=\"%1\"><div class=\"faint\">%2</div>"
                "<div class=\"value %3\">%4</div><div class=\"faint\">%5</div></div>\n")
                .arg(html_text(card.tip), html_text(card.name), tone, html_text(card.value),
                     html_text(card.detail));
  }
  return html + "</div>\n";
}

// A head stands above what it heads: to the right where any value of its column is a number.
QString html_table(const Table& table) {
  QString html =
      "<h2>" + html_text(table.title) + "</h2>\n<div class=\"table\"><table>\n<thead><tr>";
  for (std::size_t at = 0; at < table.heads.size(); ++at) {
    html += QString("<th%1>%2</th>")
                .arg(is_numeric(table, at) ? " class=\"number\"" : "", html_text(table.heads[at]));
  }
  html += "</tr></thead>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (const Cell& cell : row) {
      html +=
          QString("<td%1>%2</td>").arg(cell.order ? " class=\"number\"" : "", html_text(cell.text));
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace

QByteArray report_html(const ReportContent& content) {
  const report::Evaluation& evaluation = *content.outcome->evaluation;
  const Dashboard board = dashboard(evaluation, nullptr);
  ChartView chart;
  chart.setPalette(report_palette());
  QFont font("sans-serif");
  font.setPixelSize(kPlotFont);
  chart.setFont(font);
  QString html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>" +
      html_text(board.title) + "</title>\n<style>" + kStyle + "</style></head>\n<body>\n<h1>" +
      html_text(board.title) + "</h1>\n<p><b>" +
      html_text(board.badge + (board.badge.isEmpty() ? "" : ": ") + board.verdict) +
      "</b></p>\n<p class=\"faint\">" + html_text(board.subtitle) + "</p>\n";
  for (const QString& reason : board.reasons) {
    html += "<p class=\"bad\">" + html_text(reason) + "</p>\n";
  }
  html += "<h2>One step</h2>\n" + html_cards(board.step);
  if (!board.run.empty()) {
    html += "<h2>The run</h2>\n" + html_cards(board.run);
  }
  html += "<h2>Charts</h2>\n<div class=\"charts\">\n";
  QByteArray bytes = html.toUtf8();
  for (const auto* plots : {&content.plots, &content.more}) {
    for (const Plot& plot : *plots) {
      bytes += html_figure(plot, chart);
    }
  }
  bytes += "</div>\n";
  QString tables;
  for (const Table& table : all_tables(evaluation)) {
    tables += html_table(table);
  }
  if (!content.outcome->diagnostics.all().empty()) {
    tables += html_table(problems_table(content.outcome->diagnostics, {}));
  }
  tables += "<p class=\"faint\">" + html_text(report_foot(content)) + "</p>\n</body>\n</html>\n";
  return bytes + tables.toUtf8();
}

}  // namespace orrery::gui
