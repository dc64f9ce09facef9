#include "gui/widgets/window/command_palette.hpp"

#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <algorithm>
#include <array>
#include <utility>

#include "gui/models/tables/table.hpp"
#include "gui/widgets/layouts.hpp"

namespace orrery::gui {

namespace {

constexpr auto kEverywhere = "everywhere";
constexpr auto kTimeline = "timeline";
constexpr auto kCharts = "charts";

constexpr std::array kKeys = std::to_array<KeyHelp>({
    {kEverywhere, "F1, ?", "this list"},
    {kEverywhere, "Ctrl+N, Ctrl+O", "new scenario, open"},
    {kEverywhere, "Ctrl+S, Ctrl+Shift+S", "save, save as"},
    {kEverywhere, "Ctrl+Shift+O", "open the traces of a real step"},
    {kEverywhere, "Ctrl+I", "import configuration files"},
    {kEverywhere, "Ctrl+D, Ctrl+K", "duplicate, compare what is open"},
    {kEverywhere, "Ctrl+Z, Ctrl+Shift+Z", "undo, redo"},
    {kEverywhere, "Ctrl+P", "find or do anything: actions, pages, keys, ranks"},
    {kEverywhere, "F6, Shift+F6", "next pane, previous pane"},
    {kEverywhere, "Ctrl+1 to Ctrl+5", "knobs, scenario, timeline, charts, details"},
    {kEverywhere, "Ctrl+F", "find in the text or the form"},
    {kEverywhere, "Ctrl+Space", "complete a key or a value in the text"},
    {kEverywhere, "Ctrl+T", "text and form"},
    {kEverywhere, "F5, Esc", "evaluate, cancel"},
    {kEverywhere, "Ctrl+L", "plan: search the best layouts"},
    {kEverywhere, "Ctrl+B", "take the answer as the baseline"},
    {kEverywhere, "Ctrl+E, Ctrl+Shift+P", "save the chart, save the report"},
    {kEverywhere, "Ctrl+W, Ctrl+Q", "close the tab, quit"},
    {kEverywhere, "B, X", "outside the text: A and back, swap A and B"},
    {kTimeline, "W, S, +, -, Ctrl+wheel", "zoom in time, at the cursor"},
    {kTimeline, "A, D, Left, Right, Shift+wheel", "move in time; dragging moves in both"},
    {kTimeline, "Up, Down, Page keys, wheel", "move over the rows"},
    {kTimeline, "1, 2, 3", "go to the run, the step, the operations"},
    {kTimeline, "J, Ctrl+J", "go to the stop that cost most; in the text with Ctrl"},
    {kTimeline, "F, double click", "frame the selection, the slice"},
    {kTimeline, "Home", "frame everything"},
    {kTimeline, ", and .", "previous and next slice of the row"},
    {kTimeline, "N, Shift+N", "the longest lit slice, then shorter ones; back"},
    {kTimeline, "/", "find slices by name; Return: the next"},
    {kTimeline, "G", "go to a rank, by its number"},
    {kTimeline, "M", "mark the time of the selection; again: forget it"},
    {kTimeline, "Drag on the axis", "measure a time"},
    {kTimeline, "Shift+drag", "select an area: its statistics"},
    {kTimeline, "P", "pin the row under the cursor"},
    {kTimeline, "Return", "go to the cause of a wait, into a stop; else fold or unfold"},
    {kTimeline, "Z, Ctrl+Shift+wheel", "all rows on the screen, height of rows"},
    {kTimeline, "Esc", "forget selection, area, mark, light"},
    {kCharts, "Arrow keys, Home, End", "from one bar or point to the next, to the ends"},
    {kCharts, "+, -, 0", "zoom, show all"},
    {kCharts, "Esc", "leave"},
});

}  // namespace

std::span<const KeyHelp> all_keys() { return kKeys; }

namespace {

QString table_of(std::string_view part) {
  QString rows;
  for (const KeyHelp& key : all_keys()) {
    if (key.part == part) {
      rows += QString("<tr><td><b>%1</b></td><td>%2</td></tr>")
                  .arg(QString(key.keys).toHtmlEscaped(), QString(key.does).toHtmlEscaped());
    }
  }
  return QString("<h3>Keys: %1</h3><table cellpadding=\"2\">%2</table>").arg(qt(part), rows);
}

}  // namespace

void show_keys(QWidget* window) {
  auto* dialog = new QDialog(window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(QString("keys"));
  dialog->setWindowTitle(QString("Keyboard shortcuts"));
  auto* grid = new QGridLayout(dialog);
  const auto add = [&](const QString& text, int row, int column, int rows) {
    grid->addWidget(new QLabel(text, dialog), row, column, rows, 1, Qt::AlignTop);
  };
  add(table_of(kEverywhere), 0, 0, 1);
  add(table_of(kCharts), 1, 0, 1);
  add(table_of(kTimeline), 0, 1, 2);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
  grid->addWidget(buttons, 2, 0, 1, 2);
  QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
  dialog->show();
}

int match_score(const QString& typed, const QString& name) {
  constexpr int kFollows = 4;
  constexpr int kBeginsWord = 6;
  constexpr int kWhole = 30;
  // As it was typed, where there is such a part, best at the begin of a word.
  const QString part = typed.trimmed();
  qsizetype at = (' ' + name).indexOf(' ' + part, 0, Qt::CaseInsensitive);
  at = at >= 0 ? at : name.indexOf(part, 0, Qt::CaseInsensitive);
  int score = at < 0 ? 0 : at == 0 ? 2 * kWhole : kWhole;
  at = std::max<qsizetype>(at, 0);
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
  column({typed_, list_}, this);
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
    std::ranges::stable_sort(found, {}, &std::pair<int, std::size_t>::first);
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
