#include "gui/widgets/pages/document_page.hpp"

#include <QLineEdit>
#include <QScrollArea>
#include <QShortcut>
#include <QTabWidget>
#include <chrono>
#include <utility>

#include "gui/models/tables/table.hpp"
#include "gui/widgets/form_view.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/plan_panel.hpp"

namespace orrery::gui {

constexpr std::chrono::milliseconds kPause{350};

DocumentPage::DocumentPage(ScenarioDocument* document, QWidget* parent)
    : QWidget(parent), document_(document) {
  document->setParent(this);
  const auto* autosave = new Autosave(Recovery::of_program(), document);
  connect(autosave, &Autosave::failed, this, &DocumentPage::sentence);
  editor_ = new CodeEditor(document->text_document(), this);
  form_ = new FormView(document, this);
  sides_ = new QTabWidget(this);
  sides_->setDocumentMode(true);
  sides_->addTab(editor_, "Text");
  sides_->addTab(form_, "Form");
  plan_ = new PlanPanel(document, this);
  // Wider than the text has to be: it scrolls rather than take the room of the answer.
  auto* scrolled = new QScrollArea(this);
  scrolled->setWidgetResizable(true);
  scrolled->setFrameShape(QFrame::NoFrame);
  scrolled->setWidget(plan_);
  plan_side_ = scrolled;
  sides_->addTab(plan_side_, "Plan");
  find_bar_ = new QWidget(this);
  disk_bar_ = new QWidget(this);
  build_find_bar(find_bar_);
  build_disk_bar(disk_bar_);
  column({disk_bar_, {sides_, 1}, find_bar_}, this, QMargins{}, 0);

  pause_.setSingleShot(true);
  connect(&pause_, &QTimer::timeout, this, &DocumentPage::evaluate);
  connect(document, &ScenarioDocument::text_changed, this, [this] {
    live_ ? pause_.start(kPause) : emit outcome_changed();
    emit text_changed();
  });
  connect(document, &ScenarioDocument::modified_changed, this, &DocumentPage::title_changed);
  connect(document, &ScenarioDocument::path_changed, this, &DocumentPage::title_changed);
  connect(&job_, &EvaluationJob::finished, this, &DocumentPage::take);
  connect(&job_, &EvaluationJob::running_changed, this, &DocumentPage::running_changed);
  connect(&job_, &EvaluationJob::progressed, this, &DocumentPage::progressed);
  connect(&job_, &EvaluationJob::failed, this, &DocumentPage::sentence);
  connect(&job_, &EvaluationJob::cancelled, this, [this] { emit sentence("Cancelled."); });
  connect(form_, &FormView::line_wanted, this, [this](int line) { show_line(line, 1); });
  connect(sides_, &QTabWidget::currentChanged, this, &DocumentPage::side_changed);
  connect(plan_, &PlanPanel::running_changed, this, &DocumentPage::running_changed);
  connect(plan_, &PlanPanel::progressed, this, &DocumentPage::progressed);
  connect(plan_, &PlanPanel::sentence_said, this, &DocumentPage::sentence);
  connect(plan_, &PlanPanel::scenario_wanted, this, &DocumentPage::scenario_wanted);
  setFocusProxy(editor_);
}

void DocumentPage::build_find_bar(QWidget* bar) {
  find_text_ = new QLineEdit(bar);
  find_text_->setPlaceholderText("Find in the text");
  find_text_->setAccessibleName("Find in the text");
  auto* next = button(bar, "&Next", [this] { find_next(false); });
  auto* previous = button(bar, "&Previous", [this] { find_next(true); });
  row({{find_text_, 1}, previous, next}, bar, QMargins{6, 4, 6, 4});
  connect(find_text_, &QLineEdit::returnPressed, this, [this] { find_next(false); });
  auto* close = new QShortcut(QKeySequence(Qt::Key_Escape), bar);
  close->setContext(Qt::WidgetWithChildrenShortcut);
  connect(close, &QShortcut::activated, this, [this] {
    find_bar_->hide();
    editor_->setFocus();
  });
  bar->hide();
}

void DocumentPage::build_disk_bar(QWidget* bar) {
  bar->setAutoFillBackground(true);
  bar->setBackgroundRole(QPalette::ToolTipBase);
  disk_text_ = new QLabel(bar);
  disk_text_->setWordWrap(true);
  disk_text_->setForegroundRole(QPalette::ToolTipText);
  auto* reload = button(bar, "&Reload", [this] {
    const QString problem = document_->reload();
    disk_text_->setText(problem);
    disk_bar_->setVisible(!problem.isEmpty());
  });
  auto* keep = button(bar, "&Keep mine", [bar] { bar->hide(); });
  row({{disk_text_, 1}, reload, keep}, bar, QMargins{8, 4, 8, 4});
  connect(document_, &ScenarioDocument::changed_on_disk, this, [this, reload](bool deleted) {
    disk_text_->setText(deleted ? document_->path() +
                                      " is gone from the disk. The text here is still complete: "
                                      "save it to write the file again."
                                : document_->path() + " was changed by another program.");
    reload->setVisible(!deleted);
    disk_bar_->show();
    emit title_changed();
  });
  bar->hide();
}

void DocumentPage::evaluate() {
  pause_.stop();
  job_.request({.text = document_->utf8(),
                .file_name = document_->file_name(),
                .trial = trial_,
                .trial_place = trial_place_});
}

void DocumentPage::show_trial(std::optional<double> place) {
  if (!answered_ || !answered_->evaluation->run) {
    emit sentence("There is no run yet whose trials could be shown.");
    return;
  }
  const report::Evaluation& evaluation = *answered_->evaluation;
  trial_ = (evaluation.timeline_trial + 1) % static_cast<std::uint32_t>(evaluation.run->trials);
  trial_place_ = place;
  evaluate();
}

void DocumentPage::set_live(bool live) {
  live_ = live;
  if (live && stale()) {
    pause_.start(kPause);
  }
}

void DocumentPage::cancel() {
  pause_.stop();
  job_.cancel();
  plan_->keep_best();
  emit outcome_changed();  // the answer that is left may be to another text
}

void DocumentPage::drop() {
  cancel();
  plan_->drop();
}

void DocumentPage::take(const OutcomePtr& outcome) {
  outcome_ = outcome;
  editor_->set_problems(outcome->diagnostics);
  if (outcome->evaluation) {
    answered_ = outcome;
    plan_->set_present(outcome);
    if (!baseline_) {
      baseline_ = outcome;
    }
  }
  emit outcome_changed();
}

void DocumentPage::set_baseline() {
  baseline_ = answered_;
  emit outcome_changed();
}

void DocumentPage::swap_baseline() {
  if (baseline_ != answered_) {
    const OutcomePtr pinned = std::exchange(baseline_, answered_);
    document_->replace(qt(pinned->text));
    emit outcome_changed();
  }
}

bool DocumentPage::planning() const { return plan_->running(); }

bool DocumentPage::evaluating() const { return job_.running() || pause_.isActive(); }

void DocumentPage::find() {
  if (form_shown()) {
    form_->find();
    return;
  }
  show_form(false);
  find_bar_->show();
  const QString selected = editor_->textCursor().selectedText();
  if (!selected.isEmpty()) {
    find_text_->setText(selected);
  }
  find_text_->setFocus();
  find_text_->selectAll();
}

void DocumentPage::find_next(bool backward) {
  const QTextDocument::FindFlags flags =
      backward ? QTextDocument::FindBackward : QTextDocument::FindFlags();
  if (editor_->find(find_text_->text(), flags)) {
    return;
  }
  const QTextCursor before = editor_->textCursor();
  editor_->moveCursor(backward ? QTextCursor::End : QTextCursor::Start);
  if (!editor_->find(find_text_->text(), flags)) {
    editor_->setTextCursor(before);
    emit sentence(QString("\"%1\" is not in the text.").arg(find_text_->text()));
  }
}

void DocumentPage::show_line(int line, int column) {
  show_form(false);
  editor_->go_to(line, column);
}

void DocumentPage::show_form(bool form) {
  sides_->setCurrentWidget(form ? static_cast<QWidget*>(form_) : editor_);
}

void DocumentPage::show_plan() {
  sides_->setCurrentWidget(plan_side_);
  plan_->setFocus();
}

bool DocumentPage::plan_shown() const { return sides_->currentWidget() == plan_side_; }

bool DocumentPage::form_shown() const { return sides_->currentWidget() == form_; }

}  // namespace orrery::gui
