#include <QFileDialog>
#include <QFileInfo>
#include <QFontDatabase>
#include <QFormLayout>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QTabWidget>
#include <QToolButton>
#include <algorithm>

#include "gui/models/tables/table.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/pages/trace_page.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/window/theme.hpp"

namespace orrery::gui {

namespace {

constexpr auto kFilter =
    "Configurations (*.json *.yaml *.yml *.toml *.sh *.bash *.slurm *.sbatch *.txt);;All files (*)";
constexpr int kFormatLetters = 14;
constexpr auto kStatedOnImport = "stated on import";

QPlainTextEdit* text_view(const QString& name, QWidget* parent) {
  auto* view = new QPlainTextEdit(parent);
  view->setReadOnly(true);
  view->setLineWrapMode(QPlainTextEdit::NoWrap);
  view->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  view->setAccessibleName(name);
  return view;
}

}  // namespace

ImportPage::ImportPage(QWidget* parent) : QWidget(parent) {
  verdict_ = words_label(this);
  tables_ = new QTabWidget(this);
  tables_->setDocumentMode(true);
  tables_->setAccessibleName("What the files say");
  text_ = text_view("Scenario as text", this);
  report_ = text_view("Report of the import", this);
  text_->hide();  // until they are tabs
  report_->hide();
  column({verdict_, {split(Qt::Horizontal, {build_left(), tables_}, {460, 900}, {1}, this), 1}},
         this);
  connect(&task_, &LatestTask::failed, this,
          [this](const QString& sentence) { verdict_->setText(sentence); });
  // What is opened belongs to what is stated now.
  connect(&task_, &LatestTask::running_changed, this,
          [this](bool running) { open_->setEnabled(!running && openable()); });
  setFocusProxy(tables_);
  ask();
}

ImportPage::~ImportPage() { task_.disconnect(this); }

QWidget* ImportPage::build_left() {
  auto* inside = new QWidget(this);
  files_ = new QVBoxLayout;
  auto* add = button(inside, "&Add files...", [this] { add_files(ask_for_configurations(this)); });
  keys_ = new QFormLayout;
  keys_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  column({heading("Files of one training", 1.0, inside),
          files_,
          {add, 0, Qt::AlignLeft},
          Laid::gap(fontMetrics().height()),
          heading("What you state, before what the files say", 1.0, inside),
          keys_,
          Laid::rest()},
         inside);
  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidget(inside);

  open_ = button(this, "&Open as a scenario",
                 [this] { emit open_wanted(qt(answer_->result.scenario), answer_->title); });
  open_->setAutoDefault(true);
  auto* close = button(this, "&Close", [this] { emit close_wanted(); });
  auto* left = new QWidget(this);
  column({{scroll, 1}, row({open_, close, Laid::rest()})}, left, QMargins{});
  return left;
}

void ImportPage::add_files(const QStringList& paths) {
  for (const QString& path : paths) {
    const ImportSource source{QFileInfo(path).absoluteFilePath(), std::nullopt};
    const auto same = [&](const ImportSource& other) { return other.path == source.path; };
    if (std::ranges::none_of(question_.files, same)) {
      question_.files.push_back(source);
    }
  }
  fill_files();
}

void ImportPage::remove_file(int index) {
  question_.files.erase(question_.files.begin() + index);
  fill_files();
}

void ImportPage::set_format(int index, std::optional<import_config::ConfigFormat> format) {
  question_.files[static_cast<std::size_t>(index)].format = format;
  ask();
}

void ImportPage::state(const QString& key, const QString& value) {
  const std::string path = key.toStdString();
  const std::string text = value.trimmed().toStdString();
  std::erase_if(question_.stated, [&path](const auto& given) { return given.key == path; });
  if (!text.empty()) {
    question_.stated.push_back({path, text, kStatedOnImport});
  }
  ask();
}

QString ImportPage::title() const { return ("Import " + files_title(paths())).trimmed(); }

QStringList ImportPage::paths() const {
  QStringList all;
  for (const ImportSource& source : question_.files) {
    all << source.path;
  }
  return all;
}

QString ImportPage::sentence() const { return verdict_->text(); }

QLineEdit* ImportPage::editor_of(const QString& key) const {
  const auto found = editors_.find(key);
  return found == editors_.end() ? nullptr : found->second.line;
}

void ImportPage::ask() {
  task_.run([question = question_](const auto&...) { return import_answer(question); },
            [this](const ImportAnswerPtr& answer) { take(answer); });
}

void ImportPage::take(const ImportAnswerPtr& answer) {
  answer_ = answer;
  verdict_->setText(answer->verdict);
  open_->setEnabled(!task_.running() && openable());
  fill_keys();
  show_answer();
}

// A line for each file: its name, what it is read as, and a button that takes it away.
void ImportPage::fill_files() {
  while (QLayoutItem* item = files_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  for (int i = 0; i < static_cast<int>(question_.files.size()); ++i) {
    const ImportSource& source = question_.files[static_cast<std::size_t>(i)];
    const QString name = QFileInfo(source.path).fileName();
    auto* line = new QWidget;
    auto* label = new QLabel(name, line);
    label->setToolTip(source.path);
    label->setMinimumWidth(1);
    auto* format = new QComboBox(line);
    format->addItem("by its content");
    for (const import_config::ConfigFormatInfo& info : import_config::config_formats()) {
      format->addItem(qt(info.meaning));
    }
    format->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    format->setMinimumContentsLength(kFormatLetters);
    format->setCurrentIndex(source.format ? 1 + static_cast<int>(*source.format) : 0);
    format->setAccessibleName("Read " + name + " as");
    format->setToolTip("What it is read as");
    connect(format, &QComboBox::activated, this, [this, i](int chosen) {
      const auto formats = import_config::config_formats();
      set_format(i, chosen == 0
                        ? std::nullopt
                        : std::optional(formats[static_cast<std::size_t>(chosen - 1)].format));
    });
    auto* away = new QToolButton(line);
    away->setText("\u00d7");
    away->setToolTip("Leave this file out");
    away->setAccessibleName("Leave out " + name);
    // Queued: the line ends with its file.
    connect(
        away, &QToolButton::clicked, this, [this, i] { remove_file(i); }, Qt::QueuedConnection);
    row({{label, 1}, format, away}, line, QMargins{});
    files_->addWidget(line);
  }
  emit title_changed();
  ask();
}

void ImportPage::add_editor(const ImportKey& key) {
  Editor editor;
  if (key.choices.isEmpty()) {
    editor.line = new QLineEdit(this);
    editor.field = editor.line;
  } else {
    QComboBox* box = names_box(this, QStringList(QString()) + key.choices);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    editor.line = box->lineEdit();
    editor.field = box;
  }
  editor.field->setAccessibleName(key.path);
  connect(editor.line, &QLineEdit::textChanged, this,
          [this, path = key.path](const QString& now) { state(path, now); });
  editors_[key.path] = editor;
  keys_->addRow(key.path, editor.field);
}

// Lines stay where they are while the user types; those that nobody asks for any more go.
void ImportPage::fill_keys() {
  for (const ImportKey& key : answer_->keys) {
    if (editor_of(key.path) == nullptr) {
      add_editor(key);
    }
    const Editor& editor = editors_[key.path];
    QString tip = key.what;
    tip += key.why.isEmpty() ? QString() : "\n" + key.why;
    editor.field->setToolTip(tip);
    editor.field->setAccessibleDescription(tip);
    editor.line->setPlaceholderText(key.asked             ? QString("to be stated")
                                    : key.found.isEmpty() ? QString("by default")
                                                          : key.found + " in the files");
    auto* label = qobject_cast<QLabel*>(keys_->labelForField(editor.field));
    label->setFont(scaled(label->font(), 1.0, key.asked));
    label->setToolTip(tip);
  }
  if (answer_->result.scenario.empty()) {
    return;
  }
  for (auto known = editors_.begin(); known != editors_.end();) {
    const bool wanted =
        std::ranges::any_of(answer_->keys, [&](const auto& k) { return k.path == known->first; });
    if (!wanted && !known->second.line->hasFocus()) {
      keys_->removeRow(known->second.field);
      known = editors_.erase(known);
    } else {
      ++known;
    }
  }
}

void ImportPage::show_answer() {
  text_->setPlainText(qt(answer_->result.scenario));
  report_->setPlainText(answer_->report);
  show_tables(*tables_, answer_->tables);
  for (std::size_t i = 0; i < answer_->tables.size(); ++i) {
    const Table& table = answer_->tables[i];
    tables_->setTabText(static_cast<int>(i),
                        QString("%1 (%2)").arg(table.title).arg(table.rows.size()));
  }
  const bool any = !answer_->result.scenario.empty();
  for (const auto& [page, name] : {std::pair{text_, "Scenario"}, {report_, "Report"}}) {
    if (const int at = tables_->indexOf(page); any != (at >= 0)) {
      any ? static_cast<void>(tables_->addTab(page, name)) : tables_->removeTab(at);
    }
  }
  if (qobject_cast<AnswerTable*>(tables_->currentWidget()) && answer_->problems.has_errors()) {
    tables_->setCurrentIndex(0);
  }
}

QStringList ask_for_configurations(QWidget* parent) {
  return QFileDialog::getOpenFileNames(
      parent, "Configuration files of one training (" + known_programs() + ")", {}, kFilter);
}

}  // namespace orrery::gui
