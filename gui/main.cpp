// orrery-gui: the desktop program. `orrery gui` starts it; `orrery report` starts it with --report,
// which draws a page without a display.

#include <QApplication>
#include <QIcon>
#include <cstdio>
#include <string_view>

#include "gui/report/report_page.hpp"
#include "gui/widgets/main_window.hpp"

namespace {

constexpr std::string_view kHelp =
    "The desktop program: edit scenarios and see their answer\n"
    "Usage: orrery gui [FILE...]\n\n"
    "  FILE       scenarios to open\n"
    "  -h,--help  this text\n";

bool asks_for(int argc, char** argv, std::string_view word) {
  return argc > 1 && std::string_view(argv[1]) == word;
}

int show_window(const QStringList& files) {
  orrery::gui::MainWindow window;
  for (const QString& file : files) {
    window.open_file(file);
  }
  window.show();
  return QApplication::exec();
}

}  // namespace

int main(int argc, char** argv) {
  if (asks_for(argc, argv, "-h") || asks_for(argc, argv, "--help")) {
    std::fwrite(kHelp.data(), 1, kHelp.size(), stdout);
    return 0;
  }
  const bool report = asks_for(argc, argv, "--report");
  if (report) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  const QApplication application(argc, argv);
  QApplication::setApplicationName("orrery-gui");
  QApplication::setApplicationDisplayName("Orrery");
  QApplication::setOrganizationName("orrery");
  QApplication::setApplicationVersion(ORRERY_VERSION);
  QApplication::setDesktopFileName("orrery-gui");
  QApplication::setWindowIcon(QIcon(":/orrery.svg"));
  const QStringList words = QApplication::arguments().mid(1);
  return report ? orrery::gui::report_command(words.mid(1)) : show_window(words);
}
