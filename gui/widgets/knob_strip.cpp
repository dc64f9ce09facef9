#include "gui/widgets/knob_strip.hpp"

#include <QFrame>
#include <QRegularExpression>
#include <QToolButton>
#include <algorithm>
#include <array>
#include <utility>

#include "gui/models/form_model.hpp"
#include "gui/models/scenario_document.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/widgets/knob.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/window/theme.hpp"
#include "sim/base/text/format.hpp"
#include "sim/run/failures/failure_spec.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::gui {

namespace {

// Shown, and turned, as the time between two failures of the job.
constexpr auto kNodeRate = "failures.node_rate";

constexpr std::array kKnobs = std::to_array<KnobInfo>({
    {"model.preset", "Model", Turns::among_names, 124, 6},
    {"cluster.gpu", "GPU", Turns::among_names, 132, 0},
    {"cluster.nodes", "Nodes", Turns::by_doubling, 78, 0},
    {"layout.tensor", "Tensor", Turns::by_doubling, 62, 0},
    {"layout.context", "Context", Turns::by_doubling, 62, 6},
    {"layout.pipeline", "Pipeline", Turns::by_doubling, 62, 1},
    {"layout.virtual_stages", "Chunks", Turns::by_doubling, 62, 8},
    {"layout.data", "Data", Turns::by_doubling, 68, 5},
    {"layout.expert", "Expert", Turns::by_doubling, 62, 3},
    {"layout.sharding", "Sharding", Turns::among_names, 84, 7},
    {"batch.micro", "Micro-batch", Turns::by_doubling, 72, 1},
    {"recompute", "Recompute", Turns::among_names, 100, 2},
    {"precision", "Precision", Turns::among_names, 100, 2},
    {"capacity.spares", "Spare nodes", Turns::by_one, 72, 4},
    {"checkpoint.interval", "Checkpoint", Turns::by_text, 72, 9},
    {kNodeRate, "MTBF", Turns::by_text, 62, 6},
    {"prices.gpu_hour", "GPU hour", Turns::by_text, 78, 5},
});

// That follows from the other degrees; nothing where no whole number does.
std::optional<std::string> data_of(const scenario::Scenario& scenario) {
  const layout::LayoutSpec& layout = scenario.layout;
  const std::int64_t gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node;
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  return gpus % replica == 0 ? std::optional(std::to_string(gpus / replica)) : std::nullopt;
}

// A stated data-parallel degree goes with the others; a variant leaves out one that is wrong.
void add_data(const scenario::ScenarioTemplate& base, std::vector<scenario::KeyValue>& changes) {
  Diagnostics ignored;
  const auto before = base.with({}, ignored);
  const auto after = base.with(changes, ignored);
  if (before && after && before->layout.data && !after->layout.data) {
    changes.push_back({"layout.data", data_of(*after).value_or("1"), {}});
  }
}

QString mtbf_of(const EvaluationOutcome& answered) {
  const auto& plan = answered.evaluation->plan;
  return plan && plan->mtbf ? three_digits(in_hours(*plan->mtbf)) + "h" : QString();
}

// Of all nodes alike; nothing where failures have other laws alone.
std::optional<PerSecond> node_rate_of(const run::FailureSpec& failures) {
  return failures.node_rate || !failures.preset ? failures.node_rate
                                                : failures.preset->spec.node_rate;
}

// With which the job fails once in this time, all else as it is: rates add up.
QString node_rate_for(const QString& mtbf, const EvaluationOutcome& answered) {
  static const QRegularExpression kTime("^([0-9.]+) ?(s|min|h|d)$");
  const QRegularExpressionMatch match = kTime.match(mtbf);
  const double number = match.captured(1).toDouble();
  const QString unit = match.captured(2);
  const Seconds time = unit == "s"     ? seconds(number)
                       : unit == "min" ? minutes(number)
                       : unit == "h"   ? hours(number)
                                       : days(number);
  const auto rate = node_rate_of(answered.scenario->run->failures);
  if (!rate || time <= Seconds{}) {
    return mtbf;
  }
  const PerSecond more = 1.0 / time - 1.0 / *answered.evaluation->plan->mtbf;
  const double nodes = static_cast<double>(answered.scenario->cluster.nodes);
  return QString::number(in_per_day(*rate + more / nodes), 'g', 6) + "/d";
}

}  // namespace

KnobStrip::KnobStrip(QWidget* parent) : QWidget(parent) {
  setAccessibleName("Knobs");
  row_ = row({}, nullptr, {}, 2);
  pin_ = button(
      this, "Pin as A", [this] { emit pin_wanted(); },
      "Take this answer as the baseline, A: changes are shown against it (Ctrl+B)");
  back_ = button(
      this, "Back to A", [this] { back_to_baseline(); },
      "The text of the baseline again, as one step that can be undone");
  for (const KnobInfo& info : kKnobs) {
    knobs_.push_back(new Knob(info, this));
    connect(knobs_.back(), &Knob::turned, this,
            [this, &info](const QString& value) { turn(info.key, value); });
    row_->addWidget(knobs_.back());
  }
  rest_ = new QFrame(this, Qt::Popup);
  rest_->setFrameShape(QFrame::StyledPanel);
  rest_row_ = row({}, rest_);
  more_ = new QToolButton(this);
  more_->setToolTip("The other knobs");
  line_ = new QLabel(this);
  line_->setWordWrap(true);
  line_->setTextFormat(Qt::RichText);
  line_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  line_->setContentsMargins(8, 2, 8, 2);
  line_->setAutoFillBackground(true);
  line_->hide();
  auto* knobs = row({column({pin_, back_}, nullptr, {}, 2), row_, more_, Laid::rest()}, nullptr,
                    QMargins{4, 0, 4, 0}, 2);
  column({knobs, line_}, this, QMargins{0, 2, 0, 0}, 2);
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  connect(line_, &QLabel::linkActivated, this, [this](const QString& link) {
    if (link == "next") {
      take_runner_up();
      return;
    }
    document_->text_document()->undo();
    if (link != "undo") {
      turn(link.section('=', 0, 0), link.section('=', 1));
    }
  });
  connect(more_, &QToolButton::clicked, this, [this] {
    rest_->adjustSize();
    const QPoint right = more_->mapToGlobal(QPoint(more_->width(), more_->height()));
    rest_->move(right - QPoint(rest_->width(), 0));
    rest_->show();
  });
}

void KnobStrip::set_document(ScenarioDocument* document, const OutcomePtr& answered,
                             const OutcomePtr& baseline) {
  if (document != document_) {
    names_wanted_ = true;
    forget_turn();
    disconnect(edits_);
    if (document != nullptr) {
      edits_ = connect(document, &ScenarioDocument::text_changed, this, &KnobStrip::forget_turn);
    }
  }
  document_ = document;
  baseline_ = baseline;
  answered_ = answered;
  setEnabled(document != nullptr && answered && answered->scenario);
  if (!isEnabled()) {
    return;
  }
  const auto at = [](const OutcomePtr& outcome,
                     std::string_view key) -> std::optional<std::string> {
    if (key == kNodeRate) {
      const bool any = outcome && outcome->evaluation && !mtbf_of(*outcome).isEmpty() &&
                       node_rate_of(outcome->scenario->run->failures);
      return any ? std::optional(mtbf_of(*outcome).toStdString()) : std::nullopt;
    }
    auto value =
        outcome && outcome->scenario ? scenario::value_of(*outcome->scenario, key) : std::nullopt;
    return value || key != "layout.data" || !outcome ? value : data_of(*outcome->scenario);
  };
  const bool stale = answered->text != document->utf8();
  const bool moved = baseline && (stale || baseline->text != answered->text);
  const bool experts = at(answered, "model.moe.num_experts").has_value();
  const auto fields = std::exchange(names_wanted_, false) ? scenario::fields_of(document->utf8())
                                                          : std::vector<scenario::Field>{};
  for (Knob* knob : knobs_) {
    const auto field =
        std::ranges::find_if(fields, [knob](const auto& one) { return one.path == knob->key(); });
    if (field != fields.end() && knob->takes_names()) {
      knob->set_names(names_of(*field, document->file_name()));
    }
    const bool silent = !experts && std::string_view(knob->key()) == "layout.expert";
    const auto turned = std::ranges::find_if(
        turned_, [knob](const auto& change) { return change.key == knob->key(); });
    std::optional<std::string> value = silent ? std::nullopt : at(answered, knob->key());
    if (stale && turned != turned_.end()) {
      if (turned->key == kNodeRate) {
        continue;  // an answer knows the time that it stands for
      }
      value = turned->value;  // the text has it, whether or not there is an answer to it
    }
    // The time between failures goes with the nodes.
    const bool follows = std::string_view(knob->key()) == kNodeRate && answered->scenario->run &&
                         baseline &&
                         node_rate_of(answered->scenario->run->failures) ==
                             node_rate_of(baseline->scenario->run->failures);
    knob->show_value(value, moved ? at(baseline, knob->key()) : std::nullopt,
                     follows || (turned != turned_.end() && turned != turned_.begin()));
  }
  back_->setEnabled(moved);
  place_knobs();
}

void KnobStrip::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  place_knobs();
}

void KnobStrip::place_knobs() {
  constexpr int kAir = 16;
  std::vector<Knob*> by_rank = knobs_;
  std::erase_if(by_rank, [](const Knob* knob) { return !knob->has_value(); });
  std::ranges::stable_sort(by_rank,
                           [](const Knob* a, const Knob* b) { return a->rank() < b->rank(); });
  int wanted = 0;
  for (const Knob* knob : by_rank) {
    wanted += knob->sizeHint().width() + 2;
  }
  int room = width() - pin_->sizeHint().width() - kAir;
  more_->setText(QString("%1 more").arg(by_rank.size()));
  room -= wanted > room ? more_->sizeHint().width() : 0;
  QList<Knob*> rest;
  for (Knob* knob : by_rank) {
    room -= knob->sizeHint().width() + 2;  // what comes later does not go before
    if (room < 0) {
      rest << knob;
    }
  }
  more_->setText(QString("%1 more").arg(rest.size()));
  more_->setVisible(!rest.isEmpty());
  int place = 0;
  for (Knob* knob : knobs_) {
    const bool beyond = rest.contains(knob);
    if (const QWidget* home = beyond ? static_cast<QWidget*>(rest_) : this;
        knob->parentWidget() != home) {
      beyond ? rest_row_->addWidget(knob, 0, Qt::AlignTop) : row_->insertWidget(place, knob);
      knob->place_slider();
    }
    place += beyond ? 0 : 1;
    knob->setVisible(knob->has_value());
  }
}

QString KnobStrip::turn(const QString& key, const QString& value) {
  if (document_ == nullptr) {
    return {};
  }
  const bool rate = key == kNodeRate && !value.contains('/') && answered_ && answered_->evaluation;
  const scenario::KeyValue turned{
      key.toStdString(), (rate ? node_rate_for(value, *answered_) : value).toStdString(), {}};
  Diagnostics ignored;
  plan::TurnedKey turn{.stands_alone = true, .followers = {}};
  const auto base =
      scenario::ScenarioTemplate::from_text(document_->utf8(), document_->file_name(), ignored);
  // Only where the layout stands now: what is wrong already is not for one knob to mend.
  if (base && baseline_ && answered_ && answered_->evaluation && answered_->evaluation->feasible) {
    plan::StepEstimator estimator;
    turn = plan::turn_key(*base, turned, estimator, {});
  }
  // What was turned, and what goes with it.
  const auto with = [&](std::size_t rank) {
    std::vector<scenario::KeyValue> all = {turned};
    if (rank < turn.followers.size()) {
      const auto& followers = turn.followers[rank].changes;
      all.insert(all.end(), followers.begin(), followers.end());
    }
    if (base && (turn.stands_alone || !turn.followers.empty())) {
      add_data(*base, all);
    }
    return all;
  };
  std::vector<scenario::KeyValue> changes = with(0);
  std::vector<scenario::KeyValue> runner_up;
  QString followed = changes.size() > 1 ? "Followed: " + words(changes) + "." : QString();
  if (turn.followers.size() > 1) {
    runner_up = with(1);
    const SimTime more = turn.followers[1].step_time - turn.followers[0].step_time;
    followed +=
        QString(" <a href=\"next\">Instead %1</a> (%2 a step more).")
            .arg(words(runner_up), shown(report::Dimension::time, in_seconds(to_seconds(more))));
  } else if (turn.followers.empty() && !turn.stands_alone) {
    followed =
        QString("No layout follows that works with <b>%1 %2</b>. <a href=\"undo\">Back to %3</a>")
            .arg(key.section('.', -1).replace('_', ' '), value.toHtmlEscaped(),
                 value_of(key).toHtmlEscaped());
    if (const auto nearest = plan::nearest_value(*base, turned)) {
      followed += QString(", or <a href=\"%1=%2\">%3</a>, the nearest that works")
                      .arg(key)
                      .arg(*nearest)
                      .arg(qt(format_integer(*nearest)));
    }
  }
  const QString problem = document_->set_keys(changes);
  if (!problem.isEmpty()) {
    say("Not changed: " + problem.toHtmlEscaped(), true);
    return problem;
  }
  turned_ = std::move(changes);
  runner_up_ = std::move(runner_up);
  say(followed, false);
  return {};
}

// What is said belongs to the text as the turn left it: the link would undo what came after.
void KnobStrip::forget_turn() {
  turned_.clear();
  runner_up_.clear();
  say({}, false);
}

// "context 1 to 2, data 128 to 32", without the key that was turned.
QString KnobStrip::words(std::span<const scenario::KeyValue> changes) const {
  QStringList parts;
  for (const scenario::KeyValue& change : changes.subspan(1)) {
    const QString key = qt(change.key);
    const QString before = value_of(key);
    parts << QString("<b>%1 %2%3</b>")
                 .arg(key.section('.', -1).replace('_', ' '),
                      before.isEmpty() ? QString() : before + " to ",
                      qt(change.value).toHtmlEscaped());
  }
  return parts.join(", ");
}

void KnobStrip::take_runner_up() {
  if (document_ == nullptr || runner_up_.size() < 2) {
    return;
  }
  const std::vector<scenario::KeyValue> changes = std::exchange(runner_up_, {});
  document_->text_document()->undo();
  const QString problem = document_->set_keys(changes);
  turned_ = changes;
  say(problem.isEmpty() ? QString("Taken instead: %1.").arg(words(changes))
                        : problem.toHtmlEscaped(),
      !problem.isEmpty());
}

QString KnobStrip::value_of(const QString& key) const {
  const auto knob = std::ranges::find_if(knobs_, [&key](const Knob* k) { return key == k->key(); });
  return knob == knobs_.end() ? QString() : (*knob)->value();
}

void KnobStrip::back_to_baseline() {
  if (document_ != nullptr && baseline_) {
    document_->replace(qt(baseline_->text));
  }
}

void KnobStrip::say(const QString& text, bool wrong) {
  line_->setVisible(!text.isEmpty());
  line_->setText(text);
  QPalette colors = palette();
  colors.setColor(QPalette::Window, ground_color(wrong ? Tone::bad : Tone::warning, colors));
  line_->setPalette(colors);
}

}  // namespace orrery::gui
