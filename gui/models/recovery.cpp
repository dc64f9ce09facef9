#include "gui/models/recovery.hpp"

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardPaths>
#include <QUuid>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"

namespace orrery::gui {

namespace {

constexpr std::chrono::seconds kAfterEdit{2};
constexpr auto kLockName = "lock";
constexpr auto kTexts = "*.json";

QString unique_name() { return QUuid::createUuid().toString(QUuid::WithoutBraces); }

// A lock is stale when its program is gone, however old it is.
std::unique_ptr<QLockFile> lock_of(const QString& folder) {
  auto lock = std::make_unique<QLockFile>(QDir(folder).filePath(kLockName));
  lock->setStaleLockTime(0);
  return lock;
}

QString folder_of(const QLockFile& lock) { return QFileInfo(lock.fileName()).path(); }

std::vector<LostText> read_texts(const QString& folder) {
  std::vector<LostText> texts;
  for (const QFileInfo& info : QDir(folder).entryInfoList({kTexts}, QDir::Files)) {
    QFile file(info.filePath());
    if (!file.open(QIODevice::ReadOnly)) {
      continue;
    }
    const QJsonObject said = QJsonDocument::fromJson(file.readAll()).object();
    if (said.contains("text")) {
      texts.push_back({{.path = said["path"].toString(),
                        .origin = said["origin"].toString(),
                        .title = said["title"].toString(),
                        .text = said["text"].toString()},
                       info.lastModified()});
    }
  }
  return texts;
}

}  // namespace

Recovery::Recovery(const QString& folder)
    : folder_(folder),
      own_(QDir(folder).filePath(unique_name())),
      lock_(QDir(own_).filePath(kLockName)) {
  QDir().mkpath(own_);
  lock_.setStaleLockTime(0);
  static_cast<void>(lock_.tryLock());
}

Recovery::~Recovery() {
  // The files first: a folder that nobody holds and that still has texts is one to recover.
  for (const QString& name : QDir(own_).entryList({kTexts}, QDir::Files)) {
    QDir(own_).remove(name);
  }
  lock_.unlock();
  QDir().rmdir(own_);
}

const std::shared_ptr<Recovery>& Recovery::of_program() {
  static const auto one = std::make_shared<Recovery>(
      QDir(QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation))
          .filePath("recovery"));
  return one;
}

QString Recovery::write(const QString& name, const DocumentState& state) const {
  const QJsonObject said{
      {"path", state.path}, {"origin", state.origin}, {"title", state.title}, {"text", state.text}};
  const QString path = QDir(own_).filePath(name + ".json");
  try {
    write_file_atomically(std::filesystem::path(path.toStdString()),
                          QJsonDocument(said).toJson().toStdString());
  } catch (const Error& error) {
    return QString("No recovery copy: %1").arg(error.what());
  }
  return {};
}

void Recovery::remove(const QString& name) const {
  QFile::remove(QDir(own_).filePath(name + ".json"));
}

std::vector<LostText> Recovery::take_lost() {
  std::vector<LostText> lost;
  for (const QFileInfo& info :
       QDir(folder_).entryInfoList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Time)) {
    auto lock = lock_of(info.filePath());
    if (info.filePath() == own_ || !lock->tryLock()) {
      continue;
    }
    const std::vector<LostText> texts = read_texts(info.filePath());
    lost.insert(lost.end(), texts.begin(), texts.end());
    taken_.push_back(std::move(lock));
  }
  std::sort(lost.begin(), lost.end(),
            [](const LostText& one, const LostText& other) { return one.written < other.written; });
  return lost;
}

void Recovery::drop_lost() {
  for (const auto& lock : taken_) {
    const QString folder = folder_of(*lock);
    lock->unlock();
    QDir(folder).removeRecursively();
  }
  taken_.clear();
}

Autosave::Autosave(std::shared_ptr<const Recovery> recovery, ScenarioDocument* document)
    : QObject(document), recovery_(std::move(recovery)), document_(document), name_(unique_name()) {
  delay_.setSingleShot(true);
  connect(&delay_, &QTimer::timeout, this, &Autosave::write);
  // Not started again by the next edit: who types on and on is saved too.
  const auto soon = [this] {
    if (!delay_.isActive()) {
      delay_.start(kAfterEdit);
    }
  };
  connect(document, &ScenarioDocument::text_changed, this, soon);
  connect(document, &ScenarioDocument::modified_changed, this, [this, soon](bool modified) {
    if (modified) {
      soon();
    } else {
      recovery_->remove(name_);
    }
  });
  if (document->modified()) {
    write();
  }
}

Autosave::~Autosave() { recovery_->remove(name_); }

void Autosave::write() {
  if (!document_->modified()) {
    return;
  }
  const QString problem = recovery_->write(name_, document_->state());
  if (!problem.isEmpty()) {
    emit failed(problem);
  }
}

}  // namespace orrery::gui
