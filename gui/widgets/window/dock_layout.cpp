#include "gui/widgets/window/dock_layout.hpp"

#include <QDockWidget>
#include <QEvent>
#include <QGuiApplication>
#include <QMainWindow>
#include <QTimer>

namespace orrery::gui {

namespace {

bool stands(const QDockWidget* dock) {
  return dock->isVisible() && !dock->isFloating();
}

}  // namespace

DockLayout::DockLayout(QMainWindow* window)
    : QObject(window),
      window_(window),
      answer_(window->findChild<QDockWidget*>("Answer")),
      charts_(window->findChild<QDockWidget*>("Charts")),
      below_(window->findChild<QDockWidget*>("Timeline")),
      first_(window->saveState()) {
  window->installEventFilter(this);
  answer_->installEventFilter(this);
  below_->installEventFilter(this);
}

void DockLayout::reset() {
  window_->restoreState(first_);
  shares_ = {};
  apply_soon();
}

void DockLayout::restore(const QByteArray& state) {
  if (!window_->restoreState(state)) {
    reset();
    return;
  }
  QTimer::singleShot(0, this, &DockLayout::keep);
}

// Sizes hold once the window has laid itself out.
void DockLayout::apply_soon() {
  apply();
  QTimer::singleShot(0, this, &DockLayout::apply);
}

void DockLayout::keep() {
  if (stands(answer_)) {
    shares_.column = static_cast<double>(answer_->width()) / window_->width();
    shares_.answer = static_cast<double>(answer_->height()) / window_->height();
  }
  if (stands(below_)) {
    shares_.below = static_cast<double>(below_->height()) / window_->height();
  }
}

void DockLayout::apply() {
  const auto part = [](double share, int whole) { return static_cast<int>(share * whole); };
  const int height = window_->height();
  if (stands(answer_)) {
    window_->resizeDocks({answer_}, {part(shares_.column, window_->width())}, Qt::Horizontal);
  }
  if (stands(below_)) {
    window_->resizeDocks({below_}, {part(shares_.below, height)}, Qt::Vertical);
  }
  if (stands(answer_) && stands(charts_)) {
    const int answer = part(shares_.answer, height);
    const int rest = height - answer - part(shares_.below, height);
    window_->resizeDocks({answer_, charts_}, {answer, rest}, Qt::Vertical);
  }
}

bool DockLayout::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) {
    if (watched == window_) {
      QTimer::singleShot(0, this, &DockLayout::apply);
    } else if (QGuiApplication::mouseButtons().testFlag(Qt::LeftButton)) {
      keep();  // somebody drags a border
    }
  }
  return false;
}

}  // namespace orrery::gui
