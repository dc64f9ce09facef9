#pragma once

// A saved answer in the window: its figures and tables, read only. It appears in Compare beside the
// open scenarios.

#include <QWidget>
#include <memory>

#include "sim/answer/report/files/figures.hpp"

class QTabWidget;

namespace orrery::gui {

using SavedPtr = std::shared_ptr<const report::Figures>;

class SavedPage : public QWidget {
  Q_OBJECT

 public:
  SavedPage(QString path, QString title, SavedPtr saved, QWidget* parent = nullptr);

  [[nodiscard]] const QString& path() const { return path_; }

  // Of the tab: the file, and the scenario where the file holds several.
  [[nodiscard]] const QString& title() const { return title_; }

  [[nodiscard]] const SavedPtr& saved() const { return saved_; }

  [[nodiscard]] QTabWidget& tables() { return *tables_; }

 private:
  QString path_;
  QString title_;
  SavedPtr saved_;
  QTabWidget* tables_;
};

}  // namespace orrery::gui
