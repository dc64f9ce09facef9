#pragma once

// One line that finds what the window can do: actions with their keys, open pages, keys of the
// scenario. What is typed need only be a subsequence of the name; the best match stands first.

#include <QDialog>
#include <QString>
#include <functional>
#include <span>
#include <vector>

class QLineEdit;
class QListWidget;
class QWidget;

namespace orrery::gui {

// The keyboard shortcuts and what each does, in one table for the help in the window and for
// docs/gui.md; a test keeps the page in step with it.

struct KeyHelp {
  const char* part;  // of the window: "everywhere", "timeline", "charts"
  const char* keys;
  const char* does;
};

// Those of one part stand together.
[[nodiscard]] std::span<const KeyHelp> all_keys();

// The table over the window, until Escape or its button closes it.
void show_keys(QWidget* window);

struct Command {
  QString name = {};
  QString hint = {};  // its keys, or what it is
  std::function<void()> run = {};
};

// How well the typed letters go with a name: higher is better, negative not at all. Letters that
// follow each other and beginnings of words count for more.
[[nodiscard]] int match_score(const QString& typed, const QString& name);

class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  // `find_name` takes what no command is for: the name of a slice, "rank 517".
  CommandPalette(std::vector<Command> commands, std::function<void(const QString&)> find_name,
                 QWidget* parent);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fill();
  void run_chosen();

  std::vector<Command> commands_;
  std::function<void(const QString&)> find_name_;
  QLineEdit* typed_;
  QListWidget* list_;
};

}  // namespace orrery::gui
