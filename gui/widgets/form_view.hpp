#pragma once

// Form for a scenario: a searchable tree of keys. A double click or F2 edits a value in place, with
// a list where only certain words are allowed.

#include <QPlainTextEdit>
#include <QStringListModel>
#include <QWidget>
#include <vector>

#include "gui/models/form_model.hpp"
#include "sim/base/diagnostics.hpp"

class QCheckBox;
class QCompleter;
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

// Text editor for the scenario with line numbers, YAML colours, and marks under what the reader
// rejects; hovering over a mark shows the message and the allowed values. Keys and the names that
// they take are completed while they are typed, and by Ctrl+Space.

class YamlHighlighter;

class CodeEditor : public QPlainTextEdit {
  Q_OBJECT

 public:
  // The document must outlive the editor.
  explicit CodeEditor(QTextDocument* document, QWidget* parent = nullptr);

  void set_problems(const Diagnostics& diagnostics);
  void go_to(int line, int column);

  // What is wrong at this position of the text; empty when nothing is.
  [[nodiscard]] QString problem_at(int position) const;

  [[nodiscard]] int margin_width() const;
  void paint_margin(QPaintEvent* event);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Mark {
    int begin = 0;
    int end = 0;
    int line = 0;
    Severity severity = Severity::error;
    QString text;
  };

  void lay_out_margin();
  void show_marks();
  void complete(bool asked);
  void insert_completion(const QString& word);

  YamlHighlighter* highlighter_;
  QWidget* margin_;
  QCompleter* completer_;
  QStringListModel words_;
  bool completes_key_ = false;
  std::vector<Mark> marks_;
};

}  // namespace orrery::gui
