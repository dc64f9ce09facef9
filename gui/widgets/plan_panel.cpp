#include "gui/widgets/plan_panel.hpp"

#include <QFormLayout>
#include <QLineEdit>
#include <QStackedWidget>
#include <algorithm>

#include "gui/models/scenario_document.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/widgets/layouts.hpp"
#include "sim/answer/plan/fronts.hpp"
#include "sim/answer/report/text/verdict.hpp"

namespace orrery::gui {

namespace {

// By PlanOption::Group.
constexpr std::array kGroupTitles = {"What counts", "What must hold", "Clusters and runs to try",
                                     "Layouts to try: auto, fixed, or 1,2,4"};

// "fewest GPUs" for "fewest_gpus".
QString in_words(const QString& name) {
  return name == "false" ? "no" : name == "true" ? "yes" : spoken(name.toStdString());
}

QString key_of(const QComboBox* box) { return box->currentData().toString(); }

}  // namespace

PlanOptionsView::PlanOptionsView(QWidget* parent) : QScrollArea(parent) {
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAccessibleName("Options of the plan");
}

void PlanOptionsView::set_text(const std::string& text) {
  std::vector<PlanOption> options = plan_options(text);
  if (options.empty()) {
    return;  // a text that cannot be read: what is shown stays
  }
  const auto same_key = [](const PlanOption& a, const PlanOption& b) { return a.key == b.key; };
  if (options_.empty() ||
      !std::equal(options.begin(), options.end(), options_.begin(), options_.end(), same_key)) {
    const PlanChoices chosen = choices();
    build(options);
    for (const auto& [key, value] : chosen) {
      choose(key, value);
    }
  }
  options_ = std::move(options);
  for (const PlanOption& option : options_) {
    refresh(option);
  }
}

void PlanOptionsView::build(const std::vector<PlanOption>& options) {
  lines_.clear();
  boxes_.clear();
  page_ = new QWidget(this);
  form_ = new QFormLayout(page_);
  form_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form_->setContentsMargins(8, 4, 8, 4);
  form_->setVerticalSpacing(4);
  std::optional<PlanOption::Group> group;
  for (const PlanOption& option : options) {
    if (group != option.group) {
      if (group == PlanOption::Group::goal) {
        add_trade_off();
      }
      group = option.group;
      add_group(kGroupTitles[static_cast<std::size_t>(option.group)]);
    }
    QWidget* field = nullptr;
    if (option.choices.isEmpty()) {
      auto* line = new QLineEdit(page_);
      line->setClearButtonEnabled(true);
      connect(line, &QLineEdit::returnPressed, this, &PlanOptionsView::plan_wanted);
      lines_[option.key] = line;
      field = line;
    } else {
      auto* box = new QComboBox(page_);
      box->addItem({}, QString());
      for (const QString& choice : option.choices) {
        box->addItem(in_words(choice), choice);
      }
      boxes_[option.key] = box;
      field = box;
    }
    field->setAccessibleName(qt(option.key));
    form_->addRow(option.name, field);
  }
  setWidget(page_);
}

void PlanOptionsView::add_group(const QString& title) {
  auto* head = new QLabel("<b>" + title.toHtmlEscaped() + "</b>", page_);
  head->setContentsMargins(0, form_->rowCount() == 0 ? 0 : 8, 0, 0);
  form_->addRow(head);
}

void PlanOptionsView::add_trade_off() {
  trade_x_ = new QComboBox(page_);
  trade_y_ = new QComboBox(page_);
  trade_x_->addItem("as they fit", QString());
  for (const std::string_view figure : plan::kFrontFigures) {
    for (QComboBox* box : {trade_x_, trade_y_}) {
      box->addItem(in_words(qt(figure)), qt(figure));
    }
  }
  trade_x_->setAccessibleName("Trade-off across");
  trade_y_->setAccessibleName("Trade-off upwards");
  trade_x_->setToolTip("The figures of the trade-off; they take effect with the next plan.");
  trade_y_->setToolTip(trade_x_->toolTip());
  trade_y_->setEnabled(false);
  connect(trade_x_, &QComboBox::currentIndexChanged, this, [this](int index) {
    trade_y_->setEnabled(index > 0);
    if (key_of(trade_x_) == key_of(trade_y_)) {
      trade_y_->setCurrentIndex(index == 1 ? 1 : 0);
    }
  });
  form_->addRow("trade-off", trade_x_);
  form_->addRow("against", trade_y_);
}

void PlanOptionsView::refresh(const PlanOption& option) {
  if (const auto line = lines_.find(option.key); line != lines_.end()) {
    line->second->setPlaceholderText(option.without);
    line->second->setToolTip(option.tip);
  } else if (const auto box = boxes_.find(option.key); box != boxes_.end()) {
    box->second->setItemText(
        0, in_words(option.without) + (option.stated ? " (scenario)" : " (default)"));
    box->second->setToolTip(option.tip);
  }
}

PlanChoices PlanOptionsView::choices() const {
  PlanChoices chosen;
  for (const auto& [key, line] : lines_) {
    if (!line->text().trimmed().isEmpty()) {
      chosen[key] = line->text();
    }
  }
  for (const auto& [key, box] : boxes_) {
    if (box->currentIndex() > 0) {
      chosen[key] = key_of(box);
    }
  }
  return chosen;
}

std::vector<std::string> PlanOptionsView::pareto() const {
  if (trade_x_ == nullptr || trade_x_->currentIndex() <= 0 ||
      key_of(trade_x_) == key_of(trade_y_)) {
    return {};
  }
  return {key_of(trade_x_).toStdString(), key_of(trade_y_).toStdString()};
}

bool PlanOptionsView::choose(const std::string& key, const QString& value) {
  if (const auto line = lines_.find(key); line != lines_.end()) {
    line->second->setText(value);
    return true;
  }
  const auto box = boxes_.find(key);
  if (box == boxes_.end() || box->second->findData(value) < 0) {
    return false;
  }
  box->second->setCurrentIndex(box->second->findData(value));
  return true;
}

namespace {

constexpr auto kEmpty =
    "<h3>Which layout, how many GPUs, which run?</h3>"
    "<p>Every layout of the axes on the left that keeps the rules is estimated with the model that "
    "answers the scenario. The best few are simulated with failures, checkpoints and prices, and "
    "ranked: what predictions cannot tell apart is called within error, and each runner-up says "
    "why it loses.</p>"
    "<p>Without any entry the scenario's own <code>plan:</code> holds, and where it has none every "
    "layout of its cluster is searched for the shortest step. The scenario stays as it is: a plan "
    "is opened as a new one.</p><p><a href='start'>Find the best layouts</a></p>";

}  // namespace

PlanPanel::PlanPanel(ScenarioDocument* document, QWidget* parent)
    : QWidget(parent), document_(document) {
  result_ = new PlanResultView(this);
  bar_ = words_label(this);
  bar_->setAutoFillBackground(true);
  bar_->setBackgroundRole(QPalette::ToolTipBase);
  bar_->setForegroundRole(QPalette::ToolTipText);
  bar_->setContentsMargins(8, 4, 8, 4);
  bar_->hide();
  pages_ = new QStackedWidget(this);
  pages_->addWidget(build_empty());
  pages_->addWidget(result_);
  auto* right = new QWidget(this);
  column({bar_, {pages_, 1}}, right, QMargins{}, 0);
  row({split(Qt::Horizontal, {build_asking(), right}, {330, 1100}, {1}, this)}, this, QMargins{});
  connect_jobs();
  show_running(false);
  setFocusProxy(start_);
}

QWidget* PlanPanel::build_asking() {
  auto* holder = new QWidget(this);
  options_ = new PlanOptionsView(holder);
  start_ = button(holder, "&Find the best layouts", [this] { start(); });
  start_->setDefault(true);
  stop_ = button(holder, "&Stop, keep the best", [this] { keep_best(); });
  stop_->setAutoDefault(true);
  progress_ = new QProgressBar(holder);
  progress_->setTextVisible(false);
  progress_->setMaximumHeight(6);
  progress_->setAccessibleName("Progress of the plan");
  pace_ = new QLabel(holder);
  pace_->setWordWrap(true);
  auto* below =
      column({progress_, pace_, row({{start_, 1}, stop_})}, nullptr, QMargins{8, 0, 4, 0});
  column({{options_, 1}, below}, holder, QMargins{0, 4, 4, 4});
  connect(options_, &PlanOptionsView::plan_wanted, this, &PlanPanel::start);
  return holder;
}

QWidget* PlanPanel::build_empty() {
  auto* page = new QWidget(this);
  empty_text_ = new QLabel(kEmpty, page);
  empty_text_->setWordWrap(true);
  empty_text_->setTextFormat(Qt::RichText);
  constexpr int kReadable = 620;
  empty_text_->setMaximumWidth(kReadable);
  connect(empty_text_, &QLabel::linkActivated, this, &PlanPanel::start);
  row({Laid::rest(), {column({Laid::rest(2), empty_text_, Laid::rest(3)}), 4}, Laid::rest()}, page);
  return page;
}

void PlanPanel::connect_jobs() {
  connect(&job_, &PlanJob::finished, this, &PlanPanel::take);
  connect(&job_, &PlanJob::failed, this, &PlanPanel::say);
  connect(&job_, &PlanJob::running_changed, this, &PlanPanel::show_running);
  connect(&job_, &PlanJob::advanced, this, [this](const PlanProgress& progress) {
    // Shares of a thousand: there are more layouts than an int can count.
    constexpr int kWhole = 1000;
    progress_->setRange(0, kWhole);
    progress_->setValue(
        static_cast<int>(kWhole * progress.done / std::max(progress.all, std::int64_t{1})));
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
    const PlanFileRequest request{outcome_, proposal};
    file_job_.run([request](const auto&...) { return plan_file(request); },
                  [this, request](const PlanFile& file) { take_file(request, file); });
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
  const bool had_focus = start_->hasFocus() || stop_->hasFocus();
  start_->setEnabled(!running);
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
