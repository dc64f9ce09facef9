#include "gui/widgets/window/command_palette.hpp"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

namespace orrery::gui {

int match_score(const QString& typed, const QString& name) {
  constexpr int kFollows = 4;
  constexpr int kBeginsWord = 6;
  int score = 0;
  qsizetype at = 0;
  qsizetype last = -2;
  for (const QChar letter : typed) {
    if (letter.isSpace()) {
      continue;
    }
    const qsizetype found = name.indexOf(letter, at, Qt::CaseInsensitive);
    if (found < 0) {
      return -1;
    }
    const bool begins = found == 0 || !name[found - 1].isLetterOrNumber();
    score += 1 + (found == last + 1 ? kFollows : 0) + (begins ? kBeginsWord : 0);
    last = found;
    at = found + 1;
  }
  constexpr int kShorter = 100;  // of two that match alike the shorter one
  return score * kShorter - static_cast<int>(std::min<qsizetype>(name.size(), kShorter - 1)) +
         kShorter;
}

CommandPalette::CommandPalette(std::vector<Command> commands,
                               std::function<void(const QString&)> find_name, QWidget* parent)
    : QDialog(parent), commands_(std::move(commands)), find_name_(std::move(find_name)) {
  setWindowTitle("Find or do anything");
  setObjectName("palette");
  setAttribute(Qt::WA_DeleteOnClose);
  typed_ = new QLineEdit(this);
  typed_->setPlaceholderText("An action, a page, a key of the scenario, \"rank 517\"");
  typed_->setAccessibleName("Find or do anything");
  typed_->installEventFilter(this);
  list_ = new QListWidget(this);
  list_->setAccessibleName("What was found");
  list_->setUniformItemSizes(true);
  auto* column = new QVBoxLayout(this);
  column->addWidget(typed_);
  column->addWidget(list_);
  resize(560, 380);
  connect(typed_, &QLineEdit::textChanged, this, &CommandPalette::fill);
  connect(typed_, &QLineEdit::returnPressed, this, &CommandPalette::run_chosen);
  connect(list_, &QListWidget::itemActivated, this, &CommandPalette::run_chosen);
  fill();
}

void CommandPalette::fill() {
  std::vector<std::pair<int, std::size_t>> found;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const int score = match_score(typed_->text(), commands_[i].name);
    if (score >= 0) {
      found.emplace_back(-score, i);
    }
  }
  if (!typed_->text().trimmed().isEmpty()) {
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  constexpr std::size_t kMost = 200;
  list_->clear();
  for (std::size_t i = 0; i < std::min(found.size(), kMost); ++i) {
    const Command& command = commands_[found[i].second];
    auto* item = new QListWidgetItem(
        command.hint.isEmpty() ? command.name : command.name + "    " + command.hint, list_);
    item->setData(Qt::UserRole, static_cast<qulonglong>(found[i].second));
  }
  if (list_->count() == 0 && find_name_) {
    new QListWidgetItem(QString("Find \"%1\" in the timeline").arg(typed_->text().trimmed()),
                        list_);
  }
  list_->setCurrentRow(0);
}

void CommandPalette::run_chosen() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) {
    return;
  }
  const QVariant place = item->data(Qt::UserRole);
  const QString text = typed_->text().trimmed();
  auto run = place.isValid() ? commands_[place.toULongLong()].run
                             : std::function<void()>([find = find_name_, text] { find(text); });
  close();
  run();
}

// The arrow keys go through the list while the cursor stays in the line.
bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp ||
        key == Qt::Key_PageDown) {
      return QCoreApplication::sendEvent(list_, event);
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace orrery::gui
