#pragma once

// Text editor for the scenario with line numbers, YAML colours, and marks under what the reader
// rejects; hovering over a mark shows the message and the allowed values. Keys and the names that
// they take are completed while they are typed, and by Ctrl+Space.

#include <QPlainTextEdit>
#include <QStringListModel>
#include <QSyntaxHighlighter>
#include <vector>

#include "sim/base/diagnostics.hpp"

class QCompleter;

namespace orrery::gui {

class YamlHighlighter : public QSyntaxHighlighter {
  Q_OBJECT

 public:
  explicit YamlHighlighter(QTextDocument* document);

  void set_dark(bool dark);

 protected:
  void highlightBlock(const QString& text) override;

 private:
  QTextCharFormat key_;
  QTextCharFormat comment_;
  QTextCharFormat quoted_;
  QTextCharFormat number_;
};

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
