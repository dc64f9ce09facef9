#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScopedValueRollback>
#include <QTabWidget>
#include <QTextBrowser>
#include <algorithm>
#include <utility>

#include "gui/charts/chart_view.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/widgets/charts_panel.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/plan_panel.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/window/theme.hpp"
#include "sim/answer/plan/fronts.hpp"
#include "sim/answer/plan/result/plan_words.hpp"

namespace orrery::gui {

namespace {

QString ranking_caption(const plan::Plan& plan) {
  const std::vector<std::string> lines = plan::search_lines(plan);
  QString caption;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    caption += qt(lines[i]) + ". ";
  }
  return caption + "Return or a double click opens a plan as a scenario.";
}

// Layouts and reasons are long, and said in full beside the scatter: both are begun in the table.
void narrow_words(AnswerTable& view) {
  constexpr int kLayout = 290;
  constexpr int kReason = 330;
  const std::vector<QString>& heads = view.table().heads;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const int column = static_cast<int>(i);
    const bool layout = heads[i].startsWith("layout");
    if (layout || heads[i] == "why it loses") {
      const int widest = layout ? kLayout : kReason;
      view.setColumnWidth(column, std::min(view.columnWidth(column), widest));
    }
  }
}

}  // namespace

PlanResultView::PlanResultView(QWidget* parent) : QWidget(parent) {
  title_ = words_label(this);
  title_->setFont(scaled(font(), 1.15, true));
  lines_ = words_label(this);
  auto* upper = split(Qt::Horizontal, {build_chart(), build_details()}, {640, 360}, {0}, this);
  build_tables();
  auto* splitter = split(Qt::Vertical, {upper, tabs_}, {380, 280}, {}, this);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  column({title_, lines_, {splitter, 1}}, this, QMargins{6, 6, 6, 0});
}

QWidget* PlanResultView::build_chart() {
  auto* holder = new QWidget(this);
  chart_ = new ChartView(holder);
  chart_->installEventFilter(this);
  fronts_ = new QComboBox(holder);
  fronts_->setAccessibleName("Which trade-off is drawn");
  auto* label = new QLabel("&Trade-off", holder);
  label->setBuddy(fronts_);
  auto* save = button(
      holder, "Save &chart...", [this] { save_chart(); }, "PNG, SVG, PDF or CSV");
  column({row({label, fronts_, Laid::rest(), save}), {chart_, 1}}, holder, QMargins{});
  connect(fronts_, &QComboBox::activated, this, &PlanResultView::show_front);
  connect(chart_, &ChartView::point_chosen, this, &PlanResultView::choose_point);
  return holder;
}

QWidget* PlanResultView::build_details() {
  auto* holder = new QWidget(this);
  details_ = new QTextBrowser(holder);
  details_->setAccessibleName("The chosen plan");
  open_ = button(
      holder, "&Open as scenario", [this] { open(false); },
      "A new scenario with the keys of this plan; nothing is saved yet");
  compare_ = button(
      holder, "Co&mpare", [this] { open(true); },
      "Opens it as a scenario, and sets it beside this one");
  auto* save = button(
      holder, "Save pl&an...", [this] { save_plan(); },
      "All of the plan as orrery plan prints it: JSON, CSV or text");
  open_->setAutoDefault(true);
  compare_->setAutoDefault(true);
  column({{details_, 1}, row({open_, compare_, Laid::rest(), save})}, holder, QMargins{});
  return holder;
}

void PlanResultView::build_tables() {
  tabs_ = new QTabWidget(this);
  tabs_->setDocumentMode(true);
  tabs_->setAccessibleName("Tables of the plan");
  constexpr std::array<const char*, parts> kNames = {"Ranking", "Trade-off", "Nearly", "Firm"};
  for (std::size_t i = 0; i < parts; ++i) {
    auto* page = new QWidget(tabs_);
    const auto part = static_cast<Part>(i);
    Shown& shown = tables_[part];
    shown.caption = words_label(page);
    shown.view = new AnswerTable(kNames[part], page);
    shown.caption->setContentsMargins(4, 2, 4, 2);
    column({shown.caption, {shown.view, 1}}, page, QMargins{}, 0);
    tabs_->addTab(page, kNames[part]);
    connect(shown.view, &AnswerTable::row_marked, this,
            [this, part](int row) { choose_row(part, row); });
    connect(shown.view, &AnswerTable::row_chosen, this, [this, part](int row) {
      choose_row(part, row);
      open(false);
    });
  }
}

void PlanResultView::show_plan(const PlanPtr& outcome) {
  outcome_ = outcome;
  chosen_.reset();
  const plan::Plan& plan = *outcome->plan;
  const PlanHeadline headline = plan_headline(plan);
  title_->setText(headline.title);
  lines_->setText(headline.lines);
  fronts_->clear();
  offered_ = plan::fronts_of(plan);
  for (const plan::Front& front : offered_) {
    fronts_->addItem(front_name(front));
  }
  fronts_->setEnabled(fronts_->count() > 1);
  fill(ranking, ranking_table(plan), ranking_caption(plan));
  fill(nearly, neighbours_table(plan),
       plan.neighbours.empty() ? "Nothing faster fails for want of memory alone."
       : headline.found        ? "Faster, but too large. Return opens the layout that fits."
                               : "What is least short of memory.");
  fill(firm, firmness_table(plan),
       plan.stability.checked ? qt(plan::firm_words(plan)) : QString("This was not checked."));
  show_front();
  tabs_->setCurrentIndex(headline.found ? static_cast<int>(ranking) : static_cast<int>(nearly));
  if (headline.found) {
    choose(plan.finalists.front().proposal);
    // The place of the mark is known once the chart has a size.
    QMetaObject::invokeMethod(this, &PlanResultView::mark_chosen, Qt::QueuedConnection);
  } else {
    details_->setPlainText("No plan is chosen.");
    set_opening(false);
  }
}

void PlanResultView::fill(Part part, PlanTable filled, const QString& caption) {
  const QScopedValueRollback quiet(choosing_, true);
  tables_[part].data = std::move(filled);
  tables_[part].caption->setText(caption);
  tables_[part].view->set(tables_[part].data.table);
  narrow_words(*tables_[part].view);
}

const plan::Front* PlanResultView::front() const {
  const int index = fronts_->currentIndex();
  return index < 0 ? nullptr : &offered_[static_cast<std::size_t>(index)];
}

void PlanResultView::show_front() {
  const plan::Front* shown = front();
  if (shown == nullptr) {
    chart_->show_nothing("No plan is ranked.");
    fill(trade_off, {}, "No plan is ranked.");
    return;
  }
  chart_->show_plot(front_plot(*outcome_->plan, *shown));
  fill(trade_off, trade_off_table(*outcome_->plan, *shown),
       shown->simulated ? "Simulated plans that no other beats in both figures."
                        : "Estimates without failures that no other beats in both figures.");
  if (chosen_) {
    choose(plan::Proposal(*chosen_));
  }
}

void PlanResultView::choose(const plan::Proposal& proposal) {
  const QScopedValueRollback quiet(choosing_, true);
  chosen_ = proposal;
  for (Shown& shown : tables_) {
    const auto& rows = shown.data.proposals;
    const auto at = std::ranges::find_if(
        rows, [&proposal](const auto& row) { return row && row->tag == proposal.tag; });
    const int row = at == rows.end() ? -1 : static_cast<int>(at - rows.begin());
    shown.view->mark_row(row);
  }
  mark_chosen();
  details_->setHtml(proposal_html(*outcome_->plan, proposal));
  set_opening(false);
}

void PlanResultView::mark_chosen() {
  const plan::Front* drawn = front();
  chart_->read_point(drawn != nullptr && chosen_ ? point_of(chart_->plot(), *drawn, chosen_->tag)
                                                 : std::nullopt);
}

void PlanResultView::choose_row(Part part, int row) {
  const auto& proposals = tables_[part].data.proposals;
  const auto index = static_cast<std::size_t>(row);
  if (!choosing_ && row >= 0 && index < proposals.size() && proposals[index]) {
    choose(plan::Proposal(*proposals[index]));
  }
}

const plan::FrontPoint* PlanResultView::front_point(PlotPoint point) const {
  const plan::Front* drawn = front();
  const std::vector<PlotSeries>& series = chart_->plot().series;
  if (drawn == nullptr || point.series >= series.size()) {
    return nullptr;
  }
  return &drawn->points[static_cast<std::size_t>(series[point.series].targets[point.index].at)];
}

void PlanResultView::choose_point(PlotPoint point) {
  if (const plan::FrontPoint* at = front_point(point)) {
    choose(plan::Proposal(at->proposal));
  }
}

void PlanResultView::open(bool compare) {
  if (chosen_ && open_->isEnabled()) {
    emit open_wanted(*chosen_, compare);
  }
}

void PlanResultView::set_opening(bool opening) {
  open_->setEnabled(chosen_ && !opening);
  compare_->setEnabled(chosen_ && !opening);
}

// On a point a double click opens it, and so does Return where it is chosen already.
bool PlanResultView::eventFilter(QObject* watched, QEvent* event) {
  if (watched != chart_) {
    return false;
  }
  std::optional<PlotPoint> point;
  bool again = true;
  if (event->type() == QEvent::MouseButtonDblClick) {
    point = chart_->point_at(static_cast<QMouseEvent*>(event)->position());
  } else if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Return || key == Qt::Key_Enter) {
      point = chart_->read();
      const plan::FrontPoint* at = point ? front_point(*point) : nullptr;
      again = at != nullptr && chosen_ && at->proposal.tag == chosen_->tag;
    }
  }
  if (!point || !again || front_point(*point) == nullptr) {
    return false;
  }
  choose_point(*point);
  open(false);
  return true;
}

void PlanResultView::focus_ranking() {
  tabs_->setCurrentIndex(static_cast<int>(ranking));
  tables_[ranking].view->setFocus();
}

void PlanResultView::save_plan() {
  if (!outcome_) {
    return;
  }
  save_with_dialog(this, "Save plan", "plan.json", "JSON (*.json);;CSV table (*.csv);;Text (*.txt)",
                   [this](const QString& path) { return save_plan_file(*outcome_->plan, path); });
}

void PlanResultView::save_chart() { save_chart_with_dialog(this, *chart_); }

}  // namespace orrery::gui
