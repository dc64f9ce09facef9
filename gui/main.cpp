// orrery-gui: the desktop program. `orrery gui` starts it; `orrery report` starts it with --report,
// which draws a page without a display.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <QApplication>
#include <QIcon>
#include <string>
#include <string_view>
#include <vector>

#include "gui/report/report_page.hpp"
#include "gui/widgets/window/main_window.hpp"
#include "sim/base/error.hpp"
#include "sim/cli/frame/command_table.hpp"
#include "sim/cli/frame/evaluating.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"

namespace {

// Questions about the command line need neither a display nor Qt's own options.
bool asks_about_itself(int argc, char** argv) {
  const std::string_view last = argv[argc - 1];
  return last == "-h" || last == "--help" || last == orrery::cli::kDescribeFlag;
}

int explain_window(int argc, char** argv) {
  return orrery::cli::run_guarded([argc, argv] {
    CLI::App app("The desktop program: edit scenarios and see their answer", "orrery gui");
    std::vector<std::string> files;
    app.add_option("FILE", files,
                   "Scenarios, also shipped ones by name, traces, saved answers, and configuration "
                   "files of other stacks")
        ->type_name("SCENARIO");
    return orrery::cli::run_program(
        app, argc, argv, "gui", [](const auto& /*watch*/) { return orrery::cli::ExitCode::ok; });
  });
}

QStringList words_of(int argc, char** argv) {
  QStringList words;
  for (int i = 1; i < argc; ++i) {
    words.push_back(QString::fromLocal8Bit(argv[i]));
  }
  return words;
}

// Qt misses the folder of a desktop session, which a page does not need.
void pass_on_message(QtMsgType /*type*/, const QMessageLogContext& /*where*/, const QString& text) {
  if (!text.startsWith("QStandardPaths:")) {
    orrery::cli::message(text.toStdString());
  }
}

// A word may be the name of a shipped scenario; one that is neither is said before a window opens.
int show_window(const QStringList& words) {
  QStringList files;
  try {
    for (const QString& word : words) {
      files << QString::fromStdString(orrery::cli::scenario_file(word.toStdString(), false));
    }
  } catch (const orrery::Error& error) {
    orrery::cli::message(error.what());
    return static_cast<int>(orrery::cli::ExitCode::io);
  }
  orrery::gui::MainWindow window;
  window.open_paths(files);
  orrery::gui::offer_lost_texts(window);
  window.show();
  return QApplication::exec();
}

int start(int argc, char** argv, bool report) {
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

}  // namespace

int main(int argc, char** argv) {
  const bool report = argc > 1 && std::string_view(argv[1]) == "--report";
  if (asks_about_itself(argc, argv)) {
    return report ? orrery::gui::report_command(words_of(argc, argv).mid(1))
                  : explain_window(argc, argv);
  }
  if (!report) {
    return start(argc, argv, report);
  }
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qInstallMessageHandler(pass_on_message);
  // Qt takes memory before the command begins, and ends the program where there is none.
  return orrery::cli::run_guarded(
      [&] { return static_cast<orrery::cli::ExitCode>(start(argc, argv, true)); });
}
