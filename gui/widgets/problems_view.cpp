#include "gui/widgets/problems_view.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/models/tables/answer_tables.hpp"
#include "gui/models/tables/text.hpp"
#include "gui/widgets/table_view.hpp"

namespace orrery::gui {

namespace {

QString words_of(const scenario::Fix& fix) {
  return fix.value.empty() ? QString("Write %1").arg(qt(fix.key))
                           : QString("Set %1 to %2").arg(qt(fix.key), qt(fix.value));
}

}  // namespace

ProblemsView::ProblemsView(QWidget* parent) : QWidget(parent) {
  table_ = new AnswerTable("Problems", this);
  bar_ = new QWidget(this);
  bar_label_ = new QLabel("Change:", bar_);
  buttons_ = new QHBoxLayout(bar_);
  buttons_->setContentsMargins(6, 0, 6, 4);
  buttons_->addWidget(bar_label_);
  buttons_->addStretch(1);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  column->addWidget(table_, 1);
  column->addWidget(bar_);
  bar_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  connect(table_, &AnswerTable::row_chosen, this, [this](int row) {
    const int index = row - failures_;
    if (index >= 0 && index < static_cast<int>(listed_.size())) {
      const SourceLocation& where = listed_[static_cast<std::size_t>(index)].where;
      emit line_wanted(where.line, where.column);
    }
  });
  connect(table_, &AnswerTable::row_marked, this, &ProblemsView::show_fixes);
}

void ProblemsView::set_outcome(const OutcomePtr& outcome) {
  outcome_ = outcome;
  listed_ = outcome ? outcome->diagnostics.all() : std::vector<Diagnostic>{};
  failures_ = outcome && !outcome->failure.isEmpty() ? 1 : 0;
  table_->set(problems_table(outcome ? outcome->diagnostics : Diagnostics(),
                             outcome ? outcome->failure : QString()));
  if (count() > 0) {
    table_->selectRow(0);
  }
  show_fixes(count() > 0 ? 0 : -1);
}

// Of this row; a row without position has none.
void ProblemsView::show_fixes(int row) {
  fixes_.clear();
  const int index = row - failures_;
  if (outcome_ && index >= 0 && index < static_cast<int>(listed_.size())) {
    fixes_ = scenario::fixes_for(outcome_->text, outcome_->file_name,
                                 listed_[static_cast<std::size_t>(index)]);
  }
  for (QPushButton* button : bar_->findChildren<QPushButton*>()) {
    delete button;
  }
  constexpr std::size_t kButtons = 3;
  QMenu* rest = nullptr;
  const auto add = [this](const QString& words) {
    auto* button = new QPushButton(words, bar_);
    button->setAutoDefault(true);
    buttons_->insertWidget(buttons_->count() - 1, button);
    return button;
  };
  for (std::size_t i = 0; i < fixes_.size(); ++i) {
    const auto fix = [this, i] {
      const scenario::Fix fix = fixes_[i];
      const std::string text = outcome_->text;
      emit fix_wanted(text, fix);
    };
    if (i < kButtons) {
      QPushButton* button = add(words_of(fixes_[i]));
      button->setToolTip("Changes the text; Ctrl+Z takes it back");
      connect(button, &QPushButton::clicked, this, fix);
      continue;
    }
    if (rest == nullptr) {
      QPushButton* more = add("More");
      rest = new QMenu(more);
      more->setMenu(rest);
    }
    rest->addAction(words_of(fixes_[i]), this, fix);
  }
  bar_label_->setText(count() == 0 ? "The scenario has no problems." : "Change:");
  bar_->setVisible(count() == 0 || !fixes_.empty());
}

}  // namespace orrery::gui
