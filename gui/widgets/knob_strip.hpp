#pragma once

// The keys that a training lead turns first, above the answer: GPU, nodes, degrees, micro-batch,
// recomputation, precision, spares, interval, MTBF and price of the document in front.
//
// A change goes into the text as one step of undo, with what follows from it: layout.data, and
// where the layout would break a rule or not fit, the fastest admissible change of one or two other
// keys (plan/search/followers.hpp), with the runner-up as a link, until the text changes again. A
// knob whose value differs from that of the baseline is marked and says what it was there. Knobs
// that do not fit are behind a button, the less wanted ones first.

#include <QWidget>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "sim/answer/plan/search/followers.hpp"

class QFrame;
class QBoxLayout;
class QLabel;
class QPushButton;
class QToolButton;

namespace orrery::gui {

class Knob;
class ScenarioDocument;

class KnobStrip : public QWidget {
  Q_OBJECT

 public:
  explicit KnobStrip(QWidget* parent = nullptr);

  // What the knobs show and change; null: nothing.
  void set_document(ScenarioDocument* document, const OutcomePtr& answered,
                    const OutcomePtr& baseline);

  // As by hand; a sentence where the document refuses it.
  QString turn(const QString& key, const QString& value);

  [[nodiscard]] QString value_of(const QString& key) const;

  [[nodiscard]] QSize minimumSizeHint() const override { return {200, sizeHint().height()}; }

 protected:
  void resizeEvent(QResizeEvent* event) override;

 signals:
  void pin_wanted();

 private:
  void back_to_baseline();
  void take_runner_up();
  void forget_turn();
  [[nodiscard]] QString words(std::span<const scenario::KeyValue> changes) const;
  void say(const QString& text, bool wrong);
  void place_knobs();

  ScenarioDocument* document_ = nullptr;
  OutcomePtr baseline_;
  OutcomePtr answered_;
  std::vector<Knob*> knobs_;
  QPushButton* pin_;
  QPushButton* back_;
  QLabel* line_;
  QBoxLayout* row_;
  QToolButton* more_;
  QFrame* rest_;  // knobs that do not fit
  QBoxLayout* rest_row_;
  bool names_wanted_ = false;  // of the lists, for another document
  QMetaObject::Connection edits_;
  std::vector<scenario::KeyValue> turned_;     // the key and what followed
  std::vector<scenario::KeyValue> runner_up_;  // the same key with the next best
};

}  // namespace orrery::gui
