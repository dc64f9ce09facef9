#pragma once

// How is the scenario changed without knowing its format? A searchable tree of keys; a double click
// or F2 on a value edits it in place, with a list where only certain words are allowed.

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

  [[nodiscard]] FormModel& model() {
    return model_;
  }

  bool eventFilter(QObject* watched, QEvent* event) override;

  void find();  // puts the cursor into the search field

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
