// Pictures of a scenario's timeline as the widget draws it: the run, one step, a part of the step,
// light and dark. For documents and for eyes; called with a scenario and a folder.

#include <fmt/core.h>

#include <QApplication>
#include <QDir>
#include <cstdio>

#include "gui/timeline/store/evaluation_levels.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/load.hpp"

namespace orrery::gui {
namespace {

int draw(const std::string& file, const QString& folder) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_file(file, diagnostics);
  if (!scenario) {
    fmt::print(stderr, "{}\n", to_string(diagnostics));
    return 1;
  }
  const auto evaluation = evaluate::evaluate(
      *scenario, {.timelines = true, .operation_timeline = true, .levers = false}, diagnostics);
  if (!evaluation) {
    fmt::print(stderr, "{}\n", to_string(diagnostics));
    return 1;
  }
  TimelineView widget;
  widget.resize(1400, 760);
  widget.set_levels(timeline::levels_of(*evaluation));
  widget.show();
  QDir().mkpath(folder);
  const auto save = [&](const QString& name) {
    QApplication::processEvents();
    widget.grab().save(folder + QLatin1Char('/') + name + QStringLiteral(".png"));
  };
  for (const bool dark : {false, true}) {
    const QString mode = dark ? QStringLiteral("-dark") : QString();
    widget.setPalette(QPalette(dark ? Qt::black : Qt::white));
    widget.view().frame_all();
    save(QStringLiteral("run") + mode);
    const timeline::TimeRange all = widget.view().window();
    widget.view().set_window({all.begin, all.begin + all.length() / 50});
    widget.view_changed();
    save(QStringLiteral("run-part") + mode);
    widget.go_to_level(1);
    save(QStringLiteral("step") + mode);
    widget.toggle_fit_rows();
    save(QStringLiteral("step-all-rows") + mode);
    widget.toggle_fit_rows();
    const timeline::TimeRange step = widget.view().window();
    widget.view().set_window({step.begin, step.begin + step.length() / 12});
    widget.step_slice(true);
    save(QStringLiteral("step-part") + mode);
    widget.clear_selection();
    widget.go_to_level(2);
    save(QStringLiteral("operations") + mode);
    const timeline::TimeRange part = widget.view().window();
    widget.view().set_window({part.begin, part.begin + part.length() / 10});
    widget.view_changed();
    save(QStringLiteral("operations-near") + mode);
    widget.view().set_window(part);
    widget.go_to_level(1);
  }
  return 0;
}

}  // namespace
}  // namespace orrery::gui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  if (argc != 3) {
    fmt::print(stderr, "usage: timeline_pictures SCENARIO FOLDER\n");
    return 2;
  }
  return orrery::gui::draw(argv[1], QString::fromLocal8Bit(argv[2]));
}
