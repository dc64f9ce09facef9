#pragma once

// Recovers unsaved scenarios after the program was killed or the power failed.
//
// A Recovery stands for one running program: its own folder below `folder`, held by a lock, with a
// file for each text that is not saved. A lock that nobody holds any more marks the texts of a
// program that did not end as it should: take_lost() hands them out, to one program only.
//
// Autosave writes the text of one document there, atomically, a moment after an edit, and removes
// it when the document is saved, closed or as it was.

#include <QDateTime>
#include <QLockFile>
#include <QTimer>
#include <memory>
#include <vector>

#include "gui/models/scenario_document.hpp"

namespace orrery::gui {

struct LostText {
  DocumentState state;
  QDateTime written;
};

class Recovery {
 public:
  explicit Recovery(const QString& folder);
  ~Recovery();

  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;
  Recovery(Recovery&&) = delete;
  Recovery& operator=(Recovery&&) = delete;

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
