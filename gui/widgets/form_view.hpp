#pragma once

// Form for a scenario: a searchable tree of keys. A double click or F2 edits a value in place, with
// a list where only certain words are allowed.

#include <QWidget>

#include "gui/models/form_model.hpp"

class QCheckBox;
class QLabel;
class QLineEdit;
class QTreeView;

namespace orrery::gui {

class FormFilter;

class FormView : public QWidget {
  Q_OBJECT

 public:
  // The document must outlive the view.
  explicit FormView(ScenarioDocument* document, QWidget* parent = nullptr);

  [[nodiscard]] FormModel& model() { return model_; }

  bool eventFilter(QObject* watched, QEvent* event) override;

  void find();  // puts the cursor into the search field
  void edit_key(const QString& key);

 signals:
  void line_wanted(int line);

 private:
  void filter_changed();
  void edit_first();
  void describe(const QModelIndex& index);
  void show_menu(const QPoint& place);

  FormModel model_;
  FormFilter* filter_;
  QLineEdit* search_;
  QCheckBox* stated_only_;
  QTreeView* tree_;
  QLabel* help_;
};

}  // namespace orrery::gui
