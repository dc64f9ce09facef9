#include "sim/answer/report/text/slides.hpp"

#include <QPainter>
#include <QPdfWriter>
#include <algorithm>
#include <cmath>

#include "gui/charts/chart_parts.hpp"
#include "gui/models/plots/plot.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/report/report_page.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

// A page of 13.33 x 7.5 inches in units of 1/96 inch.
constexpr double kSlideWidth = 1280;
constexpr double kSlideHeight = 720;
constexpr double kSide = 56;
constexpr double kRoom = kSlideWidth - 2 * kSide;

const QColor kInk("#1a1f26");
const QColor kFaint("#57626e");
const QColor kLine("#d3d9e0");
const QColor kAccent("#0b5cad");
const QColor kGood("#00705a");
const QColor kBad("#b42318");
const QColor kTight("#8a5a00");

struct Face {
  double size = 15;
  bool bold = false;
  QColor ink = kInk;
  Qt::Alignment side = Qt::AlignLeft;
};

class Slide {
 public:
  Slide(QPainter& painter, const report::Slides& slides, std::size_t number)
      : painter_(painter), slides_(slides) {
    painter_.fillRect(QRectF(0, 0, kSlideWidth, kSlideHeight), Qt::white);
    painter_.fillRect(QRectF(0, 0, kSlideWidth, 8), kAccent);
    text({kSide, 26, kRoom, 22}, qt(slides.name), {.ink = kFaint});
    double size = 30;
    while (size > 16 && width_of(qt(slides.titles[number]), {size, true}) > kRoom) {
      size -= 1;
    }
    text({kSide, 46, kRoom, 40}, qt(slides.titles[number]), {size, true});
    text({kSide, 86, kRoom, 24}, qt(slides.subtitles[number]), {16, false, kFaint});
    painter_.setPen(QPen(kLine, 1));
    painter_.drawLine(QPointF(kSide, 673), QPointF(kSlideWidth - kSide, 673));
    text({kSide, 680, kRoom, 20}, qt(slides.foot), {12, false, kFaint});
    text({kSide, 680, kRoom, 20}, QString("%1 of %2").arg(number + 1).arg(slides.titles.size()),
         {12, false, kFaint, Qt::AlignRight});
  }

  void verdict() {
    badge();
    // One scale for all cards: what is broad on one is broad on the others.
    constexpr double kLeastScale = 0.15;
    double scale = kLeastScale;
    for (const report::SlideCard& card : slides_.cards) {
      scale = std::max({scale, -1.1 * card.low.value_or(0.0), 1.1 * card.high.value_or(0.0)});
    }
    constexpr double kGap = 24;
    const double width = (kRoom - 2 * kGap) / 3;
    constexpr double kTall = 150;
    double bottom = 192;
    for (std::size_t i = 0; i < slides_.cards.size(); ++i) {
      const QRectF place(kSide + static_cast<double>(i % 3) * (width + kGap),
                         192 + static_cast<double>(i / 3) * (kTall + 22), width, kTall);
      card(slides_.cards[i], place, scale);
      bottom = place.bottom();
    }
    for (const std::string& line : slides_.lines) {
      bottom += 30;
      text({kSide, bottom, kRoom, 24}, qt(line),
           {16, false, &line == slides_.lines.data() ? kInk : kFaint});
    }
  }

  void parts() {
    constexpr double kTop = 128;
    constexpr double kLeft = 300;
    constexpr double kWide = 760;
    const auto rows = static_cast<double>(slides_.parts.size());
    const double step = std::min(48.0, 530.0 / rows);
    for (int line = 0; line <= 5; ++line) {
      const double x = kLeft + kWide * line / 5.0;
      painter_.setPen(QPen(kLine, 0.7));
      painter_.drawLine(QPointF(x, kTop), QPointF(x, kTop + step * rows));
    }
    double top = kTop;
    for (const report::SlidePart& part : slides_.parts) {
      const QRectF bar(kLeft + kWide * part.before, top + step * 0.14,
                       std::max(kWide * part.share, 1.5), step * 0.72);
      const int of_part = ledger_hue(part.category);
      fill(bar,
           part.total    ? kAccent
           : of_part < 0 ? kFaint
                         : hue(static_cast<std::size_t>(of_part), false),
           is_wait_hue(of_part));
      const Face face{16, part.total, kInk, Qt::AlignRight};
      text({kSide, top, kLeft - kSide - 14, step}, qt(part.label), face);
      text({kLeft + kWide, top, 92, step},
           part.dollars ? qt(format_money(*part.dollars)) : QString(), face);
      text({kLeft + kWide + 92, top, kSlideWidth - kSide - kLeft - kWide - 92, step},
           qt(format_percent(part.share)), {15, false, kFaint, Qt::AlignRight});
      top += step;
    }
  }

  void changes() {
    double most = 0.0;
    for (const report::SlideChange& change : slides_.changes) {
      most = std::max(most, std::abs(change.saving));
    }
    double top = 132;
    const double tall = std::clamp(
        450.0 / static_cast<double>(std::max<std::size_t>(slides_.changes.size(), 1)), 46.0, 84.0);
    constexpr double kBars = 476;
    constexpr double kWide = 400;
    for (const report::SlideChange& change : slides_.changes) {
      const bool better = change.saving > 0.0;
      if (change.possible) {
        painter_.setPen(Qt::NoPen);
        painter_.setBrush(QColor("#d6f0e7"));
        painter_.drawRoundedRect(QRectF(kSide, top, kRoom, tall - 4), 5, 5);
      }
      const Face face{17, change.possible};
      text({kSide + 10, top, kBars - kSide - 20, tall - 4}, qt(change.change), face);
      const double width = most > 0.0 ? std::max(kWide * std::abs(change.saving) / most, 2.0) : 0.0;
      fill(QRectF(kBars, top + tall * 0.25, width, tall * 0.43), better ? kGood : kBad,
           !change.possible);
      text({kBars + kWide, top, 120, tall - 4}, qt(change.saving_text),
           {17, true, better ? kGood : kBad, Qt::AlignRight});
      text({kBars + kWide + 120, top, 100, tall - 4}, qt(change.time_text),
           {17, false, kInk, Qt::AlignRight});
      text({kBars + kWide + 232, top, 100, tall - 4}, qt(change.note), {15, false, kFaint});
      top += tall;
    }
    if (!slides_.changes.empty()) {
      const bool priced = std::ranges::any_of(
          slides_.changes, [](const auto& change) { return !change.saving_text.empty(); });
      text({kBars + kWide, 108, 120, 22}, priced ? "dollars" : "",
           {13, false, kFaint, Qt::AlignRight});
      text({kBars + kWide + 120, 108, 100, 22}, qt(slides_.time_head),
           {13, false, kFaint, Qt::AlignRight});
    }
    if (!slides_.caution.empty()) {
      box({kSide, 600, kRoom, 52}, qt(slides_.caution));
    }
  }

 private:
  void use(const Face& face) {
    QFont font("sans-serif");
    font.setPixelSize(static_cast<int>(std::lround(face.size)));
    font.setBold(face.bold);
    painter_.setFont(font);
    painter_.setPen(face.ink);
  }

  double width_of(const QString& words, const Face& face) {
    use(face);
    return painter_.fontMetrics().horizontalAdvance(words);
  }

  void text(const QRectF& place, const QString& words, const Face& face) {
    use(face);
    painter_.drawText(
        place, static_cast<int>((face.side | Qt::AlignVCenter).toInt()),
        painter_.fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(place.width())));
  }

  // Patterns are of dots of the device, too fine for paper: strokes are drawn.
  void fill(const QRectF& place, const QColor& ink, bool hatched) {
    if (!hatched) {
      painter_.fillRect(place, ink);
      return;
    }
    constexpr double kPeriod = 6;
    constexpr double kStroke = 1.7;
    QColor ground = ink;
    ground.setAlphaF(0.14F);
    painter_.save();
    painter_.setClipRect(place);
    painter_.fillRect(place, ground);
    painter_.setPen(QPen(ink, kStroke));
    for (double x = place.left() - place.height(); x < place.right(); x += kPeriod) {
      painter_.drawLine(QPointF(x, place.bottom()), QPointF(x + place.height(), place.top()));
    }
    painter_.restore();
  }

  void box(const QRectF& place, const QString& words) {
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(QColor("#fff1cf"));
    painter_.drawRoundedRect(place, 6, 6);
    text(place.adjusted(20, 0, -20, 0), words, {16, false, kTight});
  }

  void badge() {
    const bool tight = slides_.standing == report::Standing::tight;
    const bool fine = slides_.standing == report::Standing::fine;
    const QColor ink = fine ? kGood : tight ? kTight : kBad;
    const QString words = qt(slides_.standing_text.empty() ? "fits" : slides_.standing_text);
    const double width = width_of(words, {16, true}) + 34;
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(QColor(fine ? "#d6f0e7" : tight ? "#fff1cf" : "#fdebe8"));
    painter_.drawRoundedRect(QRectF(kSide, 132, width, 32), 16, 16);
    text({kSide, 132, width, 32}, words, {16, true, ink, Qt::AlignHCenter});
    text({kSide + width + 16, 132, kRoom - width - 16, 32}, qt(slides_.standing_why), {16});
  }

  void card(const report::SlideCard& card, const QRectF& place, double scale) {
    painter_.setPen(QPen(kLine, 1));
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRoundedRect(place, 6, 6);
    const QRectF inside = place.adjusted(24, 14, -24, -10);
    text({inside.left(), inside.top(), inside.width(), 24}, qt(card.name), {15, false, kFaint});
    text({inside.left(), inside.top() + 24, inside.width(), 44}, qt(card.value), {36, true});
    const double y = inside.top() + 86;
    const bool banded = card.low && card.high;
    if (banded || slides_.trials) {
      painter_.setPen(QPen(kLine, 1.5));
      painter_.drawLine(QPointF(inside.left(), y), QPointF(inside.right(), y));
    }
    if (!banded) {
      text({inside.left(), y + 6, inside.width(), 24},
           slides_.trials ? "the same in every trial" : "", {14, false, kFaint});
      return;
    }
    const auto x_of = [&](double off) {
      return inside.center().x() + off / scale * inside.width() / 2.0;
    };
    const QRectF band(x_of(*card.low), y - 6, x_of(*card.high) - x_of(*card.low), 12);
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(QColor("#9fc1e8"));
    painter_.drawRoundedRect(band, 6, 6);
    painter_.fillRect(QRectF(inside.center().x() - 2, y - 10, 4, 20), kAccent);
    const double low = width_of(qt(card.low_text), {14});
    const double high = width_of(qt(card.high_text), {14});
    // Side by side where the band is narrow.
    const double left =
        std::max(std::min(band.left() - low / 2, inside.center().x() - low - 8), inside.left());
    const double right =
        std::min(std::max(band.right() - high / 2, inside.center().x() + 8), inside.right() - high);
    text({left, y + 8, low + 4, 24}, qt(card.low_text), {14});
    text({right, y + 8, high + 4, 24}, qt(card.high_text), {14});
  }

  QPainter& painter_;
  const report::Slides& slides_;
};

}  // namespace

QByteArray slides_pdf(const report::Evaluation& evaluation) {
  const report::Slides slides = report::slides_of(evaluation);
  return pdf_of({kSlideWidth / 96.0, kSlideHeight / 96.0}, qt(slides.name),
                [&slides](QCPPainter& painter, QPdfWriter& pdf) {
                  painter.setWindow(0, 0, static_cast<int>(kSlideWidth),
                                    static_cast<int>(kSlideHeight));
                  painter.setRenderHint(QPainter::Antialiasing);
                  Slide(painter, slides, 0).verdict();
                  pdf.newPage();
                  Slide(painter, slides, 1).parts();
                  pdf.newPage();
                  Slide(painter, slides, 2).changes();
                });
}

}  // namespace orrery::gui
