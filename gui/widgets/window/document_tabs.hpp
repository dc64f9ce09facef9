#pragma once

// The pages of the window; their tabs stand in a bar of their own, above the docks as well.

#include <QTabBar>
#include <QTabWidget>

class QToolBar;

namespace orrery::gui {

class DocumentTabs : public QTabWidget {
  Q_OBJECT

 public:
  explicit DocumentTabs(QWidget* parent = nullptr);

  [[nodiscard]] QTabBar* bar() { return bar_; }

  // Holds the bar, for a window to place.
  [[nodiscard]] QToolBar* tool_bar();

  [[nodiscard]] QSize minimumSizeHint() const override;
  void setTabText(int index, const QString& text);
  void setTabToolTip(int index, const QString& text);

 protected:
  void tabInserted(int index) override;
  void tabRemoved(int index) override;

 private:
  QTabBar* bar_;
};

}  // namespace orrery::gui
