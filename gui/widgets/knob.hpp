#pragma once

// One knob: a key with its label, a field that takes its values, and what it was in the baseline.
//
// A number has a slider as well, above the field while somebody works on it, or in the list: stops
// are what the field steps to, a triangle is the baseline, and it turns the knob when let go.

#include <QStringList>
#include <QWidget>
#include <optional>
#include <string>

class QLabel;

namespace orrery::gui {

class KnobSlider;

enum class Turns { by_doubling, by_one, among_names, by_text };

struct KnobInfo {
  const char* key;
  const char* label;
  Turns turns;
  int width;
  int rank;  // the greatest go first where there is no room
};

// "3.09", "1234": no exponents.
[[nodiscard]] QString three_digits(double value);

class Knob : public QWidget {
  Q_OBJECT

 public:
  Knob(const KnobInfo& info, QWidget* strip);

  [[nodiscard]] const char* key() const { return info_.key; }

  [[nodiscard]] const QString& value() const { return value_; }

  // `value` nothing: the scenario has no such key, and the knob goes.
  void show_value(const std::optional<std::string>& value, const std::optional<std::string>& at_a,
                  bool followed);
  void set_names(const QStringList& names);
  void place_slider();  // after a move into or out of the list of those without room

  [[nodiscard]] bool has_value() const { return has_value_; }

  // What differs from A is always in sight.
  [[nodiscard]] int rank() const { return moved_ ? -1 : info_.rank; }

  [[nodiscard]] bool takes_names() const { return info_.turns == Turns::among_names; }

 signals:
  void turned(const QString& value);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* make_field();
  void turn(const QString& to);
  KnobInfo info_;
  QWidget* strip_;
  QWidget* field_ = nullptr;
  QLabel* below_ = nullptr;
  KnobSlider* slider_ = nullptr;
  QString value_;
  QString baseline_;
  bool has_value_ = true;
  bool moved_ = false;  // from what it is in A
  QStringList names_;
};

}  // namespace orrery::gui
