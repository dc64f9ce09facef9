#include "gui/widgets/knob_strip.hpp"

#include <QAbstractItemView>
#include <QComboBox>
#include <QCompleter>
#include <QFrame>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QToolButton>
#include <algorithm>
#include <array>
#include <utility>

#include "gui/models/form_model.hpp"
#include "gui/models/scenario_document.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/window/theme.hpp"
#include "sim/base/text/format.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::gui {

enum class Turns { by_doubling, by_one, among_names, by_text };

struct KnobInfo {
  const char* key;
  const char* label;
  Turns turns;
  int width;
  int rank;  // the greatest go first where there is no room
};

namespace {

constexpr std::array kKnobs = std::to_array<KnobInfo>({
    {"cluster.gpu", "GPU", Turns::among_names, 150, 0},
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
    {"failures.node_rate", "Node failures", Turns::by_text, 90, 10},
    {"prices.gpu_hour", "GPU hour", Turns::by_text, 78, 5},
});

// Steps to the next power of two, where degrees and nodes usually are.
class DoublingBox : public QSpinBox {
 public:
  using QSpinBox::QSpinBox;

  void stepBy(int steps) override {
    const double to = std::ldexp(value(), steps);
    setValue(static_cast<int>(std::clamp<double>(to, minimum(), maximum())));
  }
};

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

}  // namespace

class Knob : public QWidget {
 public:
  Knob(const KnobInfo& info, KnobStrip* strip) : QWidget(strip), info_(info), strip_(strip) {
    auto* label = new QLabel(info.label, this);
    const QFont small = scaled(font(), 0.85);
    label->setFont(small);
    label->setForegroundRole(QPalette::PlaceholderText);
    below_ = new QLabel(this);
    below_->setFont(small);
    below_->setForegroundRole(QPalette::PlaceholderText);
    below_->setMinimumWidth(1);
    field_ = make_field();
    field_->setFixedWidth(info.width);
    field_->setAccessibleName(QString(info.label));
    field_->setToolTip(info.key);
    label->setBuddy(field_);
    column({label, field_, below_}, this, QMargins{4, 2, 4, 2}, 1);
    setAutoFillBackground(true);
    field_->installEventFilter(this);
  }

  [[nodiscard]] const char* key() const { return info_.key; }

  [[nodiscard]] const QString& value() const { return value_; }

  // `value` nothing: the scenario has no such key, and the knob goes.
  void show_value(const std::optional<std::string>& value, const std::optional<std::string>& at_a,
                  bool followed) {
    has_value_ = value.has_value();
    moved_ = value && at_a && *at_a != *value;
    if (!value) {
      return;
    }
    value_ = qt(*value);
    const QSignalBlocker silent(field_);
    if (auto* spin = qobject_cast<QSpinBox*>(field_)) {
      spin->setValue(value_.toInt());
    } else if (auto* box = qobject_cast<QComboBox*>(field_)) {
      if (box->findText(value_) < 0) {
        box->addItem(value_);
      }
      box->setCurrentIndex(box->findText(value_));  // from which arrow keys go on
      box->lineEdit()->setCursorPosition(0);
    } else if (auto* line = qobject_cast<QLineEdit*>(field_); !line->isModified()) {
      line->setText(value_);
      line->setCursorPosition(0);
    }
    bool whole = false;
    const qlonglong number = moved_ ? qt(*at_a).toLongLong(&whole) : 0;
    const QString before = whole ? qt(format_integer(number)) : qt(at_a.value_or(""));
    below_->setText(moved_ ? "A: " + before : QString());
    below_->setToolTip(moved_ ? "in the baseline: " + before : QString());
    setBackgroundRole(QPalette::Window);
    QPalette colors = strip_->palette();
    if (moved_) {
      colors.setColor(QPalette::Window,
                      ground_color(followed ? Tone::warning : Tone::plain, colors));
    }
    setPalette(colors);
  }

  void set_names(const QStringList& names) {
    auto* box = qobject_cast<QComboBox*>(field_);
    if (box != nullptr && names != names_) {
      const QSignalBlocker silent(box);
      names_ = names;
      box->clear();
      box->addItems(names);
    }
  }

  [[nodiscard]] bool has_value() const { return has_value_; }

  // What differs from A is always in sight.
  [[nodiscard]] int rank() const { return moved_ ? -1 : info_.rank; }

  [[nodiscard]] bool takes_names() const { return info_.turns == Turns::among_names; }

 private:
  QWidget* make_field() {
    switch (info_.turns) {
      case Turns::by_doubling:
      case Turns::by_one: {
        auto* spin = info_.turns == Turns::by_one ? new QSpinBox(this) : new DoublingBox(this);
        spin->setRange(info_.turns == Turns::by_one ? 0 : 1, 1'000'000);
        spin->setKeyboardTracking(false);
        spin->setGroupSeparatorShown(true);
        spin->setFocusPolicy(Qt::StrongFocus);
        connect(spin, &QSpinBox::valueChanged, this, [this](int to) { turn(QString::number(to)); });
        return spin;
      }
      case Turns::among_names: {
        auto* box = names_box(this);
        box->view()->setMinimumWidth(220);
        box->setFocusPolicy(Qt::StrongFocus);
        connect(box, &QComboBox::textActivated, this, [this](const QString& to) { turn(to); });
        // A part of a name, which the box itself knows nothing of.
        connect(box->lineEdit(), &QLineEdit::returnPressed, this, [this, box] {
          if (box->findText(box->currentText()) < 0) {
            const QString first = box->completer()->currentCompletion();
            turn(first.isEmpty() ? box->currentText() : first);
          }
        });
        return box;
      }
      case Turns::by_text:
        break;
    }
    auto* line = new QLineEdit(this);
    connect(line, &QLineEdit::editingFinished, this, [this, line] {
      line->setModified(false);
      turn(line->text());
    });
    return line;
  }

  void turn(const QString& to) {
    if (to.trimmed() != value_ && !to.trimmed().isEmpty()) {
      strip_->turn(info_.key, to.trimmed());
    }
  }

  // The wheel scrolls what is under the cursor; it turns a knob only where somebody works on it.
  // Undo and redo are those of the text, as everywhere.
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::ShortcutOverride) {
      const auto* key = static_cast<QKeyEvent*>(event);
      event->ignore();
      return key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo);
    }
    return event->type() == QEvent::Wheel && !static_cast<QWidget*>(watched)->hasFocus();
  }

  KnobInfo info_;
  KnobStrip* strip_;
  QWidget* field_ = nullptr;
  QLabel* below_ = nullptr;
  QString value_;
  bool has_value_ = true;
  bool moved_ = false;  // from what it is in A
  QStringList names_;
};

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
  document_answered_ = answered && answered->evaluation && answered->evaluation->feasible;
  setEnabled(document != nullptr && answered && answered->scenario);
  if (!isEnabled()) {
    return;
  }
  const auto at = [](const OutcomePtr& outcome, std::string_view key) {
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
      value = turned->value;  // the text has it, whether or not there is an answer to it
    }
    knob->show_value(value, moved ? at(baseline, knob->key()) : std::nullopt,
                     turned != turned_.end() && turned != turned_.begin());
  }
  back_->setEnabled(moved);
  place_knobs();
}

QSize KnobStrip::minimumSizeHint() const { return {200, sizeHint().height()}; }

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
      beyond ? rest_row_->addWidget(knob) : row_->insertWidget(place, knob);
    }
    place += beyond ? 0 : 1;
    knob->setVisible(knob->has_value());
  }
}

QString KnobStrip::turn(const QString& key, const QString& value) {
  if (document_ == nullptr) {
    return {};
  }
  const scenario::KeyValue turned{key.toStdString(), value.toStdString(), {}};
  Diagnostics ignored;
  plan::TurnedKey turn{.stands_alone = true, .followers = {}};
  const auto base =
      scenario::ScenarioTemplate::from_text(document_->utf8(), document_->file_name(), ignored);
  // Only where the layout stands now: what is wrong already is not for one knob to mend.
  if (base && baseline_ && document_answered_) {
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
  for (const Knob* knob : knobs_) {
    if (key == knob->key()) {
      return knob->value();
    }
  }
  return {};
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
