#include "gui/widgets/knob.hpp"

#include <QKeyEvent>
#include <QLineEdit>
#include <QPainter>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <algorithm>
#include <cmath>
#include <vector>

#include "gui/models/tables/table.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/window/theme.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

// Steps to the next power of two, where degrees and nodes usually are.
class DoublingBox : public QSpinBox {
 public:
  using QSpinBox::QSpinBox;

  void stepBy(int steps) override {
    const double to = std::ldexp(value(), steps);
    setValue(static_cast<int>(std::clamp<double>(to, minimum(), maximum())));
  }
};

struct Number {
  QString before;  // a sign of money
  double value = 0.0;
  QString unit;

  [[nodiscard]] QString with(double other) const { return before + three_digits(other) + unit; }
};

// Nothing for words such as auto.
std::optional<Number> number_in(const QString& text) {
  static const QRegularExpression kParts("^(\\D?)([0-9.]+)(.*)$");
  const QRegularExpressionMatch match = kParts.match(text);
  return match.hasMatch() ? std::optional(Number{match.captured(1), match.captured(2).toDouble(),
                                                 match.captured(3)})
                          : std::nullopt;
}

// Whole numbers from a sixteenth to sixteen times `from`, spares from none to twice as many, and
// what has a unit from a quarter to four times; `others` in their places among them.
QStringList stops_around(Turns turns, const Number& from, const QStringList& others) {
  constexpr int kEachWay = 4;
  std::vector<std::pair<double, QString>> stops;
  const auto add = [&stops](double value, const QString& text) {
    if (std::ranges::none_of(stops, [&](const auto& stop) { return stop.second == text; })) {
      stops.emplace_back(value, text);
    }
  };
  for (const QString& other : others) {
    if (const auto number = number_in(other); number && number->unit == from.unit) {
      add(number->value, other);
    }
  }
  for (int k = -kEachWay; k <= kEachWay; ++k) {
    const double scaled = turns == Turns::by_doubling ? std::ldexp(from.value, k)
                          : turns == Turns::by_text
                              ? from.value * std::exp2(k / 2.0)
                              : from.value + k * std::max(std::floor(from.value / kEachWay), 1.0);
    if (turns == Turns::by_text) {
      add(scaled, from.with(scaled));
    } else if (scaled == std::floor(scaled) && scaled >= (turns == Turns::by_one ? 0.0 : 1.0)) {
      add(scaled, QString::number(scaled, 'f', 0));
    }
  }
  std::ranges::sort(stops);
  QStringList texts;
  for (const auto& [value, text] : stops) {
    texts << text;
  }
  return texts;
}

}  // namespace

QString three_digits(double value) {
  const double size = value > 0.0 ? std::floor(std::log10(value)) : 0.0;
  return QString::number(value, 'f', std::max(2 - static_cast<int>(size), 0));
}

// Hangs above a field, where it hides no answer; of a knob in a list of its own, stands below it.
class KnobSlider : public QSlider {
 public:
  explicit KnobSlider(QWidget* field) : QSlider(Qt::Horizontal, field), field_(field) {
    setWindowFlags(Qt::ToolTip);  // never takes the focus of the field
    setTickPosition(QSlider::TicksBelow);
    setTickInterval(1);
    setPageStep(1);
    setTracking(false);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    setAccessibleName(field->accessibleName() + " slider");
    connect(this, &QSlider::sliderMoved, this, [this](int stop) { tell(stop); });
  }

  void set(const QStringList& stops, const QString& now, const QString& baseline) {
    const QSignalBlocker silent(this);
    stops_ = stops;
    baseline_ = static_cast<int>(stops.indexOf(baseline));
    setRange(0, std::max(static_cast<int>(stops.size()) - 1, 0));
    setValue(static_cast<int>(stops.indexOf(now)));
    setVisible((field_->hasFocus() || !isWindow()) && stops.size() > 1);
    if (isVisible() && isWindow()) {
      resize(kWidth, sizeHint().height());
      move(field_->mapToGlobal(QPoint(0, -height() - kAir)));
    }
    update();
  }

  [[nodiscard]] QString stop(int index) const { return stops_.value(index); }

 protected:
  void paintEvent(QPaintEvent* event) override {
    QSlider::paintEvent(event);
    QPainter painter(this);
    painter.setPen(palette().color(QPalette::Mid));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
    if (baseline_ >= 0) {
      constexpr int kHalf = 4;
      const int handle = style()->pixelMetric(QStyle::PM_SliderLength, nullptr, this);
      const int x = handle / 2 + QStyle::sliderPositionFromValue(minimum(), maximum(), baseline_,
                                                                 width() - handle);
      painter.setPen(Qt::NoPen);
      painter.setBrush(tone_color(Tone::warning, palette()));
      painter.drawPolygon(QPolygon({{x - kHalf, 1}, {x + kHalf, 1}, {x, 1 + 2 * kHalf}}));
    }
  }

 private:
  static constexpr int kWidth = 190;
  static constexpr int kAir = 18;  // the label of the knob

  // What it would be, before it is.
  void tell(int stop) {
    auto* alone = qobject_cast<QLineEdit*>(field_);
    (alone != nullptr ? alone : field_->findChild<QLineEdit*>())->setText(stops_.value(stop));
  }

  QWidget* field_;
  QStringList stops_;
  int baseline_ = -1;
};

Knob::Knob(const KnobInfo& info, QWidget* strip) : QWidget(strip), info_(info), strip_(strip) {
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
  if (!takes_names()) {
    slider_ = new KnobSlider(field_);
    connect(slider_, &QSlider::valueChanged, this, [this](int stop) { turn(slider_->stop(stop)); });
  }
  label->setBuddy(field_);
  column({label, field_, below_}, this, QMargins{4, 2, 4, 2}, 1);
  setAutoFillBackground(true);
  field_->installEventFilter(this);
}

void Knob::show_value(const std::optional<std::string>& value,
                      const std::optional<std::string>& at_a, bool followed) {
  has_value_ = value.has_value();
  moved_ = value && at_a && *at_a != *value;
  if (!value) {
    return;
  }
  value_ = qt(*value);
  baseline_ = qt(at_a.value_or(*value));
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
  const qlonglong number = moved_ ? baseline_.toLongLong(&whole) : 0;
  const QString before = whole ? qt(format_integer(number)) : baseline_;
  below_->setText(moved_ ? "A: " + before : QString());
  below_->setToolTip(moved_ ? "in the baseline: " + before : QString());
  setBackgroundRole(QPalette::Window);
  QPalette colors = strip_->palette();
  if (moved_) {
    colors.setColor(QPalette::Window, ground_color(followed ? Tone::warning : Tone::plain, colors));
  }
  setPalette(colors);
  place_slider();
}

// The stops stay where they are while one is chosen after the other.
void Knob::place_slider() {
  if (slider_ != nullptr && !slider_->isSliderDown()) {
    constexpr int kShort = 116;
    const bool listed = window()->windowType() == Qt::Popup;
    if (listed && slider_->isWindow()) {
      layout()->addWidget(slider_);
    } else if (!listed && !slider_->isWindow()) {
      slider_->setParent(field_, Qt::ToolTip);
    }
    setMinimumWidth(listed ? kShort : 0);
    const auto centre = number_in(baseline_) ? number_in(baseline_) : number_in(value_);
    slider_->set(centre ? stops_around(info_.turns, *centre, {value_, baseline_}) : QStringList(),
                 value_, baseline_);
  }
}

void Knob::set_names(const QStringList& names) {
  auto* box = qobject_cast<QComboBox*>(field_);
  if (box != nullptr && names != names_) {
    const QSignalBlocker silent(box);
    names_ = names;
    fill_names(*box, names);
  }
}

QWidget* Knob::make_field() {
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
      box->setFocusPolicy(Qt::StrongFocus);
      connect(box, &QComboBox::textActivated, this, &Knob::turn);
      // A part of a name, which the box itself knows nothing of.
      connect(box->lineEdit(), &QLineEdit::returnPressed, this, [this, box] {
        if (box->findText(box->currentText()) < 0) {
          QString first = box->completer()->currentCompletion();
          if (first.isEmpty() && box->completer()->setCurrentRow(1)) {  // below a heading
            first = box->completer()->currentCompletion();
          }
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

void Knob::turn(const QString& to) {
  if (to.trimmed() != value_ && !to.trimmed().isEmpty()) {
    emit turned(to.trimmed());
  }
}

// The wheel scrolls what is under the cursor; it turns a knob only where somebody works on it.
// Undo and redo are those of the text, as everywhere.
bool Knob::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) {
    QMetaObject::invokeMethod(this, &Knob::place_slider, Qt::QueuedConnection);
  } else if (event->type() == QEvent::ShortcutOverride) {
    const auto* key = static_cast<QKeyEvent*>(event);
    event->ignore();
    return key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo);
  }
  return event->type() == QEvent::Wheel && !static_cast<QWidget*>(watched)->hasFocus();
}

}  // namespace orrery::gui
