#include "gui/widgets/stale_veil.hpp"

#include <QEvent>
#include <QPainter>
#include <QWidget>

namespace orrery::gui {

namespace {

constexpr auto kVeilName = "stale";

// As large as what it covers. An opacity effect would not reach children with a ground of their
// own, as cards and charts are.
class StaleVeil : public QWidget {
 public:
  explicit StaleVeil(QWidget* panel) : QWidget(panel) {
    setObjectName(kVeilName);
    setAttribute(Qt::WA_TransparentForMouseEvents);
    panel->installEventFilter(this);
    resize(panel->size());
  }

 protected:
  bool eventFilter(QObject* /*panel*/, QEvent* event) override {
    if (event->type() == QEvent::Resize) {
      resize(parentWidget()->size());
    } else if (event->type() == QEvent::ChildAdded) {
      raise();
    }
    return false;
  }

  void paintEvent(QPaintEvent* /*event*/) override {
    constexpr int kDense = 160;  // of 255
    QColor ground = palette().color(QPalette::Window);
    ground.setAlpha(kDense);
    QPainter(this).fillRect(rect(), ground);
  }
};

}  // namespace

void set_veiled(QWidget* panel, bool veiled) {
  auto* veil = panel->findChild<QWidget*>(kVeilName, Qt::FindDirectChildrenOnly);
  if (!veiled) {
    delete veil;
  } else if (veil == nullptr) {
    veil = new StaleVeil(panel);
    veil->show();
    veil->raise();
  }
}

}  // namespace orrery::gui
