#include "gui/widgets/plan_options_view.hpp"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <algorithm>

#include "gui/models/tables/text.hpp"
#include "sim/answer/plan/fronts.hpp"

namespace orrery::gui {

namespace {

QString title_of(PlanOption::Group group) {
  switch (group) {
    case PlanOption::Group::goal:
      return "What counts";
    case PlanOption::Group::constraint:
      return "What must hold";
    case PlanOption::Group::run:
      return "Clusters and runs to try";
    case PlanOption::Group::layout:
      return "Layouts to try: auto, fixed, or 1,2,4";
  }
  return {};
}

// "fewest GPUs" for "fewest_gpus".
QString in_words(const QString& name) { return spoken(name.toStdString()); }

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
      add_group(title_of(option.group));
    }
    auto* label = new QLabel(option.name, page_);
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
    label->setBuddy(field);
    form_->addRow(label, field);
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
  auto* first = new QLabel("trade-off", page_);
  first->setBuddy(trade_x_);
  auto* second = new QLabel("against", page_);
  second->setBuddy(trade_y_);
  form_->addRow(first, trade_x_);
  form_->addRow(second, trade_y_);
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

void PlanOptionsView::clear() {
  for (const auto& [key, line] : lines_) {
    line->clear();
  }
  for (const auto& [key, box] : boxes_) {
    box->setCurrentIndex(0);
  }
  if (trade_x_ != nullptr) {
    trade_x_->setCurrentIndex(0);
  }
}

}  // namespace orrery::gui
