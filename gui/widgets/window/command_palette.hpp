#pragma once

// One line that finds what the window can do: actions with their keys, open pages, keys of the
// scenario. What is typed need only be a subsequence of the name; the best match stands first.

#include <QDialog>
#include <QString>
#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace orrery::gui {

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
