#include "gui/widgets/details_view.hpp"

#include <QEvent>
#include <QPainter>
#include <algorithm>

#include "gui/charts/chart_colors.hpp"
#include "gui/models/plots/hues.hpp"
#include "gui/models/tables/text.hpp"
#include "gui/timeline/store/evaluation_levels.hpp"
#include "gui/widgets/window/theme.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

constexpr std::size_t kLinksAtEnds = 3;  // of a long chain

QBrush brush_of(const report::DetailPart& part, bool waits, bool dark) {
  const auto* category = std::get_if<step::StepCategory>(&part.kind);
  const int of_part = category != nullptr
                          ? step_hue(*category)
                          : hue_of(timeline::category_of(std::get<run::RunActivity>(part.kind)));
  return fill_of(hue(static_cast<std::size_t>(of_part), dark), waits || is_wait_hue(of_part));
}

QString row(const QStringList& cells) {
  QString text = "<tr>";
  for (qsizetype i = 0; i < cells.size(); ++i) {
    text += QString("<td align='%1'>%2&nbsp;&nbsp;</td>").arg(i == 0 ? "left" : "right", cells[i]);
  }
  return text + "</tr>";
}

QString link(std::size_t place, const QString& words) {
  return QString("<a href='%1'>%2</a>").arg(place).arg(words.toHtmlEscaped());
}

}  // namespace

DetailsView::DetailsView(QWidget* parent) : QTextBrowser(parent) {
  setOpenLinks(false);
  setAccessibleName("Details");
  setFrameShape(QFrame::NoFrame);
  document()->setDocumentMargin(8);
  connect(this, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) {
    go_to(static_cast<std::size_t>(url.toString().toULongLong()));
  });
}

void DetailsView::go() { go_to(details_.chain.size() - 1); }

void DetailsView::go_to(std::size_t place) {
  if (place < details_.chain.size()) {
    const report::DetailLink wanted = details_.chain[place];
    emit task_wanted(wanted.device, wanted.time.begin.ns);
  }
}

void DetailsView::show_details(const report::Details& details, const QStringList& notes) {
  details_ = details;
  notes_ = notes;
  write();
}

void DetailsView::changeEvent(QEvent* event) {
  QTextBrowser::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) {
    write();
  }
}

void DetailsView::resizeEvent(QResizeEvent* event) {
  QTextBrowser::resizeEvent(event);
  if (width() != written_for_) {  // scroll bars come and go with the text itself
    write();
  }
}

// Bars of the parts, as one picture across the page.
QString DetailsView::bar() {
  constexpr int kHeight = 14;
  constexpr int kMargins = 40;  // with a scroll bar
  const double ratio = devicePixelRatioF();
  const QSize size(std::max(width() - kMargins, 40), kHeight);
  QPixmap picture((QSizeF(size) * ratio).toSize());
  picture.setDevicePixelRatio(ratio);
  picture.fill(palette().color(QPalette::Base));
  QPainter painter(&picture);
  double left = 0.0;
  for (const report::DetailPart& part : details_.parts) {
    const double width = part.share * size.width();
    painter.fillRect(QRectF(left, 0, width, kHeight),
                     brush_of(part, details_.waits, is_dark(palette())));
    left += width;
  }
  document()->addResource(QTextDocument::ImageResource, QUrl("parts"), picture);
  return QString("<p><img src='parts' width='%1' height='%2'></p>").arg(size.width()).arg(kHeight);
}

QString DetailsView::swatch(std::size_t part) {
  constexpr int kSide = 11;
  QPixmap picture(kSide, kSide);
  picture.fill(palette().color(QPalette::Base));
  QPainter painter(&picture);
  painter.fillRect(picture.rect(),
                   brush_of(details_.parts[part], details_.waits, is_dark(palette())));
  const QString name = QString("part%1").arg(part);
  document()->addResource(QTextDocument::ImageResource, QUrl(name), picture);
  return QString("<img src='%1'>&nbsp;").arg(name);
}

// "Go to it", and the tasks from effect to cause.
QString DetailsView::chain() const {
  const std::vector<report::DetailLink>& links = details_.chain;
  if (links.empty()) {
    return {};
  }
  QString text = QString("<p><b>Chain of causes</b><br>");
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links.size() > 2 * kLinksAtEnds + 1 && i >= kLinksAtEnds &&
        i + kLinksAtEnds < links.size()) {
      text += i == kLinksAtEnds ? QString(" ← %1 more").arg(links.size() - 2 * kLinksAtEnds)
                                : QString();
      continue;
    }
    text += (i == 0 ? "" : " ← ") + link(i, qt(links[i].name));
  }
  return text + ", which waited for nothing. " + link(links.size() - 1, "Go to it") + "</p>";
}

void DetailsView::write() {
  written_for_ = width();
  const QString faint = tone_color(Tone::faint, palette()).name();
  QString text = QString("<p><b>%1</b><br><span style='color:%2'>%3</span></p>")
                     .arg(qt(details_.title).toHtmlEscaped(), faint, qt(details_.place));
  if (!details_.parts.empty()) {
    text += bar() + "<table>";
    for (std::size_t i = 0; i < details_.parts.size(); ++i) {
      const report::DetailPart& part = details_.parts[i];
      text += row(
          {swatch(i) + qt(part.label), qt(format_time(part.time)), qt(format_percent(part.share))});
    }
    text += "</table>";
  }
  text += chain();
  QStringList notes = notes_;
  if (!details_.note.empty()) {
    notes.prepend(qt(details_.note));
  }
  if (!notes.isEmpty()) {
    text += "<p>" + notes.join("<br>") + "</p>";
  }
  if (!details_.worth.empty()) {
    text += "<p><b>Worth</b></p><table>";
    for (const report::DetailWorth& worth : details_.worth) {
      text += row({qt(worth.what).toHtmlEscaped(), qt(format_time(worth.time)),
                   worth.share ? qt(format_percent(*worth.share)) : QString(),
                   worth.dollars ? qt(format_money(*worth.dollars)) : QString()});
    }
    text += "</table>";
  }
  setHtml(text);
}

}  // namespace orrery::gui
