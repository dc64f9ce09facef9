#include "gui/widgets/charts_panel.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "gui/charts/chart_view.hpp"
#include "gui/models/plots/evaluation_plots.hpp"
#include "gui/models/tables/answer_tables.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/table_view.hpp"

namespace orrery::gui {

void save_chart_with_dialog(QWidget* parent, ChartView& chart) {
  save_with_dialog(parent, "Save chart", chart.plot().name,
                   "PNG image (*.png);;SVG drawing (*.svg);;PDF page (*.pdf);;CSV table (*.csv)",
                   [&chart](const QString& path) { return chart.save(path); });
}

namespace {

QStringList items_of(const QComboBox& box) {
  QStringList items;
  for (int row = 0; row < box.count(); ++row) {
    items << box.itemText(row);
  }
  return items;
}

}  // namespace

ChartsPanel::ChartsPanel(QWidget* parent) : QWidget(parent) {
  list_ = new QComboBox(this);
  list_->setAccessibleName("Charts");
  list_->setMaxVisibleItems(30);
  list_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  chart_ = new ChartView(this);
  chart_->hide_title();
  status_ = new QLabel(this);
  status_->setWordWrap(true);
  status_->hide();
  progress_ = new QProgressBar(this);
  progress_->setTextVisible(false);
  progress_->setMaximumHeight(6);
  progress_->hide();
  stage_ = new QComboBox(this);
  stage_->setAccessibleName("Stage");
  stage_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  stage_->setToolTip("Which pipeline stage the chart is about");
  stage_->hide();
  auto* save = button(
      this, "Save &chart...", [this] { save_chart(); }, "PNG, SVG, PDF or CSV (Ctrl+E)");

  column({row({{list_, 1}, stage_, save}), {chart_, 1}, progress_, status_}, this,
         QMargins{6, 6, 6, 6});

  connect(list_, &QComboBox::currentIndexChanged, this, &ChartsPanel::show_chosen);
  connect(stage_, &QComboBox::activated, this, [this](int chosen) {
    chosen_stage_ = chosen;
    show_chosen();
  });
  connect(chart_, &ChartView::point_chosen, this, [this](PlotPoint point) {
    const PlotSeries& series = chart_->plot().series[point.series];
    const PlotTarget target =
        point.index < series.targets.size() ? series.targets[point.index] : PlotTarget{};
    if (target.kind == PlotTarget::Kind::rank) {
      emit rank_wanted(target.at);
    } else if (target.kind == PlotTarget::Kind::event) {
      emit event_wanted(target.at, target.length);
    } else if (lit_by(series.hue) != 0) {
      emit loss_chosen(series.hue, series.name);
    }
  });
  connect(&job_, &LatestTask::failed, this, [this](const QString& s) { chart_->show_nothing(s); });
  connect(&job_, &LatestTask::running_changed, progress_, &QWidget::setVisible);
  connect(&job_, &LatestTask::progressed, this,
          [this](qint64 done, qint64 all) { show_progress(*progress_, done, all); });
  connect(&job_, &LatestTask::cancelled, this, [this] { say("Cancelled."); });
  chart_->show_nothing("No answer yet.");
}

void ChartsPanel::set_outcome(const OutcomePtr& outcome) {
  if (outcome == outcome_) {
    return;
  }
  outcome_ = outcome;
  job_.cancel();
  answered_.clear();
  plots_.clear();
  if (outcome && outcome->evaluation) {
    plots_ = evaluation_plots(*outcome->evaluation);
  }
  fill_list();
}

void ChartsPanel::fill_list() {
  QStringList wanted;
  for (const Plot& plot : plots_) {
    wanted.push_back(plot.name);
  }
  if (outcome_ && outcome_->evaluation && outcome_->evaluation->run) {
    for (const AnswerChart& chart : answer_charts()) {
      wanted.push_back(chart.name);
    }
  }
  if (wanted != names()) {
    const QString chosen = list_->currentText();
    const QSignalBlocker quiet(list_);
    list_->clear();
    list_->addItems(wanted);
    list_->setCurrentIndex(std::max(0, static_cast<int>(wanted.indexOf(chosen))));
  }
  show_chosen();
}

QStringList ChartsPanel::names() const { return items_of(*list_); }

void ChartsPanel::choose(const QString& chart) {
  if (const int place = list_->findText(chart); place >= 0) {
    list_->setCurrentIndex(place);
  }
}

void ChartsPanel::show_chosen() {
  job_.cancel();
  status_->clear();
  status_->hide();
  const QString name = list_->currentText();
  const auto plot = std::ranges::find(plots_, name, &Plot::name);
  offer_stages(name);
  list_->setToolTip(plot != plots_.end() ? plot->title : QString());
  if (plot != plots_.end()) {
    say(plot->note);
    const int choice = stage_->currentIndex();
    chart_->show_plot(stage_->count() > 0 && choice > 0
                          ? flame_plot(*outcome_->evaluation, name, choice)
                          : *plot);
    if (plot->marked) {
      chart_->read_point(PlotPoint{0, *plot->marked});
    }
    return;
  }
  for (const AnswerChart& chart : answer_charts()) {
    if (chart.name != name) {
      continue;
    }
    if (const auto known = answered_.find(chart.answer); known != answered_.end()) {
      chart_->show_plot(known->second);
      return;
    }
    chart_->show_nothing("Running the scenario with other values...");
    progress_->setRange(0, 0);
    job_.run(std::bind_front(answer_text,
                             AnswerRequest{chart.answer, outcome_->text, outcome_->file_name}),
             [this](const AnswerPtr& answer) { show_answer(answer); });
    return;
  }
  chart_->show_nothing(outcome_ ? "This scenario has no such chart." : "No answer yet.");
}

// Of a flame view one stage can be shown; which one is kept from chart to chart.
void ChartsPanel::offer_stages(const QString& chart) {
  const QStringList choices = outcome_ && outcome_->evaluation
                                  ? flame_choices(*outcome_->evaluation, chart)
                                  : QStringList();
  if (choices != items_of(*stage_)) {
    stage_->clear();
    stage_->addItems(choices);
  }
  stage_->setCurrentIndex(chosen_stage_ < choices.size() ? chosen_stage_ : 0);
  stage_->setVisible(!choices.isEmpty());
}

void ChartsPanel::show_answer(const AnswerPtr& outcome) {
  if (!outcome->answer) {
    const auto& all = outcome->diagnostics.all();
    chart_->show_nothing(all.empty() ? QString("No answer.") : qt(all.front().message));
    return;
  }
  const Plot plot = answer_plot(*outcome->answer);
  answered_[outcome->request.answer] = plot;
  chart_->show_plot(plot);
  say(qt(outcome->answer->sentences).join(' '));
}

void ChartsPanel::say(const QString& sentence) {
  status_->setText(sentence);
  status_->setVisible(!sentence.isEmpty());
}

void ChartsPanel::save_chart() { save_chart_with_dialog(this, *chart_); }

TablesPanel::TablesPanel(QWidget* parent) : QTabWidget(parent) {
  setDocumentMode(true);
  setAccessibleName("Tables");
}

AnswerTable* TablesPanel::find(const QString& title) const {
  return findChild<AnswerTable*>(title);
}

void TablesPanel::go_to_worst_event() {
  AnswerTable* events = find(kEvents);
  if (events != nullptr && !events->table().rows.empty()) {
    setCurrentWidget(events);
    emit events->row_chosen(0);
  }
}

void TablesPanel::set_outcome(const OutcomePtr& outcome) {
  if (outcome == outcome_) {
    return;
  }
  outcome_ = outcome;
  const bool any = outcome && outcome->evaluation;
  for (AnswerTable* view :
       show_tables(*this, any ? all_tables(*outcome->evaluation) : std::vector<Table>{})) {
    if (view->objectName() == kEvents) {
      connect(view, &AnswerTable::row_chosen, this, [this, view](int row) {
        const auto& cells = view->table().rows[static_cast<std::size_t>(row)];
        emit event_wanted(std::llround(cells[0].order.value_or(0.0)),
                          std::llround(cells[4].order.value_or(0.0) * 1e9));
      });
    }
    connect(view, &AnswerTable::row_marked, this, [this, view](int row) {
      const auto& cells = view->table().rows[static_cast<std::size_t>(row)];
      if (cells.back().hue >= 0) {
        emit loss_chosen(cells.back().hue, cells.front().text);
      }
    });
  }
}

}  // namespace orrery::gui
