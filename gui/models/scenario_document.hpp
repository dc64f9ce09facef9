#pragma once

// The text under edit and its file: the document behind editor and form.
//
// Undo and redo are those of the text document, for edits by the form as well. Files are written
// atomically, with the line ends that they had. All problems are sentences; nothing is thrown and
// the text in memory is never lost.

#include <QDateTime>
#include <QFileSystemWatcher>
#include <QLockFile>
#include <QObject>
#include <QString>
#include <QTextDocument>
#include <QTimer>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/scenario/edit_text.hpp"
#include "sim/scenario/rules/fixes.hpp"

namespace orrery::gui {

// All that makes a document, to be written elsewhere and taken up again.
struct DocumentState {
  QString path = {};
  QString origin = {};
  QString title = {};
  QString text = {};
};

class ScenarioDocument : public QObject {
  Q_OBJECT

 public:
  explicit ScenarioDocument(QObject* parent = nullptr);

  // Each returns a sentence, empty when it went well. On failure nothing has changed.
  [[nodiscard]] QString open(const QString& path);
  [[nodiscard]] QString open_example(const QString& path);  // saving asks for another place

  [[nodiscard]] QString save() { return save_as(path_); }  // needs a path

  [[nodiscard]] QString save_as(const QString& path);

  [[nodiscard]] QString reload() { return open(path_); }

  void start_new(const QString& text, const QString& title);

  [[nodiscard]] DocumentState state() const;

  // Unsaved. Where the file can still be read, undo leads back to what it holds.
  void restore(const DocumentState& state);

  // A copy with the same text and origin, without a path.
  [[nodiscard]] ScenarioDocument* duplicate(QObject* parent) const;

  // The same with another text, which no file holds yet.
  [[nodiscard]] ScenarioDocument* derive(const QString& text, const QString& title,
                                         QObject* parent) const;

  // One undo step. The value stands in the text as it is given here. A stated layout.data that the
  // change makes wrong is taken away with it.
  [[nodiscard]] QString set_key(const QString& key, const QString& value);
  [[nodiscard]] QString set_keys(std::span<const scenario::KeyValue> changes);
  [[nodiscard]] QString remove_key(const QString& key);

  // The whole text, as one undo step that touches what differs.
  void replace(const QString& text);

  // One undo step as well. `text` is the one that the fix was made for.
  [[nodiscard]] QString apply(const std::string& text, const scenario::Fix& fix);

  [[nodiscard]] QString text() const;

  [[nodiscard]] std::string utf8() const { return text().toStdString(); }

  [[nodiscard]] std::string file_name() const;  // path, else origin, else the title

  [[nodiscard]] bool modified() const { return document_.isModified(); }

  [[nodiscard]] QString title() const;

  [[nodiscard]] const QString& path() const { return path_; }

  [[nodiscard]] QTextDocument* text_document() { return &document_; }

 signals:
  void text_changed();
  void modified_changed(bool modified);
  void path_changed();
  void changed_on_disk(bool deleted);

 private:
  [[nodiscard]] QString read(const QString& path);
  void set_path(const QString& path);
  void look_at_disk();
  void apply(const std::string& before, const scenario::TextEdit& edit);
  void change(qsizetype begin, qsizetype length, const QString& to);

  QTextDocument document_;
  QFileSystemWatcher watcher_;
  QString path_;    // the file that save() writes; empty until the first save, as for an example
  QString origin_;  // the file whose folder relative names in the scenario are looked up in
  QString title_;
  QString last_text_;
  std::string on_disk_;
  bool carriage_returns_ = false;
};

// Recovers unsaved scenarios after the program was killed or the power failed.
//
// A Recovery stands for one running program: its own folder below `folder`, held by a lock, with a
// file for each text that is not saved. A lock that nobody holds any more marks the texts of a
// program that did not end as it should: take_lost() hands them out, to one program only.
//
// Autosave writes the text of one document there, atomically, a moment after an edit, and removes
// it when the document is saved, closed or as it was.

struct LostText {
  DocumentState state;
  QDateTime written;
};

class Recovery {
 public:
  explicit Recovery(const QString& folder);
  ~Recovery();

  Q_DISABLE_COPY_MOVE(Recovery)

  // That of this program, in the user's folder for its data.
  [[nodiscard]] static const std::shared_ptr<Recovery>& of_program();

  // A sentence, empty when it went well.
  [[nodiscard]] QString write(const QString& name, const DocumentState& state) const;
  void remove(const QString& name) const;

  // The oldest first. They stay on disk until drop_lost(), for the next start if this one fails.
  [[nodiscard]] std::vector<LostText> take_lost();
  void drop_lost();

 private:
  QString folder_;
  QString own_;
  QLockFile lock_;
  std::vector<std::unique_ptr<QLockFile>> taken_;  // of programs that are gone
};

class Autosave : public QObject {
  Q_OBJECT

 public:
  // A child of the document.
  Autosave(std::shared_ptr<const Recovery> recovery, ScenarioDocument* document);
  ~Autosave() override;

 signals:
  void failed(const QString& sentence);

 private:
  void write();

  std::shared_ptr<const Recovery> recovery_;
  ScenarioDocument* document_;
  QString name_;
  QTimer delay_;
};

}  // namespace orrery::gui
