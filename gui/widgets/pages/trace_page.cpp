#include "gui/widgets/pages/trace_page.hpp"

#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTabWidget>
#include <functional>
#include <tuple>
#include <utility>

#include "gui/models/tables/table.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/theme.hpp"

namespace orrery::gui {

TracePage::TracePage(QStringList paths, QWidget* parent)
    : QWidget(parent), paths_(std::move(paths)) {
  beside_ = new QComboBox(this);
  steps_ = new QComboBox(this);
  view_ = new QComboBox(this);
  verdict_ = words_label(this);
  timeline_ = new TimelineView(this);
  tables_ = new QTabWidget(this);
  tables_->setDocumentMode(true);
  tables_->setAccessibleName("Measured and predicted");

  auto* shown = new QWidget(this);
  auto* choices = row({});
  for (const auto& [text, box, name] : {std::tuple{"&Beside", beside_, "Scenario beside the trace"},
                                        {"&Step", steps_, "Step of the trace"},
                                        {"Sho&w", view_, "What the timeline shows"}}) {
    auto* label = new QLabel(text, this);
    label->setBuddy(box);
    box->setAccessibleName(name);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    choices->addWidget(label);
    choices->addWidget(box);
    choices->addSpacing(fontMetrics().height());
  }
  choices->addStretch(1);
  column(
      {choices, verdict_, {split(Qt::Vertical, {timeline_, tables_}, {420, 320}, {0, 1}, this), 1}},
      shown);

  waiting_ = new QWidget(this);
  waiting_text_ = new QLabel(waiting_);
  waiting_text_->setWordWrap(true);
  waiting_text_->setAlignment(Qt::AlignCenter);
  progress_ = new QProgressBar(waiting_);
  progress_->setAccessibleName("Reading the trace");
  stop_ = button(waiting_, "&Cancel", [this] { cancel(); });
  again_ = button(waiting_, "Read &again", [this] { load(); });
  column({Laid::rest(2), waiting_text_,
          row({Laid::rest(), {progress_, 2}, stop_, again_, Laid::rest()}), Laid::rest(3)},
         waiting_);
  pages_ = new QStackedWidget(this);
  pages_->addWidget(waiting_);
  pages_->addWidget(shown);
  column({pages_}, this, QMargins{});

  connect(&task_, &LatestTask::running_changed, this, &TracePage::running_changed);
  connect(&task_, &LatestTask::progressed, this,
          [this](qint64 done, qint64 all) { show_progress(*progress_, done, all); });
  connect(&task_, &LatestTask::failed, this, &TracePage::fail);
  connect(&task_, &LatestTask::cancelled, this, [this] {
    if (!files_) {
      fail("Reading was cancelled.");
    }
  });
  connect(beside_, &QComboBox::activated, this, [this](int index) {
    user_chose_ = true;
    title_beside_ = index == 0 ? QString() : beside_->itemText(index);
    ask();
  });
  connect(steps_, &QComboBox::activated, this, [this] { ask(); });
  connect(view_, &QComboBox::activated, this, [this] { show_view(); });
  load();
}

TracePage::~TracePage() { task_.disconnect(this); }

QString TracePage::title() const { return files_title(paths_); }

QString TracePage::sentence() const {
  return pages_->currentWidget() == waiting_ ? waiting_text_->text() : verdict_->text();
}

void TracePage::load() {
  waiting_text_->setText("Reading " + title() + "...");
  progress_->setRange(0, 0);
  progress_->show();
  stop_->show();
  again_->hide();
  pages_->setCurrentWidget(waiting_);
  task_.run(std::bind_front(read_trace_files, paths_),
            [this](const TraceFilesPtr& files) { take_files(files); });
}

void TracePage::fail(const QString& sentence) {
  waiting_text_->setText(sentence);
  progress_->hide();
  stop_->hide();
  again_->show();
  pages_->setCurrentWidget(waiting_);
}

void TracePage::take_files(const TraceFilesPtr& files) {
  if (!files->problem.isEmpty()) {
    fail(files->problem);
    return;
  }
  files_ = files;
  view_->clear();
  view_->addItem("one step");
  for (const timeline::ReadResult& file : files->files) {
    view_->addItem("all of " + qt(file.title));
  }
  ask();
}

void TracePage::set_candidates(std::vector<Candidate> candidates, const QString& preferred) {
  candidates_ = std::move(candidates);
  if (!user_chose_) {
    title_beside_ = preferred;
  }
  {
    const QSignalBlocker quiet(beside_);
    beside_->clear();
    beside_->addItem("nothing");
    for (const Candidate& candidate : candidates_) {
      beside_->addItem(candidate.title);
    }
    beside_->setCurrentText(title_beside_);
  }
  if (chosen() == nullptr ? asked_ != nullptr : asked_ != chosen()->outcome) {
    ask();
  }
}

const Candidate* TracePage::chosen() const {
  const int index = beside_->currentIndex() - 1;
  return index >= 0 ? &candidates_[static_cast<std::size_t>(index)] : nullptr;
}

void TracePage::ask() {
  if (!files_) {
    return;
  }
  TraceQuestion question;
  question.files = files_;
  if (const Candidate* candidate = chosen()) {
    question.prediction = candidate->outcome;
    question.prediction_title = candidate->title;
  }
  asked_ = question.prediction;
  if (steps_->currentIndex() > 0) {
    question.step = steps_->currentText().toStdString();
  }
  task_.run([question](const auto&...) { return trace_answer(question); },
            [this](const TraceAnswerPtr& answer) { take_answer(answer); });
}

void TracePage::take_answer(const TraceAnswerPtr& answer) {
  answer_ = answer;
  const QSignalBlocker quiet(steps_);
  const QString before = steps_->currentIndex() > 0 ? steps_->currentText() : QString();
  steps_->clear();
  const std::vector<std::string> names = answer->measured.step_names();
  steps_->addItem(names.size() == 1 ? QString("the only one")
                                    : QString("all %1, drawn is a typical one").arg(names.size()));
  steps_->addItems(qt(names));
  steps_->setCurrentIndex(std::max(before.isEmpty() ? 0 : steps_->findText(before), 0));
  steps_->setEnabled(names.size() > 1);
  verdict_->setText(answer->verdict);
  if (!answer->warning.isEmpty()) {
    verdict_->setText(QString("%1 <span style='color:%2'>%3</span>")
                          .arg(answer->verdict.toHtmlEscaped(),
                               tone_color(Tone::warning, palette()).name(), answer->warning));
  }
  show_tables(*tables_, answer->tables);
  if (answer->beside.empty() && view_->count() > 1) {
    view_->setCurrentIndex(1);
  }
  show_view();
  pages_->setCurrentIndex(1);
}

void TracePage::show_view() {
  const int file = view_->currentIndex() - 1;
  if (file >= 0 && files_) {
    timeline_->set_levels(timeline::levels_of(files_->files[static_cast<std::size_t>(file)]));
  } else if (answer_) {
    timeline_->set_levels(answer_->beside);
  }
}

}  // namespace orrery::gui
