#include "gui/models/jobs/export_trace.hpp"

#include <QFileInfo>
#include <filesystem>

#include "gui/models/tables/text.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/format.hpp"
#include "sim/report/export/chrome_trace.hpp"
#include "sim/report/export/operation_trace.hpp"
#include "sim/report/export/perfetto_trace.hpp"
#include "sim/report/export/run_trace.hpp"
#include "sim/report/export/step_trace.hpp"
#include "sim/report/export/trace_choice.hpp"

namespace orrery::gui {

namespace {

// As many as `orrery export` writes unless told otherwise: a timeline in a browser stays quick.
constexpr std::size_t kMostSlices = 200'000;

report::Trace trace_of(const report::Evaluation& evaluation, std::string_view part) {
  return part == "run"          ? report::run_trace(evaluation)
         : part == "operations" ? report::operation_trace(evaluation)
                                : report::step_trace(evaluation);
}

}  // namespace

QString export_trace(const report::Evaluation& evaluation,
                     std::string_view part,
                     const QString& path) {
  const report::ChosenTrace chosen =
      report::choose_trace(trace_of(evaluation, part), {}, kMostSlices);
  const bool chrome = QFileInfo(path).suffix().toLower() == "json";
  write_file_atomically(
      std::filesystem::path(path.toStdString()),
      chrome ? report::to_chrome_trace(chosen.trace) : report::to_perfetto_trace(chosen.trace));
  const auto count = [](std::size_t number) {
    return qt(format_integer(static_cast<std::int64_t>(number)));
  };
  QString sentence =
      QString("%1: %2 slices of the %3")
          .arg(QFileInfo(path).fileName(), count(chosen.trace.slices.size()), qt(part));
  if (chosen.merged > 0) {
    sentence +=
        QString(", %1 short ones drawn as one with their neighbours").arg(count(chosen.merged));
  }
  return sentence + ".";
}

}  // namespace orrery::gui
