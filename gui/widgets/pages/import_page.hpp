#pragma once

// Configuration files of other stacks on their way to a scenario: which files, what they say, what
// is still to be stated, and the text that comes of it.
//
// Reading is done on a worker thread, again after every change. "Open as a scenario" works also
// while keys are missing: they appear in the text without a value, and the document's problems name
// them.

#include <QWidget>
#include <map>

#include "gui/models/config_import.hpp"
#include "gui/models/jobs/latest_task.hpp"

class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QTabWidget;
class QVBoxLayout;

namespace orrery::gui {

class ImportPage : public QWidget {
  Q_OBJECT

 public:
  explicit ImportPage(QWidget* parent = nullptr);
  ~ImportPage() override;

  void add_files(const QStringList& paths);  // those that are not there yet
  void remove_file(int index);
  void set_format(int index, std::optional<import_config::ConfigFormat> format);

  // An empty value takes it back.
  void state(const QString& key, const QString& value);

  [[nodiscard]] QString title() const;
  [[nodiscard]] QStringList paths() const;
  [[nodiscard]] bool loading() const;

  // Null until there is one.
  [[nodiscard]] const ImportAnswerPtr& answer() const { return answer_; }

  [[nodiscard]] QString sentence() const;
  [[nodiscard]] QLineEdit* editor_of(const QString& key) const;  // null: not offered

  [[nodiscard]] QPushButton& open_button() { return *open_; }

  [[nodiscard]] QTabWidget& tables() { return *tables_; }

 signals:
  void title_changed();
  void open_wanted(const QString& text, const QString& title);
  void close_wanted();

 private:
  struct Editor {
    QWidget* field = nullptr;  // a list of names, or the line itself
    QLineEdit* line = nullptr;
  };

  QWidget* build_left();
  [[nodiscard]] bool openable() const;
  void ask();
  void take(const ImportAnswerPtr& answer);
  void fill_files();
  void fill_keys();
  void show_answer();
  void add_editor(const ImportKey& key);

  LatestTask task_;
  ImportQuestion question_;
  ImportAnswerPtr answer_;
  std::map<QString, Editor> editors_;  // by key
  QLabel* verdict_;
  QVBoxLayout* files_;
  QFormLayout* keys_;
  QTabWidget* tables_;
  QPlainTextEdit* text_;
  QPlainTextEdit* report_;
  QPushButton* open_;
};

// Asks for the files of one training; empty: none.
[[nodiscard]] QStringList ask_for_configurations(QWidget* parent);

}  // namespace orrery::gui
