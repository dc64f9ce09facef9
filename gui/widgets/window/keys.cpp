#include "gui/widgets/window/keys.hpp"

#include <QDialog>
#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <array>

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
    {kTimeline, "J", "go to the stop that cost most"},
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
      rows += QStringLiteral("<tr><td><b>%1</b></td><td>%2</td></tr>")
                  .arg(QString(key.keys).toHtmlEscaped(), QString(key.does).toHtmlEscaped());
    }
  }
  return QStringLiteral("<h3>Keys: %1</h3><table cellpadding=\"2\">%2</table>")
      .arg(QString::fromUtf8(part.data(), static_cast<qsizetype>(part.size())), rows);
}

}  // namespace

void show_keys(QWidget* window) {
  auto* dialog = new QDialog(window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(QStringLiteral("keys"));
  dialog->setWindowTitle(QStringLiteral("Keyboard shortcuts"));
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

}  // namespace orrery::gui
