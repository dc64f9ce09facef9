#include "gui/widgets/compare_view.hpp"

#include <QLabel>
#include <QListWidget>
#include <QSplitter>
#include <QVBoxLayout>
#include <utility>

#include "gui/widgets/table_view.hpp"

namespace orrery::gui {

CompareView::CompareView(QWidget* parent) : QWidget(parent) {
  list_ = new QListWidget(this);
  list_->setAccessibleName("Scenarios to compare");
  list_->setMaximumHeight(fontMetrics().height() * 6);
  hint_ = new QLabel(this);
  hint_->setWordWrap(true);
  keys_ = new AnswerTable("Keys that differ", this);
  differences_ = new AnswerTable("Differences", this);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->addWidget(keys_);
  splitter->addWidget(differences_);
  splitter->setStretchFactor(1, 1);
  splitter->setSizes({160, 500});
  auto* column = new QVBoxLayout(this);
  column->addWidget(list_);
  column->addWidget(hint_);
  column->addWidget(splitter, 1);
  connect(list_, &QListWidget::itemChanged, this, [this](QListWidgetItem* item) {
    left_out_.removeAll(item->text());
    if (item->checkState() != Qt::Checked) {
      left_out_.push_back(item->text());
    }
    compare();
  });
}

void CompareView::set_candidates(std::vector<Candidate> candidates) {
  candidates_ = std::move(candidates);
  {
    const QSignalBlocker quiet(list_);
    list_->clear();
    for (const Candidate& candidate : candidates_) {
      auto* item = new QListWidgetItem(candidate.title, list_);
      item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsUserCheckable | Qt::ItemIsSelectable);
      item->setCheckState(left_out_.contains(candidate.title) ? Qt::Unchecked : Qt::Checked);
    }
  }
  compare();
}

void CompareView::compare() {
  std::vector<Candidate> chosen;
  int pending = 0;
  for (const Candidate& candidate : candidates_) {
    if (!left_out_.contains(candidate.title)) {
      chosen.push_back(candidate);
      pending += candidate.outcome && candidate.outcome->evaluation ? 0 : 1;
    }
  }
  QString hint;
  if (chosen.size() < 2) {
    hint =
        "Open a second scenario, or duplicate this one (Ctrl+D) and change it, to compare them "
        "here. Every scenario is also compared with the answer it had when it was opened.";
  } else if (pending > 0) {
    hint = QString("%1 of these have no answer (yet): their figures are missing.").arg(pending);
  }
  hint_->setText(hint);
  hint_->setVisible(!hint.isEmpty());
  keys_->set(differing_keys_table(chosen));
  differences_->set(differences_table(chosen));
}

}  // namespace orrery::gui
