#include "gui/models/shipped_scenarios.hpp"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTextStream>
#include <algorithm>

#include "sim/evaluate/catalog.hpp"

namespace orrery::gui {

namespace {

QString first_sentence(const QString& comment) {
  const qsizetype end = comment.indexOf(". ");
  return end < 0 ? comment : comment.left(end + 1);
}

ShippedScenario read_head(const QFileInfo& info) {
  ShippedScenario scenario{info.absoluteFilePath(), info.completeBaseName(), {}};
  QFile file(info.absoluteFilePath());
  if (!file.open(QIODevice::ReadOnly | QIODevice::Text)) {
    return scenario;
  }
  QTextStream lines(&file);
  QString comment;
  while (!lines.atEnd()) {
    const QString line = lines.readLine();
    if (line.startsWith("# ") && !line.contains("yaml-language-server")) {
      comment += (comment.isEmpty() ? "" : " ") + line.mid(2).trimmed();
    } else if (line.startsWith("name:")) {
      scenario.name = line.section(':', 1).section(" #", 0, 0).trimmed().remove('"');
      break;
    } else if (!line.startsWith('#') && !line.startsWith("format:")) {
      break;
    }
  }
  scenario.summary = first_sentence(comment);
  return scenario;
}

}  // namespace

std::vector<ShippedScenario> shipped_scenarios() {
  std::vector<ShippedScenario> found;
  for (const auto& directory : evaluate::profile_search({}, {}).directories) {
    QDir folder(QString::fromStdString(directory.parent_path().string()));
    const auto files = folder.entryInfoList({"*.yaml"}, QDir::Files, QDir::Name);
    for (const QFileInfo& info : files) {
      found.push_back(read_head(info));
    }
    if (!found.empty()) {
      break;
    }
  }
  // The scenario that the documentation walks through comes first.
  std::stable_partition(found.begin(), found.end(), [](const ShippedScenario& scenario) {
    return scenario.path.endsWith("/llama3-405b-16k.yaml");
  });
  return found;
}

}  // namespace orrery::gui
