#include "gui/models/scenario_document.hpp"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardPaths>
#include <QStringDecoder>
#include <QTextCursor>
#include <QUuid>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "gui/models/tables/table.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"

namespace orrery::gui {

namespace {

// What the reader of scenarios accepts.
constexpr std::size_t kMostScenarioBytes = std::size_t{4} << 20U;

QString first_error(const Diagnostics& diagnostics) {
  return diagnostics.all().empty() ? QString() : qt(to_string(diagnostics.all().front()));
}

}  // namespace

ScenarioDocument::ScenarioDocument(QObject* parent) : QObject(parent), title_("untitled") {
  connect(&document_, &QTextDocument::contentsChanged, this, [this] {
    // Colours of the highlighter change the document too, but not what it says.
    QString now = text();
    if (now != last_text_) {
      last_text_ = std::move(now);
      emit text_changed();
    }
  });
  connect(&document_, &QTextDocument::modificationChanged, this,
          &ScenarioDocument::modified_changed);
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this, &ScenarioDocument::look_at_disk);
}

QString ScenarioDocument::read(const QString& path) {
  std::string bytes;
  try {
    bytes = read_file(std::filesystem::path(path.toStdString()), kMostScenarioBytes);
  } catch (const Error& error) {
    return qt(error.what());
  }
  QStringDecoder decode(QStringDecoder::Utf8);
  QString text = decode(QByteArrayView(bytes.data(), static_cast<qsizetype>(bytes.size())));
  if (decode.hasError() || text.contains(QChar::Null)) {
    return QString("%1: not a text in UTF-8.").arg(path);
  }
  carriage_returns_ = text.contains("\r\n");
  on_disk_ = std::move(bytes);
  document_.setPlainText(text);
  document_.setModified(false);
  document_.clearUndoRedoStacks();
  return {};
}

QString ScenarioDocument::open(const QString& path) {
  QString problem = read(path);
  if (problem.isEmpty()) {
    origin_ = path;
    set_path(path);
  }
  return problem;
}

QString ScenarioDocument::open_example(const QString& path) {
  QString problem = open(path);
  if (problem.isEmpty()) {
    title_ = title();
    set_path({});
  }
  return problem;
}

void ScenarioDocument::start_new(const QString& text, const QString& title) {
  document_.setPlainText(text);
  document_.setModified(false);
  document_.clearUndoRedoStacks();
  title_ = title;
  origin_.clear();
  set_path({});
}

DocumentState ScenarioDocument::state() const {
  return {.path = path_, .origin = origin_, .title = title(), .text = text()};
}

void ScenarioDocument::restore(const DocumentState& state) {
  if (state.path.isEmpty() || !open(state.path).isEmpty()) {
    start_new(state.text, state.title);
    origin_ = state.origin;
  } else {
    QTextCursor cursor(&document_);
    cursor.select(QTextCursor::Document);
    cursor.insertText(state.text);
  }
  document_.setModified(true);
}

ScenarioDocument* ScenarioDocument::duplicate(QObject* parent) const {
  ScenarioDocument* copy = derive(text(), "copy of " + title(), parent);
  copy->document_.setModified(false);
  return copy;
}

ScenarioDocument* ScenarioDocument::derive(const QString& text, const QString& title,
                                           QObject* parent) const {
  auto* variant = new ScenarioDocument(parent);
  variant->start_new(text, title);
  variant->origin_ = origin_;
  variant->document_.setModified(true);
  return variant;
}

QString ScenarioDocument::save_as(const QString& path) {
  if (path.isEmpty()) {
    return "This scenario has no file yet: choose one with Save as.";
  }
  QString content = text();
  if (carriage_returns_) {
    content.replace('\n', "\r\n");
  }
  std::string bytes = content.toStdString();
  const QString problem = write_or_say(path, bytes);
  if (!problem.isEmpty()) {
    return problem;
  }
  on_disk_ = std::move(bytes);
  document_.setModified(false);
  set_path(path);
  return {};
}

void ScenarioDocument::set_path(const QString& path) {
  if (!watcher_.files().isEmpty()) {
    watcher_.removePaths(watcher_.files());
  }
  path_ = path;
  if (!path.isEmpty()) {
    watcher_.addPath(path);
  }
  emit path_changed();
}

void ScenarioDocument::look_at_disk() {
  if (!QFileInfo::exists(path_)) {
    document_.setModified(true);  // what is in memory is the only copy
    emit changed_on_disk(true);
    return;
  }
  watcher_.addPath(path_);  // a file that was replaced is a new one
  try {
    if (read_file(std::filesystem::path(path_.toStdString()), kMostScenarioBytes) != on_disk_) {
      emit changed_on_disk(false);
    }
  } catch (const Error&) {
    emit changed_on_disk(false);
  }
}

QString ScenarioDocument::text() const {
  // As toPlainText(), which would make blanks of no-break spaces.
  QString raw = document_.toRawText();
  raw.replace(QChar::ParagraphSeparator, '\n');
  return raw;
}

std::string ScenarioDocument::file_name() const {
  if (!path_.isEmpty()) {
    return path_.toStdString();
  }
  return origin_.isEmpty() ? title_.toStdString() : origin_.toStdString();
}

QString ScenarioDocument::title() const {
  return path_.isEmpty() ? title_ : QFileInfo(path_).fileName();
}

QString ScenarioDocument::set_key(const QString& key, const QString& value) {
  const scenario::KeyValue change{key.toStdString(), value.toStdString(), {}};
  return set_keys(std::span(&change, 1));
}

QString ScenarioDocument::set_keys(std::span<const scenario::KeyValue> changes) {
  Diagnostics diagnostics;
  auto edited = scenario::with_keys(utf8(), changes, diagnostics);
  if (!edited) {
    return first_error(diagnostics);
  }
  scenario::drop_outdated_data(*edited, changes, file_name(), {}, diagnostics);
  replace(qt(*edited));
  return {};
}

// As one edit of what differs: the cursor stays where it is.
void ScenarioDocument::replace(const QString& after) {
  const QString before = text();
  const auto differ = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  qsizetype begin = differ.first - before.begin();
  begin -= begin > 0 && before[begin - 1].isHighSurrogate() ? 1 : 0;
  const qsizetype most = std::min(before.size(), after.size()) - begin;
  qsizetype tail = 0;
  while (tail < most && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
    ++tail;
  }
  tail -= tail > 0 && before[before.size() - tail].isLowSurrogate() ? 1 : 0;
  if (begin < before.size() || begin < after.size()) {
    change(begin, before.size() - tail - begin, after.mid(begin, after.size() - tail - begin));
  }
}

QString ScenarioDocument::remove_key(const QString& key) {
  Diagnostics diagnostics;
  const std::string before = utf8();
  const auto edit = scenario::remove_key(before, key.toStdString(), diagnostics);
  if (!edit) {
    return first_error(diagnostics);
  }
  apply(before, *edit);
  return {};
}

QString ScenarioDocument::apply(const std::string& text, const scenario::Fix& fix) {
  if (text != utf8()) {
    return "The text has changed since: look at the problem again.";
  }
  apply(text, fix.edit);
  return {};
}

void ScenarioDocument::apply(const std::string& before, const scenario::TextEdit& edit) {
  const auto units = [&before](std::size_t begin, std::size_t length) {
    return qt(before.substr(begin, length)).size();
  };
  change(units(0, edit.begin), units(edit.begin, edit.length), qt(edit.text));
}

void ScenarioDocument::change(qsizetype begin, qsizetype length, const QString& to) {
  QTextCursor cursor(&document_);
  cursor.beginEditBlock();
  cursor.setPosition(static_cast<int>(begin));
  cursor.setPosition(static_cast<int>(begin + length), QTextCursor::KeepAnchor);
  cursor.insertText(to);
  cursor.endEditBlock();
}

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
  const QString problem =
      write_or_say(QDir(own_).filePath(name + ".json"), QJsonDocument(said).toJson().toStdString());
  return problem.isEmpty() ? problem : "No recovery copy: " + problem;
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
  std::ranges::sort(lost, {}, &LostText::written);
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
