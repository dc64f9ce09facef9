// The search box of the timeline: slices of all levels by name, found on another thread.

#include <QKeyEvent>
#include <QLineEdit>
#include <utility>

#include "gui/timeline/finding.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"

namespace orrery::gui {

namespace {

constexpr int kWidth = 190;

}  // namespace

void TimelineView::make_search() {
  search_ = new QLineEdit(this);
  search_->setPlaceholderText(tr("Find a name  (/)"));
  search_->setAccessibleName(tr("Find in the timeline"));
  search_->setToolTip(
      tr("Part of a name: \"layer 12\", \"wgrad\", \"all_gather\". Enter: the next"));
  search_->setClearButtonEnabled(true);
  search_->setFocusPolicy(Qt::ClickFocus);  // the keys of the timeline are the timeline's
  search_->installEventFilter(this);
  connect(search_, &QLineEdit::returnPressed, this, [this] { find_next(search_->text()); });
  connect(search_, &QLineEdit::textEdited, this, [this] { mark_search(true); });
  connect(this, &TimelineView::search_finished, this, &TimelineView::mark_search);
}

void TimelineView::place_search() {
  const QRect header = regions_.header;
  const int width = std::min(kWidth, header.width() / 3);
  regions_.search =
      QRect(header.right() - width - 4, header.top() + 2, width, std::max(header.height() - 4, 1));
  search_->setGeometry(regions_.search);
  search_->setVisible(!view_.empty());
}

void TimelineView::mark_search(bool found) {
  QPalette colors = palette();
  if (!found) {
    colors.setColor(QPalette::Text, QColor::fromRgba(palette_.abnormal));
  }
  search_->setPalette(colors);
}

void TimelineView::start_search() {
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
}

bool TimelineView::eventFilter(QObject* object, QEvent* event) {
  if (object == search_ && event->type() == QEvent::KeyPress &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    setFocus(Qt::OtherFocusReason);
    return true;
  }
  return QWidget::eventFilter(object, event);
}

void TimelineView::find_next(const QString& text) {
  search_thread_ = {};
  const quint64 generation = ++search_generation_;
  if (view_.empty() || text.isEmpty()) {
    Q_EMIT search_finished(text.isEmpty());
    return;
  }
  timeline::FindRequest request{text.toStdString(), view_.level(), view_.selected()};
  search_thread_ =
      std::jthread([this, generation, request = std::move(request), levels = view_.levels()](
                       const std::stop_token& stop) {
        const auto finding = timeline::find_in_levels(levels, request, stop);
        if (stop.stop_requested()) {
          return;
        }
        // The thread is joined before the widget goes, so `this` is alive here.
        QMetaObject::invokeMethod(
            this,
            [this, generation, finding] {
              if (generation != search_generation_) {
                return;
              }
              if (finding) {
                view_.go_to_level(finding->level);
                view_.select_slice(finding->slice);
                report_selection();
              }
              Q_EMIT search_finished(finding.has_value());
            },
            Qt::QueuedConnection);
      });
}

}  // namespace orrery::gui
