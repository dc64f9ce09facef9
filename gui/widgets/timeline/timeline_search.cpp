#include "gui/widgets/timeline/timeline_search.hpp"

#include <QKeyEvent>
#include <QPainter>
#include <utility>

#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/theme.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

TimelineSearch::TimelineSearch(QWidget* parent) : QLineEdit(parent) {
  setPlaceholderText(tr("Find a name  (/)"));
  setAccessibleName(tr("Find in the timeline"));
  setToolTip(
      tr("Part of a name: \"layer 12\", \"wgrad\", \"all_gather\"; or \"rank 17\". "
         "Enter: the next"));
  setFocusPolicy(Qt::ClickFocus);  // the keys of the timeline are the timeline's
  connect(this, &QLineEdit::textEdited, this, [this] { show_outcome(true, {}); });
}

void TimelineSearch::start(const QString& words) {
  setFocus(Qt::ShortcutFocusReason);
  if (words.isEmpty()) {
    selectAll();
  } else {
    setText(words);
    show_outcome(true, {});
  }
}

void TimelineSearch::find(const timeline::Levels& levels, timeline::FindRequest request) {
  task_.start([this, request = std::move(request), levels](const std::stop_token& stop,
                                                           const LatestTask::Report&) {
    const auto finding = timeline::find_in_levels(levels, request, stop);
    return LatestTask::Delivery([this, finding] { report(finding); });
  });
}

void TimelineSearch::report(const std::optional<timeline::Finding>& finding) {
  if (finding) {
    const auto number = [](std::uint64_t count) {
      return QString::fromStdString(format_integer(static_cast<std::int64_t>(count)));
    };
    show_outcome(true, tr("%1 of %2").arg(number(finding->place), number(finding->found)));
    Q_EMIT found(*finding);
  } else {
    show_outcome(false, tr("none"));
  }
  Q_EMIT finished(finding.has_value());
}

void TimelineSearch::show_outcome(bool found, const QString& note) {
  QPalette colors = parentWidget()->palette();
  if (!found) {
    const timeline::Palette used =
        is_dark(colors) ? timeline::dark_palette() : timeline::light_palette();
    colors.setColor(QPalette::Text, QColor::fromRgba(used.abnormal));
  }
  setPalette(colors);
  note_ = note;
  constexpr int kGap = 12;
  setTextMargins(0, 0, note.isEmpty() ? 0 : fontMetrics().horizontalAdvance(note) + kGap, 0);
  setAccessibleDescription(note);
  update();
}

void TimelineSearch::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) {
    Q_EMIT left();
    return;
  }
  QLineEdit::keyPressEvent(event);
}

void TimelineSearch::paintEvent(QPaintEvent* event) {
  QLineEdit::paintEvent(event);
  QPainter painter(this);
  painter.setPen(palette().color(QPalette::PlaceholderText));
  painter.drawText(rect().adjusted(0, 0, -8, 0), Qt::AlignVCenter | Qt::AlignRight, note_);
}

// The timeline's part of it.

void TimelineView::place_search() {
  constexpr int kWidth = 240;
  const QRect header = regions_.header;
  const int width = std::min(kWidth, header.width() / 3);
  regions_.search =
      QRect(header.right() - width - 4, header.top() + 2, width, std::max(header.height() - 4, 1));
  search_->setGeometry(regions_.search);
  search_->setVisible(!view_.empty());
}

void TimelineView::find_next(const QString& text) {
  search_->cancel();
  const QStringList words = text.simplified().split(QLatin1Char(' '));
  bool is_number = false;
  const int rank = words.last().toInt(&is_number);
  if (view_.empty() || text.isEmpty()) {
    Q_EMIT search_finished(text.isEmpty());
  } else if (words.size() == 2 && words.first().toLower() == u"rank" && is_number) {
    Q_EMIT search_finished(go_to_rank(rank));
  } else {
    search_->find(view_.levels(), {text.toStdString(), view_.level(), view_.selected()});
  }
}

// Of the level that is shown, else of the next one that has rows of this rank, else of its stage.
bool TimelineView::go_to_rank(int rank) {
  const std::size_t count = view_.levels().size();
  const timeline::Row* found = nullptr;
  timeline::RowPlace place;
  std::size_t level = 0;
  for (std::size_t i = 0; i < count && (found == nullptr || found->mean); ++i) {
    const std::size_t at = (view_.level() + i) % count;
    const timeline::Store& store = *view_.levels()[at].store;
    const timeline::RowPlace here = place_of_rank(store, rank);
    if (here.row != timeline::kNoRow && (found == nullptr || !store.rows()[here.row].mean)) {
      found = &store.rows()[here.row];
      place = here;
      level = at;
    }
  }
  if (found != nullptr) {
    view_.go_to_level(level);
    view_.rows().reveal(place);
    changed();
  }
  search_->show_outcome(found != nullptr, found == nullptr ? tr("none")
                                          : found->mean    ? tr("mean of its stage")
                                                           : QString::fromStdString(found->name));
  return found != nullptr;
}

}  // namespace orrery::gui
