#pragma once

// How do the open scenarios differ? A tick for each, keys that differ above, figures below.

#include <QWidget>
#include <vector>

#include "gui/models/comparison.hpp"

class QLabel;
class QListWidget;

namespace orrery::gui {

class AnswerTable;

class CompareView : public QWidget {
  Q_OBJECT

 public:
  explicit CompareView(QWidget* parent = nullptr);

  // The first that is ticked is what the others are compared with.
  void set_candidates(std::vector<Candidate> candidates);

  [[nodiscard]] const AnswerTable& differences() const {
    return *differences_;
  }

  [[nodiscard]] const AnswerTable& keys() const {
    return *keys_;
  }

 private:
  void compare();

  std::vector<Candidate> candidates_;
  QStringList left_out_;  // titles that the user has unticked
  QListWidget* list_;
  QLabel* hint_;
  AnswerTable* keys_;
  AnswerTable* differences_;
};

}  // namespace orrery::gui
