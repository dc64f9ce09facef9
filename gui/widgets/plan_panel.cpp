#include "gui/widgets/plan_panel.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "gui/models/scenario_document.hpp"
#include "gui/models/tables/plan_tables.hpp"
#include "gui/models/tables/text.hpp"
#include "gui/widgets/plan_options_view.hpp"
#include "gui/widgets/plan_result_view.hpp"
#include "sim/answer/report/text/verdict.hpp"

namespace orrery::gui {

namespace {

constexpr auto kEmpty =
    "<h3>Which layout, how many GPUs, which run?</h3>"
    "<p>Every layout of the axes on the left that keeps the rules is estimated with the model that "
    "answers the scenario. The best few are simulated with failures, checkpoints and prices, and "
    "ranked: what predictions cannot tell apart is called within error, and each runner-up says "
    "why it "
    "loses.</p>"
    "<p>Without any entry the scenario's own <code>plan:</code> holds, and where it has none every "
    "layout of its cluster is searched for the shortest step. The scenario stays as it is: a plan "
    "is opened as a new one.</p>";

}  // namespace

PlanPanel::PlanPanel(ScenarioDocument* document, QWidget* parent)
    : QWidget(parent), document_(document) {
  result_ = new PlanResultView(this);
  bar_ = new QLabel(this);
  bar_->setWordWrap(true);
  bar_->setAutoFillBackground(true);
  bar_->setBackgroundRole(QPalette::ToolTipBase);
  bar_->setForegroundRole(QPalette::ToolTipText);
  bar_->setContentsMargins(8, 4, 8, 4);
  bar_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  bar_->hide();
  pages_ = new QStackedWidget(this);
  pages_->addWidget(build_empty());
  pages_->addWidget(result_);
  auto* right = new QWidget(this);
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(bar_);
  column->addWidget(pages_, 1);
  auto* splitter = new QSplitter(this);
  splitter->addWidget(build_asking());
  splitter->addWidget(right);
  splitter->setStretchFactor(1, 1);
  splitter->setSizes({330, 1100});
  splitter->setChildrenCollapsible(false);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(splitter);
  connect_jobs();
  show_running(false);
  setFocusProxy(start_);
}

QWidget* PlanPanel::build_asking() {
  auto* holder = new QWidget(this);
  options_ = new PlanOptionsView(holder);
  start_ = new QPushButton("&Find the best layouts", holder);
  start_->setDefault(true);
  stop_ = new QPushButton("&Stop, keep the best", holder);
  stop_->setAutoDefault(true);
  progress_ = new QProgressBar(holder);
  progress_->setTextVisible(false);
  progress_->setMaximumHeight(6);
  progress_->setAccessibleName("Progress of the plan");
  pace_ = new QLabel(holder);
  pace_->setWordWrap(true);
  auto* column = new QVBoxLayout(holder);
  column->setContentsMargins(0, 4, 4, 4);
  column->addWidget(options_, 1);
  column->addWidget(progress_);
  column->addWidget(pace_);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(8, 0, 4, 0);
  row->addWidget(start_, 1);
  row->addWidget(stop_);
  column->addLayout(row);
  connect(options_, &PlanOptionsView::plan_wanted, this, &PlanPanel::start);
  connect(start_, &QPushButton::clicked, this, &PlanPanel::start);
  connect(stop_, &QPushButton::clicked, this, &PlanPanel::keep_best);
  return holder;
}

QWidget* PlanPanel::build_empty() {
  auto* page = new QWidget(this);
  empty_text_ = new QLabel(kEmpty, page);
  empty_text_->setWordWrap(true);
  empty_text_->setTextFormat(Qt::RichText);
  constexpr int kReadable = 620;
  empty_text_->setMaximumWidth(kReadable);
  empty_start_ = new QPushButton("Find the &best layouts", page);
  empty_start_->setAutoDefault(true);
  auto* column = new QVBoxLayout;
  column->addStretch(2);
  column->addWidget(empty_text_);
  column->addSpacing(fontMetrics().height() / 2);
  column->addWidget(empty_start_, 0, Qt::AlignLeft);
  column->addStretch(3);
  auto* row = new QHBoxLayout(page);
  row->addStretch(1);
  row->addLayout(column, 4);
  row->addStretch(1);
  connect(empty_start_, &QPushButton::clicked, this, &PlanPanel::start);
  return page;
}

void PlanPanel::connect_jobs() {
  connect(&job_, &PlanJob::finished, this, &PlanPanel::take);
  connect(&job_, &PlanJob::failed, this, &PlanPanel::say);
  connect(&job_, &PlanJob::running_changed, this, &PlanPanel::show_running);
  connect(&job_, &PlanJob::advanced, this, [this](const PlanProgress& progress) {
    // Shares of a thousand: there are more layouts than an int can count.
    constexpr int kWhole = 1000;
    const double share =
        progress.all > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.all)
                         : 0.0;
    progress_->setRange(0, kWhole);
    progress_->setValue(static_cast<int>(share * kWhole));
    if (stop_->isEnabled()) {
      pace_->setText(progress_text(progress));
    }
    emit progressed(progress_->value(), kWhole);
  });
  connect(&file_job_, &LatestTask::failed, this, [this](const QString& sentence) {
    result_->set_opening(false);
    say(sentence);
  });
  connect(result_, &PlanResultView::open_wanted, this, [this](const auto& proposal, bool compare) {
    compare_ = compare;
    result_->set_opening(true);
    file_job_.start([this, request = PlanFileRequest{outcome_, proposal}](
                        const std::stop_token&, const LatestTask::Report&) {
      const PlanFile file = plan_file(request);
      return LatestTask::Delivery([this, request, file] { take_file(request, file); });
    });
  });
  connect(document_, &ScenarioDocument::text_changed, this, [this] {
    if (isVisible()) {
      refresh();
    }
  });
}

void PlanPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

// The form follows the scenario, and a plan of an older text says so.
void PlanPanel::refresh() {
  const std::string text = document_->utf8();
  options_->set_text(text);
  if (!outcome_ || running()) {
    return;
  }
  QString notes = outcome_->plan ? plan_headline(*outcome_->plan).notes : QString();
  if (outcome_->request.text != text) {
    notes = "The scenario has changed since this plan was made." +
            (notes.isEmpty() ? QString() : "\n" + notes);
  }
  if (outcome_->plan) {
    say(notes);
  }
}

void PlanPanel::say(const QString& sentence) {
  bar_->setText(sentence);
  bar_->setVisible(!sentence.isEmpty());
}

QString PlanPanel::sentence() const { return running() ? pace_->text() : bar_->text(); }

bool PlanPanel::running() const { return job_.running(); }

void PlanPanel::start() {
  if (running()) {
    return;
  }
  refresh();
  say({});
  const std::string text = document_->utf8();
  job_.request({.text = text,
                .file_name = document_->file_name(),
                .changes = plan_changes(text, options_->choices()),
                .pareto = options_->pareto()});
}

void PlanPanel::keep_best() {
  if (running()) {
    job_.keep_best();
    stop_->setEnabled(false);
    pace_->setText("Stopping: what is best so far is being written down...");
  }
}

void PlanPanel::drop() {
  job_.cancel();
  file_job_.cancel();
}

void PlanPanel::set_present(const OutcomePtr& answered) {
  if (answered && answered->evaluation) {
    const report::Outcome now = report::outcome_of(*answered->evaluation);
    const std::string& stands = now.reason.empty() ? now.brief : now.reason;
    present_ = QString("<p><b>As it stands:</b> %1%2</p>")
                   .arg(qt(now.headline).toHtmlEscaped(),
                        stands.empty() ? QString() : "; " + qt(stands).toHtmlEscaped());
  }
  empty_text_->setText(kEmpty + present_);
}

void PlanPanel::show_running(bool running) {
  const bool had_focus = start_->hasFocus() || stop_->hasFocus() || empty_start_->hasFocus();
  start_->setEnabled(!running);
  empty_start_->setEnabled(!running);
  stop_->setEnabled(running);
  stop_->setVisible(running);
  progress_->setVisible(running);
  pace_->setVisible(running);
  progress_->setRange(0, 0);
  pace_->setText(running ? "Reading the profiles..." : "");
  if (had_focus) {
    (running ? stop_ : start_)->setFocus();
  }
  emit running_changed(running);
}

void PlanPanel::take(const PlanPtr& outcome) {
  if (!outcome->plan) {
    say(problem_lines(outcome->diagnostics));
    return;
  }
  outcome_ = outcome;
  result_->show_plan(outcome);
  pages_->setCurrentWidget(result_);
  if (start_->hasFocus()) {
    result_->focus_ranking();  // arrows and Return go on from here
  }
  refresh();
  emit sentence_said(!plan_headline(*outcome->plan).found ? "There is no plan."
                     : outcome->plan->complete()
                         ? "The plan is ready."
                         : "Stopped: this is the best of what was looked at.");
}

QString PlanPanel::title_of(const plan::Proposal& proposal) const {
  const QString name = document_->title();
  const auto& finalists = outcome_->plan->finalists;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (finalists[i].proposal.tag == proposal.tag) {
      return i == 0 ? "best plan of " + name : QString("plan %1 of %2").arg(i + 1).arg(name);
    }
  }
  return "a plan of " + name;
}

void PlanPanel::take_file(const PlanFileRequest& request, const PlanFile& file) {
  result_->set_opening(false);
  if (!file.problem.isEmpty()) {
    say(file.problem);
    return;
  }
  emit scenario_wanted(file.text, title_of(request.proposal), compare_);
}

}  // namespace orrery::gui
