#include "gui/models/recent_files.hpp"

#include <QFileInfo>

namespace orrery::gui {

namespace {

constexpr auto kKey = "recent_files";

}  // namespace

QStringList recent_files(const QSettings& settings) {
  QStringList files = settings.value(kKey).toStringList();
  files.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
  return files;
}

void add_recent_file(QSettings& settings, const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  QStringList files = settings.value(kKey).toStringList();
  files.removeAll(absolute);
  files.prepend(absolute);
  settings.setValue(kKey, files.mid(0, kMostRecentFiles));
}

}  // namespace orrery::gui
