#include "gui/report/report_page.hpp"

#include <QBuffer>
#include <QPageSize>
#include <QPdfWriter>
#include <algorithm>

#include "gui/charts/chart_parts.hpp"
#include "gui/charts/chart_view.hpp"
#include "gui/models/plots/evaluation_plots.hpp"
#include "gui/models/tables/answer_tables.hpp"
#include "gui/models/tables/dashboard.hpp"
#include "gui/models/tables/table.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text/text.hpp"

namespace orrery::gui {

namespace {

// A4 upright in units of a hundredth of an inch.
constexpr int kWidth = 827;
constexpr int kHeight = 1169;
constexpr int kMargin = 42;
constexpr int kGap = 10;
constexpr int kCardsInRow = 4;
constexpr int kCardHeight = 62;
constexpr int kPageFont = 9;
constexpr int kPdfDots = 1200;
constexpr qsizetype kMostLines = 12;
constexpr std::size_t kRowsOnFirstPage = 3;
constexpr std::size_t kRowsOnPage = 4;

QColor ink(Tone tone) {
  return tone == Tone::good ? QColor("#00703c") : tone == Tone::bad ? QColor("#b3170b") : Qt::black;
}

using Row = std::vector<const Plot*>;

// Two charts in a row, or one that is wide.
std::vector<Row> rows_of(const std::vector<Plot>& plots) {
  std::vector<Row> rows;
  for (const Plot& plot : plots) {
    const bool beside =
        !rows.empty() && rows.back().size() == 1 && !plot.named && !rows.back().front()->named;
    if (beside) {
      rows.back().push_back(&plot);
    } else {
      rows.push_back({&plot});
    }
  }
  return rows;
}

// Draws from the top of the page downwards.
class Page {
 public:
  explicit Page(QCPPainter& painter) : painter_(painter) {}

  void text(const QString& words, double size, bool bold, const QColor& color = Qt::black) {
    set_font(size, bold);
    painter_.setPen(color);
    const QRect room(kMargin, top_, kWidth - 2 * kMargin, kHeight - top_ - kMargin);
    QRect used;
    painter_.drawText(room, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, words, &used);
    top_ += used.height() + kGap / 3;
  }

  void gap() { top_ += kGap; }

  void cards(const std::vector<Card>& cards) {
    const int width = (kWidth - 2 * kMargin - (kCardsInRow - 1) * kGap) / kCardsInRow;
    for (std::size_t i = 0; i < cards.size(); ++i) {
      const int column = static_cast<int>(i) % kCardsInRow;
      card(cards[i], QRect(kMargin + column * (width + kGap), top_, width, kCardHeight));
      const bool ends = column + 1 == kCardsInRow || i + 1 == cards.size();
      top_ += ends ? kCardHeight + kGap : 0;
    }
  }

  // In rows of two, wide ones alone, above so much room for notes.
  void charts(const std::vector<Row>& rows, ChartView& chart, int notes) {
    if (rows.empty()) {
      return;
    }
    const int room = kHeight - kMargin - top_ - notes;
    constexpr int kTallest = 250;
    const int height = std::min(room / static_cast<int>(rows.size()) - kGap, kTallest);
    for (const Row& row : rows) {
      const bool wide = row.front()->named;
      const int width = wide ? kWidth - 2 * kMargin : (kWidth - 2 * kMargin - kGap) / 2;
      int left = kMargin;
      for (const Plot* plot : row) {
        chart.show_plot(*plot);
        chart.draw(painter_, QRect(left, top_, width, height));
        left += width + kGap;
      }
      top_ += height + kGap;
    }
  }

  // The last line of the page.
  void foot(const QString& words) {
    constexpr int kFoot = 14;
    top_ = std::max(top_, kHeight - kMargin - kFoot);
    text(words, 8, false, QColor("#5c6268"));
  }

 private:
  void set_font(double size, bool bold) {
    QFont font("sans-serif");
    font.setPixelSize(static_cast<int>(size));
    font.setBold(bold);
    painter_.setFont(font);
  }

  void card(const Card& card, const QRect& place) {
    constexpr int kAir = 7;
    painter_.setPen(QPen(QColor("#c8ccd0"), 1));
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRoundedRect(place, 4, 4);
    const QRect inside = place.adjusted(kAir, kAir - 2, -kAir, -kAir + 2);
    const auto line = [&](int top, double size, bool bold, const QColor& color, const QString& t) {
      set_font(size, bold);
      painter_.setPen(color);
      const QRect room(inside.left(), inside.top() + top, inside.width(), inside.height() - top);
      painter_.drawText(room, Qt::AlignLeft | Qt::AlignTop,
                        painter_.fontMetrics().elidedText(t, Qt::ElideRight, inside.width()));
    };
    line(0, 9, false, QColor("#5c6268"), card.name);
    double size = 17;
    do {
      set_font(size, true);
      size -= 1;
    } while (size > 9 && painter_.fontMetrics().horizontalAdvance(card.value) > inside.width());
    line(14, size + 1, true, ink(card.tone), card.value);
    line(38, 8.5, false, QColor("#5c6268"), card.detail);
  }

  QCPPainter& painter_;
  int top_ = kMargin;
};

QStringList notes_of(const ReportContent& content) {
  QStringList lines;
  const report::Evaluation& evaluation = *content.outcome->evaluation;
  for (const report::ExpectationResult& result : evaluation.expectations) {
    lines.push_back(qt(to_string(result.verdict)) + ": " + qt(result.text) +
                    (result.passed() ? QString() : " (" + qt(result.detail) + ")"));
  }
  for (const Diagnostic& warning : content.outcome->diagnostics.all()) {
    lines.push_back(qt(to_string(warning)));
  }
  return lines;
}

void dress(ChartView& chart, int size) {
  chart.setPalette(QPalette(Qt::white));
  QFont font("sans-serif");
  font.setPixelSize(size);
  chart.setFont(font);
}

void paint_page(QCPPainter& painter, const ReportContent& content) {
  const Dashboard board = dashboard(*content.outcome->evaluation, nullptr);
  ChartView chart;
  dress(chart, kPageFont);
  Page page(painter);
  page.text(board.title, 20, true);
  page.text(board.badge + (board.badge.isEmpty() ? "" : ": ") + board.verdict, 13, true,
            board.tone == Tone::bad ? ink(Tone::bad) : Qt::black);
  page.text(board.subtitle, 11, false, QColor("#5c6268"));
  for (const QString& reason : board.reasons) {
    page.text(reason, 11, true, ink(Tone::bad));
  }
  page.gap();
  page.cards(board.step);
  page.cards(board.run);
  const QStringList notes = notes_of(content);
  const auto lines = std::min(notes.size(), kMostLines);
  constexpr int kLine = 16;
  std::vector<Row> rows = rows_of(content.plots);
  rows.resize(std::min(rows.size(), kRowsOnFirstPage));
  page.charts(rows, chart, (static_cast<int>(lines) + 2) * kLine);
  for (qsizetype i = 0; i < lines; ++i) {
    page.text(notes[i], 9, false);
  }
  page.foot(report_foot(content));
}

// A page of charts alone.
void paint_charts(QCPPainter& painter, const ReportContent& content, const std::vector<Row>& rows) {
  constexpr int kFoot = 20;
  ChartView chart;
  dress(chart, kPageFont);
  Page page(painter);
  page.text(qt(content.outcome->evaluation->echo.name), 14, true);
  page.gap();
  page.charts(rows, chart, kFoot);
  page.foot(report_foot(content));
}

}  // namespace

QString report_foot(const ReportContent& content) {
  const report::ScenarioEcho& echo = content.outcome->evaluation->echo;
  constexpr int kShown = 16;
  return QString("%1, SHA-256 %2..., %3")
      .arg(qt(echo.file).section('/', -1), qt(echo.sha256).left(kShown), qt(echo.software));
}

ReportContent report_content(const OutcomePtr& outcome, bool full) {
  const report::Evaluation& evaluation = *outcome->evaluation;
  ReportContent content;
  content.outcome = outcome;
  content.full = full;
  content.plots = {step_utilisation_plot(evaluation), memory_plot(evaluation),
                   run_ledger_plot(evaluation), causes_plot(evaluation)};
  if (evaluation.run) {
    for (const report::MetricId id : {report::MetricId::finish_date, report::MetricId::finish_time,
                                      report::MetricId::tokens_trained}) {
      Plot spread = spread_plot(evaluation, id);
      if (!spread.series.empty()) {
        content.plots.push_back(std::move(spread));
        break;
      }
    }
    const AnswerPtr fan = answer_text({"fan", outcome->text, outcome->file_name});
    if (fan->answer) {
      content.plots.push_back(answer_plot(*fan->answer));
    }
  } else {
    content.plots.push_back(step_ledger_plot(evaluation));
  }
  // A ledger of one account says nothing; what a step is made of fills the page then.
  std::erase_if(content.plots, [](const Plot& plot) {
    return plot.series.empty() || (plot.horizontal && plot.x.categories.size() == 1);
  });
  constexpr std::size_t kOnPage = 2 * kRowsOnFirstPage;
  const auto there = [&content](const Plot& plot) {
    return std::ranges::count(content.plots, plot.name, &Plot::name) > 0;
  };
  for (const auto& make : {communication_plot, memory_course_plot, roofline_plot}) {
    Plot plot = make(evaluation);
    if (content.plots.size() < kOnPage && !there(plot) && !plot.series.empty()) {
      content.plots.push_back(std::move(plot));
    }
  }
  for (Plot& plot : evaluation_plots(evaluation)) {
    if (!there(plot)) {
      content.more.push_back(std::move(plot));
    }
  }
  for (const AnswerChart& chart : answer_charts()) {
    if (!full || !evaluation.run || chart.answer == "fan") {
      continue;
    }
    const AnswerPtr answer = answer_text({chart.answer, outcome->text, outcome->file_name});
    if (answer->answer) {
      content.more.push_back(answer_plot(*answer->answer));
    }
  }
  return content;
}

QByteArray report_svg(const ReportContent& content) {
  return svg_of({kWidth, kHeight}, qt(content.outcome->evaluation->echo.name),
                [&content](QCPPainter& painter) {
                  painter.fillRect(0, 0, kWidth, kHeight, Qt::white);
                  paint_page(painter, content);
                });
}

QByteArray pdf_of(const QSizeF& inches, const QString& title,
                  const std::function<void(QCPPainter& painter, QPdfWriter& pdf)>& paint) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QPdfWriter pdf(&buffer);
  pdf.setResolution(kPdfDots);
  pdf.setPageSize(QPageSize(inches, QPageSize::Inch));
  pdf.setPageMargins(QMarginsF(0, 0, 0, 0));
  pdf.setTitle(title);
  pdf.setCreator("Orrery");
  QCPPainter painter(&pdf);
  paint(painter, pdf);
  painter.end();
  return bytes;
}

QByteArray report_pdf(const ReportContent& content) {
  return pdf_of(
      QPageSize::size(QPageSize::A4, QPageSize::Inch), qt(content.outcome->evaluation->echo.name),
      [&content](QCPPainter& painter, QPdfWriter& pdf) {
        painter.setWindow(0, 0, kWidth, kHeight);
        paint_page(painter, content);
        std::vector<Row> rows = rows_of(content.more);
        while (content.full && !rows.empty()) {
          const auto end =
              rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), kRowsOnPage));
          pdf.newPage();
          paint_charts(painter, content, {rows.begin(), end});
          rows.erase(rows.begin(), end);
        }
      });
}

// The page about a run for a browser: one file, no scripts.

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
  dress(chart, kPlotFont);
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
