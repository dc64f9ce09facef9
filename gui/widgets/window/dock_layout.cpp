#include "gui/widgets/window/dock_layout.hpp"

#include <QDockWidget>
#include <QEvent>
#include <QGuiApplication>
#include <QLayout>
#include <QMainWindow>
#include <QTimer>
#include <algorithm>
#include <utility>

namespace orrery::gui {

namespace {

bool stands(const QDockWidget* dock) { return dock->isVisible() && !dock->isFloating(); }

}  // namespace

DockLayout::DockLayout(QMainWindow* window)
    : QObject(window),
      window_(window),
      answer_(window->findChild<QDockWidget*>("Answer")),
      charts_(window->findChild<QDockWidget*>("Charts")),
      timeline_(window->findChild<QDockWidget*>("Timeline")),
      first_(window->saveState()) {
  window->installEventFilter(this);
  answer_->installEventFilter(this);
  timeline_->installEventFilter(this);
}

void DockLayout::reset() {
  of_last_time_ = false;
  window_->restoreState(first_);
  shares_ = {};
  apply_soon();
}

void DockLayout::restore(const QByteArray& state) {
  if (!window_->restoreState(state)) {
    reset();
  } else if (std::exchange(of_last_time_, false)) {
    QTimer::singleShot(0, this, [this] { keep(true); });
  } else {
    apply_soon();
  }
}

// Sizes hold once the window has laid itself out.
void DockLayout::apply_soon() {
  apply();
  QTimer::singleShot(0, this, &DockLayout::apply);
}

// Of borders that are dragged; `all`: as they are.
void DockLayout::keep(bool all) {
  const Qt::CursorShape shape = window_->cursor().shape();
  if (stands(answer_) && shape == Qt::SplitVCursor) {
    shares_.answer = static_cast<double>(answer_->height()) / window_->height();
  }
  if (stands(timeline_) && stands(charts_) && (all || shape == Qt::SplitHCursor)) {
    shares_.timeline = static_cast<double>(timeline_->width()) / window_->width();
    shares_.charts = static_cast<double>(charts_->width()) / window_->width();
  }
}

void DockLayout::apply() {
  const auto part = [](double share, int whole) { return static_cast<int>(share * whole); };
  if (stands(answer_)) {
    // As tall as its cards, unless somebody has chosen otherwise.
    constexpr double kMost = 0.4;
    const int height = part(shares_.answer > 0.0 ? shares_.answer : kMost, window_->height());
    const int wanted = answer_->widget()->layout()->sizeHint().height();
    window_->resizeDocks({answer_}, {shares_.answer > 0.0 ? height : std::min(wanted, height)},
                         Qt::Vertical);
  }
  if (stands(timeline_) && stands(charts_)) {
    const int width = window_->width();
    window_->resizeDocks({timeline_, charts_},
                         {part(shares_.timeline, width), part(shares_.charts, width)},
                         Qt::Horizontal);
  }
}

bool DockLayout::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) {
    if (watched == window_) {
      QTimer::singleShot(0, this, &DockLayout::apply);
    } else if (QGuiApplication::mouseButtons().testFlag(Qt::LeftButton)) {
      keep(false);
    }
  }
  return false;
}

}  // namespace orrery::gui
