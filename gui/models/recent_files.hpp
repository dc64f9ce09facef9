#pragma once

// The list of recently opened files, newest first, kept in the settings. Files that no longer exist
// are left out.

#include <QSettings>
#include <QStringList>

namespace orrery::gui {

inline constexpr int kMostRecentFiles = 10;

[[nodiscard]] QStringList recent_files(const QSettings& settings);
void add_recent_file(QSettings& settings, const QString& path);

}  // namespace orrery::gui
