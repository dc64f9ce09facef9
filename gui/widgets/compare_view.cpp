#include "gui/widgets/compare_view.hpp"

#include <QListWidget>
#include <QTabWidget>
#include <algorithm>
#include <utility>

#include "gui/models/tables/answer_tables.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "gui/widgets/window/theme.hpp"

namespace orrery::gui {

SavedPage::SavedPage(QString path, QString title, SavedPtr saved, QWidget* parent)
    : QWidget(parent),
      path_(std::move(path)),
      title_(std::move(title)),
      saved_(std::move(saved)),
      tables_(new QTabWidget(this)) {
  tables_->setDocumentMode(true);
  tables_->setAccessibleName("Saved answer");
  show_tables(*tables_, saved_tables(*saved_));
  column({words_label(this, saved_sentence(*saved_)), {tables_, 1}}, this);
}

CompareView::CompareView(QWidget* parent) : QWidget(parent) {
  list_ = new QListWidget(this);
  list_->setAccessibleName("Scenarios to compare");
  hint_ = words_label(this);
  hint_->setFont(scaled(font(), 1.15));
  keys_ = new AnswerTable("Keys that differ", this);
  losses_ = new AnswerTable("Losses", this);
  differences_ = new AnswerTable("Differences", this);
  level_ = new QComboBox(this);
  level_->addItems({"step", "run"});
  level_->setAccessibleName("What the timelines show");
  timelines_ = new TimelineView(this);

  upper_ = new QWidget(this);
  base_ = new QComboBox(upper_);
  base_->setAccessibleName("Base of the comparison");
  base_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  auto* base_label = new QLabel("&Base:", upper_);
  base_label->setBuddy(base_);
  auto* label = new QLabel("One &ruler for all: one", upper_);
  label->setBuddy(level_);
  column({row({base_label, base_, Laid::gap(16), label, level_, Laid::rest()}), {timelines_, 1}},
         upper_, QMargins{});
  auto* stated = split(Qt::Horizontal, {list_, keys_}, {300, 900}, {1}, this);
  const auto titled = [this](const QString& title, QWidget* table) {
    auto* holder = new QWidget(this);
    column({words_label(holder, title), {table, 1}}, holder, QMargins{}, 2);
    return holder;
  };
  auto* tables = split(
      Qt::Horizontal,
      {titled("<b>Where the difference comes from</b>, the bill for the same tokens", losses_),
       titled("<b>What it means</b>", differences_)},
      {690, 720}, {0, 1}, this);
  column({hint_, {split(Qt::Vertical, {stated, upper_, tables}, {84, 480, 276}, {1, 2}, this), 1}},
         this);
  connect(level_, &QComboBox::activated, this, [this] {
    drawn_.clear();
    show_timelines();
  });
  connect(base_, &QComboBox::activated, this, &CompareView::compare);
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

void CompareView::show_only(const QStringList& titles) {
  left_out_.clear();
  for (const Candidate& candidate : candidates_) {
    if (!titles.contains(candidate.title)) {
      left_out_.push_back(candidate.title);
    }
  }
  set_candidates(std::move(candidates_));
}

void CompareView::compare() {
  std::vector<Candidate> chosen;
  int pending = 0;
  const QString wanted = base_->currentText();
  base_->clear();
  for (const Candidate& candidate : candidates_) {
    if (!left_out_.contains(candidate.title)) {
      chosen.push_back(candidate);
      base_->addItem(candidate.title);
      pending += candidate.answered() ? 0 : 1;
    }
  }
  // The base stands first: changes are counted from it.
  const auto base = std::ranges::find(chosen, wanted, &Candidate::title);
  if (base != chosen.end()) {
    std::rotate(chosen.begin(), base, base + 1);
  }
  base_->setCurrentText(chosen.empty() ? QString() : chosen.front().title);
  const Answers answers = answers_of(chosen);
  QString hint = why_sentence(chosen, answers);
  if (chosen.size() < 2) {
    hint =
        "Open a second scenario, or duplicate this one (Ctrl+D) and change it, to compare them "
        "here. Every scenario is also compared with the answer it had when it was opened.";
  } else if (pending > 0) {
    hint = QString("Without an answer (yet): %1 of these; their figures are missing.").arg(pending);
  }
  differences_->set(differences_table(answers));
  if (hint.isEmpty() && differences_->table().rows.empty()) {
    hint = "No figure differs.";
  }
  hint_->setText(hint);
  hint_->setVisible(!hint.isEmpty());
  keys_->set(differing_keys_table(chosen));
  losses_->set(losses_table(answers));
  losses_->parentWidget()->setVisible(!losses_->table().rows.empty());
  chosen_ = std::move(chosen);
  show_timelines();
}

// Drawn again only when other answers are compared: what the user looks at stays.
void CompareView::show_timelines() {
  const auto same = [](const Candidate& a, const Candidate& b) {
    return a.title == b.title && a.outcome == b.outcome;
  };
  if (!drawn_.empty() &&
      std::equal(drawn_.begin(), drawn_.end(), chosen_.begin(), chosen_.end(), same)) {
    return;
  }
  drawn_ = chosen_;
  timeline::Levels levels = timelines_beside(chosen_, level_->currentText().toStdString());
  upper_->setVisible(!levels.empty() || level_->currentIndex() > 0);
  const bool steps = !levels.empty() && level_->currentIndex() == 0;
  timelines_->set_levels(std::move(levels));
  timelines_->toggle_fit_rows();  // all sides whole
  closer_.cancel();
  if (steps) {
    closer_.run([candidates = drawn_](const auto& stop,
                                      const auto&) { return operations_beside(candidates, stop); },
                [this](const std::optional<timeline::Level>& level) {
                  if (level) {
                    timelines_->add_level(*level);
                  }
                });
  }
}

}  // namespace orrery::gui
