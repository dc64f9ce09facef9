#include "gui/report/report_page.hpp"

#include <QBuffer>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <algorithm>

#include "gui/charts/chart_title.hpp"
#include "gui/charts/chart_view.hpp"
#include "gui/models/jobs/answer_job.hpp"
#include "gui/models/plots/evaluation_plots.hpp"
#include "gui/models/tables/dashboard.hpp"
#include "gui/models/tables/text.hpp"
#include "sim/base/error.hpp"

namespace orrery::gui {

namespace {

// A4 upright in units of a hundredth of an inch.
constexpr int kWidth = 827;
constexpr int kHeight = 1169;
constexpr int kMargin = 42;
constexpr int kGap = 10;
constexpr int kCardsInRow = 4;
constexpr int kCardHeight = 62;
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

void dress(ChartView& chart) {
  chart.setPalette(report_palette());
  QFont small("sans-serif");
  small.setPixelSize(9);
  chart.setFont(small);
}

void paint_page(QCPPainter& painter, const ReportContent& content) {
  const Dashboard board = dashboard(*content.outcome->evaluation, nullptr);
  ChartView chart;
  dress(chart);
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
  dress(chart);
  Page page(painter);
  page.text(qt(content.outcome->evaluation->echo.name), 14, true);
  page.gap();
  page.charts(rows, chart, kFoot);
  page.foot(report_foot(content));
}

}  // namespace

QPalette report_palette() {
  QPalette palette(Qt::white);
  palette.setColor(QPalette::Base, Qt::white);
  palette.setColor(QPalette::Text, Qt::black);
  palette.setColor(QPalette::WindowText, Qt::black);
  return palette;
}

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
    // A step alone has room for what it is made of.
    content.plots.push_back(step_ledger_plot(evaluation));
    content.plots.push_back(communication_plot(evaluation));
    content.plots.push_back(memory_course_plot(evaluation));
    content.plots.push_back(roofline_plot(evaluation));
  }
  // A ledger of one account says nothing; what a step is made of fills the page then.
  std::erase_if(content.plots, [](const Plot& plot) {
    return plot.series.empty() || (plot.horizontal && plot.x.categories.size() == 1);
  });
  constexpr std::size_t kOnPage = 2 * kRowsOnFirstPage;
  for (const auto& make : {communication_plot, memory_course_plot, roofline_plot}) {
    Plot plot = make(evaluation);
    const bool there = std::any_of(content.plots.begin(), content.plots.end(),
                                   [&](const Plot& p) { return p.name == plot.name; });
    if (content.plots.size() < kOnPage && !there && !plot.series.empty()) {
      content.plots.push_back(std::move(plot));
    }
  }
  for (Plot& plot : evaluation_plots(evaluation)) {
    const bool there = std::any_of(content.plots.begin(), content.plots.end(),
                                   [&](const Plot& p) { return p.name == plot.name; });
    if (!there) {
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

}  // namespace orrery::gui
